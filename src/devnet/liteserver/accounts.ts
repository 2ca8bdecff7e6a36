import { type Cell, toBoc } from '../../chain/builder.ts';
import { merkleProof } from '../../chain/proof.ts';
import { shardContains } from '../../chain/shard-ident.ts';
import { blockIdExtToTl, type LiteAnswer, type LiteRequest, type TlBlockIdExt } from '../../node/lite-api.ts';
import type { LiteHandlers } from '../../node/lite-server.ts';
import type { BlockPlace } from '../model.ts';
import type { Blocks } from './blocks.ts';
import { showAccount } from './proofs.ts';
import { badRequest } from './refusals.ts';
import { shardOfAccount } from './shards.ts';

type AccountId = LiteRequest<'getAccountState'>['account'];

/** An account as of a block, with the proofs that lead from the block to it. */
export interface FoundAccount {
  id: TlBlockIdExt;
  shard: BlockPlace;
  shardblk: TlBlockIdExt;
  /** Empty when the block asked for is the one with the account. */
  shardProof: Buffer;
  /** Made when asked for. */
  proof(): Buffer;
  /** `Account`; null when it does not exist. */
  account: Cell | null;
}

/**
 * Finds an account as of a masterchain block, or of a block of the account's own shard.
 * @throws {LiteServerError} 651 for unknown blocks and states no longer kept, -400 for a block that cannot hold it
 */
export function findAccount(blocks: Blocks, id: TlBlockIdExt, { workchain, id: hash }: AccountId): FoundAccount {
  const reference = id.workchain === -1 ? blocks.master(id) : blocks.find(id);
  if (id.workchain !== -1 && (workchain !== id.workchain || !shardContains(reference.shard, hash))) {
    throw badRequest('requested account id is not contained in the shard of the reference block');
  }
  const own = workchain === reference.workchain;
  const { place, proof: shardProof } = own
    ? { place: reference, proof: Buffer.alloc(0) }
    : shardOfAccount(blocks, reference, workchain, hash);
  const leaf = showAccount(blocks.state(place), hash, () => undefined);
  return {
    id: blockIdExtToTl(reference),
    shard: place,
    shardblk: blockIdExtToTl(place),
    shardProof,
    proof: () => blocks.stateProof(place, (visit) => void showAccount(blocks.state(place), hash, visit)),
    account: leaf?.account ?? null,
  };
}

function answer(found: FoundAccount, state: (account: Cell) => Cell): LiteAnswer<'getAccountState'> {
  const { id, shardblk, shardProof, account } = found;
  const boc = account === null ? Buffer.alloc(0) : toBoc(state(account));
  return { id, shardblk, shardProof, proof: found.proof(), state: boc };
}

export function accountHandlers(blocks: Blocks): LiteHandlers {
  return {
    getAccountState: ({ id, account }) => answer(findAccount(blocks, id, account), (cell) => cell),
    /** The account's own cell in a Merkle proof; code, data and what else it refers to pruned. */
    getAccountStatePrunned: ({ id, account }) =>
      answer(findAccount(blocks, id, account), (cell) => merkleProof(cell, () => false)),
  };
}
