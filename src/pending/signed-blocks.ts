/**
 * Shard blocks that are signed and that no masterchain block has registered yet, as far as a liteserver shows them
 * (`nonfinal` of the lite protocol). They are looked for again and again; most networks' liteservers refuse to tell.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { encodeStates } from '../../clickhouse/states.ts';
import { accountStatesAfter, blockTransactions } from '../chain/accounts.ts';
import { decodeBlock } from '../chain/block.ts';
import { type Boc, CELL_MEMORY, cellCount, cellType, openBoc, PRUNED } from '../chain/boc.ts';
import { readerOf } from '../chain/contracts/known-codes.ts';
import type { JettonWalletState } from '../chain/contracts/reader.ts';
import { compareDecimal } from '../chain/decimal.ts';
import { DecodeError } from '../chain/errors.ts';
import { cellHash, hashKey } from '../chain/hash.ts';
import { CellView } from '../chain/layouts/cell-view.ts';
import type { AccountState, BlockIdExt } from '../chain/model.ts';
import { serialize } from '../chain/serialize.ts';
import { NodeError } from '../node/chain-node.ts';
import { blockIdExtFromTl, blockIdExtToTl, LiteServerError } from '../node/lite-api.ts';
import { checkBlock } from '../node/lite-proofs.ts';
import { type Liteservers, NoNetworkError } from '../node/liteservers.ts';
import type { SignedState } from './signed-states.ts';

/** The ordinary transactions of a signed block, by lt, and what it leaves. */
export interface SignedTransactions {
  id: BlockIdExt;
  transactions: SignedTransaction[];
  /** Memory that they take, about. */
  memory: number;
  state: SignedState;
}

export interface SignedTransaction {
  boc: Buffer;
  states: Buffer;
  /** What the account says of itself behind it, where it has the code of a well-known jetton wallet. */
  claims: JettonWalletState | null;
}

export interface SignedBlocksOptions {
  liteservers: Liteservers;
  timeoutMs: number;
  take(block: SignedTransactions, signal: AbortSignal): Promise<void>;
  /** Whether a liteserver shows them: told when that is known first, and when it changes. */
  onShown(shown: boolean): void;
  /** Whether anybody waits for one at present. */
  isWanted(): boolean;
  report(error: unknown): void;
}

const LOOK_MS = 60;
/** Where nobody shows any. */
const REFUSED_MS = 30_000;
const TROUBLE_MS = 1_000;
const SEEN = 256;
/** Blocks before an unseen one that are looked at, too. */
const MOST_BEFORE = 8;
/** Times that one of these is asked for: it may be registered, and gone, by then. */
const TRIES = 3;
/** Shards have one each: a server that names more is not followed. */
const MOST_SHOWN = 64;
/**
 * Nobody has proven these blocks: a server may have made one up. Nodes make none that are larger (`max_block_size` of
 * ValidatorSessionOptions); cells are some 30 bytes and more.
 */
const BLOCK_LIMITS = { maxRoots: 1, maxBytes: 4 << 20, maxCells: 1 << 19 };
/**
 * Most memory for the transactions of a block as bags of their own, with the states behind them. Cells are shared within
 * a block but not between bags: a small one can ask for any number of copies of a tree.
 */
const MOST_MIB = 64;
/** What is decoded of a transaction. */
const TRANSACTION_MEMORY = 2048;

/** Until the signal aborts. */
export async function watchSignedBlocks(options: SignedBlocksOptions, signal: AbortSignal): Promise<void> {
  const { liteservers, timeoutMs, take, onShown, isWanted, report } = options;
  const seen = new LRUCache<string, true>({ max: SEEN });
  /** How often each could not be had. */
  const missed = new LRUCache<string, number>({ max: SEEN });
  let shown: boolean | null = null;
  const say = (now: boolean): void => {
    if (shown !== now) onShown(now);
    shown = now;
  };

  async function fetchBlock(id: BlockIdExt) {
    try {
      const answer = await liteservers.query({ method: 'getBlock', id: blockIdExtToTl(id) }, { signal, timeoutMs });
      return readNamed(id, checkBlock(answer, id));
    } catch (error) {
      const key = hashKey(id.rootHash);
      missed.set(key, (missed.get(key) ?? 0) + 1);
      throw error;
    }
  }

  /** A block with those before it that were not seen either, oldest first. */
  async function lookAt(newest: BlockIdExt): Promise<void> {
    const unseen: SignedTransactions[] = [];
    let id: BlockIdExt | undefined = newest;
    while (id !== undefined && !seen.has(hashKey(id.rootHash)) && unseen.length <= MOST_BEFORE) {
      if (id !== newest && (missed.get(hashKey(id.rootHash)) ?? 0) >= TRIES) break;
      const { block, prev } = await fetchBlock(id);
      unseen.unshift(block);
      // What is before the first one that is looked at is registered already.
      if (shown === null) break;
      id = prev.length === 1 ? prev[0] : undefined;
    }
    for (const block of unseen) {
      await take(block, signal);
      seen.set(hashKey(block.id.rootHash), true);
    }
  }

  /** Each of them by itself: one that cannot be had leaves the other shards as they are. */
  async function lookAtAll(blocks: readonly BlockIdExt[]): Promise<unknown> {
    let failure: unknown = null;
    for (const block of blocks) {
      try {
        await lookAt(block);
      } catch (error) {
        signal.throwIfAborted();
        failure ??= error;
      }
    }
    return failure;
  }

  while (!signal.aborted) {
    let pauseMs = LOOK_MS;
    try {
      const request = { method: 'nonfinal.getPendingShardBlocks', mode: 0 } as const;
      if (shown === null || isWanted()) {
        const { signedBlocks } = await liteservers.query(request, { signal, timeoutMs });
        const failure = await lookAtAll(signedBlocks.slice(0, MOST_SHOWN).map(blockIdExtFromTl));
        say(true);
        if (failure !== null) throw failure;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isRefusal(error)) {
        say(false);
        pauseMs = REFUSED_MS;
      } else {
        // The newest one may be replaced between the two questions.
        pauseMs = error instanceof NodeError && error.code === 'not_found' ? LOOK_MS : TROUBLE_MS;
        if (pauseMs === TROUBLE_MS) report(error);
      }
    }
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * What a block has, and which ones are before it.
 * @throws {DecodeError} also where the id names another block
 */
function readNamed(id: BlockIdExt, bytes: Buffer): { block: SignedTransactions; prev: BlockIdExt[] } {
  const boc = openBoc(bytes, BLOCK_LIMITS);
  const block = decodeBlock(boc);
  const { workchain, shard, seqno, prev } = block.header;
  const isNamed = workchain === id.workchain && shard === id.shard && seqno === id.seqno;
  if (!isNamed || !cellHash(boc, boc.roots[0]).equals(id.rootHash)) {
    throw new DecodeError(`a signed block of ${workchain}:${shard}:${seqno} under the id of another`);
  }
  return { block: signedIn(id, boc, block), prev };
}

/** The servers do not tell, and will not. */
function isRefusal(error: unknown): boolean {
  if (error instanceof NoNetworkError) return true;
  return (
    error instanceof NodeError &&
    error.cause instanceof LiteServerError &&
    /not allowed|unknown/i.test(error.cause.message)
  );
}

/** @throws {DecodeError} */
export function readSigned(id: BlockIdExt, bytes: Buffer): SignedTransactions {
  const boc = openBoc(bytes, BLOCK_LIMITS);
  return signedIn(id, boc, decodeBlock(boc));
}

function signedIn(id: BlockIdExt, boc: Boc, block: ReturnType<typeof decodeBlock>): SignedTransactions {
  const accounts = accountStatesAfter(block);
  const after = new Map(accounts.map((state) => [hashKey(state.lastTransactionHash), state]));
  let memory = 0;
  const transactions = [...blockTransactions(block)]
    .filter(({ description }) => description.type === 'ord')
    .sort((a, b) => compareDecimal(a.lt, b.lt))
    .map(({ cell, hash }): SignedTransaction => {
      const state = after.get(hashKey(hash)) ?? null;
      const bag = serialize(boc, cell);
      const states = encodeStates(null, state);
      memory += bag.length + states.length + CELL_MEMORY * cellCount(bag) + TRANSACTION_MEMORY;
      if (memory > MOST_MIB << 20) {
        throw new DecodeError(`the transactions of a signed block take more than ${MOST_MIB} MiB of memory`);
      }
      return { boc: bag, states, claims: state && claimsOf(boc, state) };
    });
  const { endLt, genUtime } = block.header;
  const root = boc.refs[boc.refStart[block.stateUpdate] + 1];
  // What was decoded of its transactions stays with the bag.
  const kept = boc.bytes.length + CELL_MEMORY * boc.count + TRANSACTION_MEMORY * transactions.length;
  return { id, transactions, memory, state: { bag: boc, root, endLt, genUtime, accounts, memory: kept } };
}

/** A block shows data that it has changed, but for the cells of it that stayed; of a wallet they are not read. */
function claimsOf(boc: Boc, { codeHash, dataCell }: AccountState): JettonWalletState | null {
  if (codeHash === null || dataCell === null || cellType(boc, dataCell) === PRUNED) return null;
  const state = readerOf(codeHash)?.(CellView.of(boc, dataCell)) ?? null;
  return state?.kind === 'jetton_wallet' ? state : null;
}
