import { readAccount } from '../../src/chain/accounts.ts';
import { workchainOf } from '../../src/chain/address.ts';
import { type Boc, cellType, LIBRARY, openBoc } from '../../src/chain/boc.ts';
import { canonicalBoc } from '../../src/chain/canonical.ts';
import { DecodeError } from '../../src/chain/errors.ts';
import { cellHash } from '../../src/chain/hash.ts';
import { completeCells } from '../../src/chain/merge.ts';
import type { Address, BlockIdExt, Decimal, Hash } from '../../src/chain/model.ts';
import { type ChainNode, NodeError } from '../../src/node/chain-node.ts';
import type { CellRecord } from '../cell-record.ts';
import { IngestError } from './check.ts';

/** An account's state right after a block. */
export interface AskedState {
  account: Address;
  /** Representation hash of the account cell. */
  stateHash: Hash;
  /** Lt and hash of the account's last transaction in the block. */
  lt: Decimal;
  transaction: Hash;
  block: BlockIdExt;
  mcSeqno: number;
  globalId: number;
  /** Dictionary of its extra currencies, hex, that the block does not show: the account is wanted as a whole. */
  extra: string | null;
}

/** A tree of cells of an answer, with the hash that it was checked to have. */
export interface Answer extends Omit<CellRecord, 'after' | 'receivedAtMs'> {
  /** Hash of the library in hex when the cell is a library cell. */
  library: string | null;
  /** Hash of the code of an account as a whole, hex. */
  code: string | null;
}

export const LIBRARIES_PER_CALL = 16;

/**
 * Code and data of an account, and the account as a whole where that is wanted. The answer is believed when it has the
 * state hash that the block names.
 * @throws {NodeError} @throws {IngestError} `wrong_id` or `bad_block`
 */
export async function askAccount(
  node: Pick<ChainNode, 'account'>,
  asked: AskedState,
  signal: AbortSignal,
): Promise<Answer[]> {
  const { account, block, mcSeqno, globalId, lt } = asked;
  const { boc } = await node.account(block, workchainOf(account), account.subarray(4), signal);
  if (boc === null) throw new NodeError('not_found', 'the node says that the account does not exist');
  return readCells('an account state', () => {
    const bag = openBoc(boc);
    const root = bag.roots[0];
    if (!cellHash(bag, root).equals(asked.stateHash)) {
      throw new IngestError('wrong_id', null, 'an account state does not have the hash that its block names');
    }
    const state = readAccount(bag, root);
    const common = { account, lt, transaction: null, mcSeqno, globalId, library: null, code: null };
    const answers: Answer[] = [];
    for (const kind of ['code', 'data'] as const) {
      const cell = state?.[kind] ?? null;
      const cells = cell === null ? null : completeCells(bag, cell);
      if (cell === null || cells === null) continue;
      const library = kind === 'code' ? libraryOf(bag, cell) : null;
      const hash = Buffer.from(cellHash(bag, cell));
      answers.push({ ...common, kind, hash, boc: canonicalBoc(cells), library });
    }
    const whole = asked.extra === null ? null : completeCells(bag, root);
    if (whole !== null) {
      const { transaction, stateHash: hash } = asked;
      answers.push({ ...common, kind: 'account', hash, transaction, boc: canonicalBoc(whole) });
    }
    return answers;
  });
}

/**
 * A contract as a whole, as of a step; null for an account that is none.
 * @throws {NodeError} @throws {IngestError} `bad_block`
 */
export async function askContract(
  node: Pick<ChainNode, 'account'>,
  asked: Pick<AskedState, 'account' | 'block' | 'mcSeqno' | 'globalId'>,
  signal: AbortSignal,
): Promise<Answer | null> {
  const { account, block, mcSeqno, globalId } = asked;
  const found = await node.account(block, workchainOf(account), account.subarray(4), signal);
  const { boc, lastTransactionLt: lt, lastTransactionHash: transaction } = found;
  if (boc === null) return null;
  return readCells('an account state', () => {
    const bag = openBoc(boc);
    const root = bag.roots[0];
    const code = readAccount(bag, root)?.code ?? null;
    if (code === null) return null;
    const cells = completeCells(bag, root);
    if (cells === null) throw new DecodeError('it is pruned');
    const hash = Buffer.from(cellHash(bag, root));
    const library = libraryOf(bag, code);
    return {
      kind: 'account',
      hash,
      account,
      lt,
      transaction,
      mcSeqno,
      globalId,
      boc: canonicalBoc(cells),
      library,
      code: Buffer.from(cellHash(bag, code)).toString('hex'),
    };
  });
}

/**
 * Libraries by hash, hex; those that the node knows.
 * @throws {NodeError} @throws {IngestError} `bad_block`
 */
export async function askLibraries(
  node: ChainNode,
  asked: ReadonlyMap<string, { globalId: number; mcSeqno: number }>,
  signal: AbortSignal,
): Promise<Answer[]> {
  const hashes = [...asked.keys()].map((hash) => Buffer.from(hash, 'hex'));
  const found = await node.libraries(hashes, signal);
  return readCells('a library', () => {
    const answers: Answer[] = [];
    for (const boc of found.values()) {
      const bag = openBoc(boc);
      const hash = Buffer.from(cellHash(bag, bag.roots[0]));
      const wanted = asked.get(hash.toString('hex'));
      // What has none of the hashes was not asked for.
      if (wanted === undefined) continue;
      answers.push({
        kind: 'library',
        hash,
        account: null,
        lt: null,
        transaction: null,
        ...wanted,
        boc: canonicalBoc(boc),
        library: null,
        code: null,
      });
    }
    return answers;
  });
}

/** The hash that a library cell names (exotic cell of type 2: type byte, 256 bits), hex; null for another cell. */
export function libraryOf(boc: Boc, cell: number): string | null {
  if (cellType(boc, cell) !== LIBRARY) return null;
  const at = boc.pos[cell] + 1;
  return boc.bytes.toString('hex', at, at + 32);
}

function readCells<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new IngestError('bad_block', null, `${what} cannot be read: ${error.message}`, { cause: error });
  }
}
