import { openAccounts } from '../chain/accounts.ts';
import { type Boc, openBoc } from '../chain/boc.ts';
import { skipCurrencies } from '../chain/currency.ts';
import { Cursor } from '../chain/cursor.ts';
import { DecodeError } from '../chain/errors.ts';
import { cellHash, hashAt, sha256Of } from '../chain/hash.ts';
import { lookupHashmap } from '../chain/hashmap.ts';
import { stateHash, virtualRoot } from '../chain/merkle-root.ts';
import type { BlockIdExt, Hash } from '../chain/model.ts';
import { readShardIdent, shardContains } from '../chain/shard-ident.ts';
import { blockIdExtFromTl, type LiteAnswer, sameBlock } from './lite-api.ts';
import { LieError } from './lite-faults.ts';

/**
 * Checks of what a server answers against the hashes that were asked for. They throw LieError or ProofError when
 * something well-formed is wrong and DecodeError when it is not well-formed. A block id is believed as far as it comes
 * from a block that is believed.
 */

/** A block as asked for: its bytes have the file hash of the id. Views stay views. */
export function checkBlock(answer: LiteAnswer<'getBlock'>, id: BlockIdExt): Buffer {
  if (!sameBlock(blockIdExtFromTl(answer.id), id)) throw new LieError('another block than asked for');
  if (!sha256Of(answer.data).equals(id.fileHash)) throw new LieError('block whose SHA-256 is not its file hash');
  return answer.data;
}

/** What a header proof shows of the block. */
export interface ProvenHeader {
  genUtime: number;
}

/** Checks that a header proof belongs to the block and that the block is the one its id says. */
export function checkHeader(headerProof: Buffer, id: BlockIdExt): ProvenHeader {
  const boc = openBoc(headerProof);
  const block = new Cursor(boc, virtualRoot(boc, boc.roots[0], id.rootHash, 'block header'));
  block.tag(32, 0x11ef55aa, 'Block');
  // block_info#9bc7a987: version, eight flags, flags, seq_no, vert_seq_no, shard, gen_utime
  const info = block.open();
  info.tag(32, 0x9bc7a987, 'BlockInfo');
  info.skip(32 + 8 + 8);
  const seqno = info.u(32);
  info.skip(32);
  const { workchain, shard } = readShardIdent(info);
  if (workchain !== id.workchain || shard !== id.shard || seqno !== id.seqno) {
    throw new LieError('block header of another block');
  }
  return { genUtime: info.u(32) };
}

/**
 * The account of an answer: its bag of cells, null when it does not exist. Proven from the block asked for: block,
 * shard block (through the shard tops of the masterchain state), shard state, account.
 */
export function checkAccount(
  answer: LiteAnswer<'getAccountState'>,
  id: BlockIdExt,
  workchain: number,
  account: Hash,
): Buffer | null {
  if (!sameBlock(blockIdExtFromTl(answer.id), id)) throw new LieError('account as of another block');
  const shardBlock = blockIdExtFromTl(answer.shardblk);
  if (shardBlock.workchain !== workchain || !shardContains(shardBlock.shard, account)) {
    throw new LieError('account out of a shard it is not in');
  }
  if (!sameBlock(shardBlock, id)) checkShard(answer.shardProof, id, shardBlock, account);
  const { boc, root } = openState(answer.proof, shardBlock);
  const leaf = openAccounts(boc, root)(addressOf(workchain, account));
  if (leaf === null || answer.state.length === 0) {
    if (leaf !== null || answer.state.length > 0)
      throw new LieError('account state and its proof contradict each other');
    return null;
  }
  // depth_balance$_ split_depth:(#<= 30) balance:CurrencyCollection, then account_descr$_ account:^Account
  leaf.skip(5);
  skipCurrencies(leaf);
  const state = openBoc(Buffer.from(answer.state));
  if (!cellHash(state, state.roots[0]).equals(hashAt(boc, leaf.nextRef(), 0))) {
    throw new LieError('account state that its shard state does not have');
  }
  return state.bytes;
}

function addressOf(workchain: number, account: Hash): Buffer {
  const address = Buffer.alloc(36);
  address.writeUInt32BE((workchain ^ 0x80000000) >>> 0, 0);
  account.copy(address, 4);
  return address;
}

/** State of a block out of two proofs: that the block leads to the state's hash, and what is asked of the state. */
function openState(proof: Buffer, id: BlockIdExt): { boc: Boc; root: number } {
  const boc = openBoc(proof);
  // A zero state has no block before it: its id names the state itself.
  if (id.seqno === 0)
    return { boc, root: virtualRoot(boc, boc.roots[boc.roots.length - 1], id.rootHash, 'zero state') };
  if (boc.roots.length !== 2) throw new DecodeError(`${boc.roots.length} roots in a proof of block and state`);
  const block = virtualRoot(boc, boc.roots[0], id.rootHash, 'block proof');
  return { boc, root: virtualRoot(boc, boc.roots[1], stateHash(boc, block), 'state proof') };
}

/** Checks that a masterchain state registers the shard block as the top of the account's shard. */
function checkShard(proof: Buffer, master: BlockIdExt, shardBlock: BlockIdExt, account: Hash): void {
  const { boc, root } = openState(proof, master);
  const top = shardTop(boc, root, shardBlock.workchain, account);
  const { seqno, rootHash, fileHash } = shardBlock;
  if (top.seqno !== seqno || !top.rootHash.equals(rootHash) || !top.fileHash.equals(fileHash)) {
    throw new LieError('shard block that the masterchain block does not commit');
  }
}

/** Way to the shard of an account through the shard tops (`masterchain_state_extra#cc26 shard_hashes:ShardHashes`). */
function shardTop(boc: Boc, state: number, workchain: number, account: Hash) {
  if ((boc.d1[state] & 7) !== 4) throw new DecodeError('state of the masterchain without its extra');
  const extra = new Cursor(boc, boc.refs[boc.refStart[state] + 3]);
  extra.tag(16, 0xcc26, 'McStateExtra');
  const key = Buffer.alloc(4);
  key.writeInt32BE(workchain);
  const shards = extra.maybeRef();
  const found = shards < 0 ? null : lookupHashmap(boc, shards, 32, key);
  if (found === null) throw new LieError(`workchain ${workchain} is not in the masterchain state`);
  // BinTree: bt_leaf$0, bt_fork$1
  let node = found.open();
  for (let depth = 0; node.bit(); depth++) {
    if (account[depth >> 3] & (0x80 >> (depth & 7))) node.nextRef();
    node = node.open();
  }
  // shard_descr#b, shard_descr_new#a: seq_no, reg_mc_seqno, start_lt, end_lt, root_hash, file_hash
  node.skip(4);
  const seqno = node.u(32);
  node.skip(32 + 64 + 64);
  return { seqno, rootHash: node.hash(), fileHash: node.hash() };
}

/** Libraries of an answer by hash in hex. Each must have the hash it stands under. */
export function checkLibraries(answer: LiteAnswer<'getLibraries'>, hashes: readonly Hash[]): Map<string, Buffer> {
  const asked = new Set(hashes.map((hash) => hash.toString('hex')));
  const found = new Map<string, Buffer>();
  for (const { hash, data } of answer.result) {
    const key = hash.toString('hex');
    if (!asked.has(key)) throw new LieError(`library ${key} was not asked for`);
    const boc = openBoc(Buffer.from(data));
    if (!cellHash(boc, boc.roots[0]).equals(hash)) throw new LieError(`library ${key} has another hash`);
    found.set(key, boc.bytes);
  }
  return found;
}
