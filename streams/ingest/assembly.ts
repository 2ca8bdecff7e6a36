/**
 * Which blocks a masterchain block commits, and in which order they stand in the log. Pure: blocks come from a
 * function that the caller gives, be it a file's index or a node.
 */
import type { BlockId, BlockIdExt, Shard, ShardDescr } from '../../src/chain/model.ts';
import { blockKey } from '../envelope.ts';

/** A block as far as its place in the chain goes. */
export interface LinkedBlock {
  id: BlockIdExt;
  prev: BlockIdExt[];
}

/** A shard top as a masterchain block registers it. */
export type ShardTop = BlockIdExt & Pick<ShardDescr, 'regMcSeqno'>;

/** The block of an id, or null when it is not there. Asked for several blocks at a time. */
export type FindBlock<T extends LinkedBlock> = (id: BlockIdExt) => T | null | Promise<T | null>;

export interface StepStart {
  mcSeqno: number;
  /** `ShardHashes` of the masterchain block. */
  tops: ShardTop[];
  /**
   * Shard tops as of the masterchain block before it; empty for masterchain block 1, whose shards start at the zero
   * state. Null when that block is not known, as at the start of a log that does not start at 1.
   */
  committed: BlockIdExt[] | null;
  /** Take what is there when blocks are missing, instead of failing. */
  loose?: boolean;
}

/** A step cannot be put together: a block it needs is not there. */
export class MissingBlockError extends Error {
  constructor(
    readonly missing: BlockId,
    /** The block that refers to the missing one. */
    readonly referrer: BlockId,
  ) {
    super(`block ${blockKey(missing)} is missing: block ${blockKey(referrer)} refers to it`);
    this.name = 'MissingBlockError';
  }
}

/** Two blocks contradict each other: different hashes under one id. */
export class ForkError extends Error {
  constructor(
    readonly block: BlockId,
    readonly referrer: BlockId,
  ) {
    super(`block ${blockKey(block)} is not the one that block ${blockKey(referrer)} refers to: other hashes`);
    this.name = 'ForkError';
  }
}

interface Reference {
  id: BlockIdExt;
  referrer: BlockId;
  /** The masterchain block itself refers to it. */
  top: boolean;
}

const MASTERCHAIN = { workchain: -1, shard: '8000000000000000' };

/**
 * The shard blocks that masterchain block n commits and no earlier one did, in canonical order: ancestors first, else
 * by workchain, shard prefix (unsigned) and seqno. The step in the log is these, then the masterchain block itself,
 * whose seal is their count plus one.
 *
 * From each shard top the references to previous blocks are followed, across splits and merges, back to the tops of
 * masterchain block n - 1. Where those are not known, nothing in masterchain block n tells how far back its step
 * goes (the old side of its state update shows the former tops as pruned branches): then the tops registered by n
 * itself are needed, and of their ancestors those that `find` has without a hole.
 *
 * @throws {MissingBlockError} @throws {ForkError}
 */
export async function assembleStep<T extends LinkedBlock>(start: StepStart, find: FindBlock<T>): Promise<T[]> {
  const { mcSeqno, tops, committed, loose = false } = start;
  const found = new Map<string, T>();
  const wanted = tops.filter((top) => top.seqno > 0 && (committed !== null || top.regMcSeqno === mcSeqno));
  const master: BlockId = { ...MASTERCHAIN, seqno: mcSeqno };
  let wave: Reference[] = wanted.map((id) => ({ id, referrer: master, top: true }));
  while (wave.length > 0) {
    const fresh = wave.filter(({ id, referrer }) => isNew(id, referrer, committed) && !seen(found, id, referrer));
    const blocks = await Promise.all(fresh.map(({ id }) => find(id)));
    wave = [];
    for (const [at, block] of blocks.entries()) {
      const { id, referrer, top } = fresh[at];
      if (block === null) {
        if (loose || (committed === null && !top)) continue;
        throw new MissingBlockError(id, referrer);
      }
      if (!same(block.id, id)) throw new ForkError(id, referrer);
      if (seen(found, id, referrer)) continue;
      found.set(blockKey(id), block);
      for (const prev of block.prev) wave.push({ id: prev, referrer: block.id, top: false });
    }
  }
  return canonicalOrder([...found.values()]);
}

function same(a: BlockIdExt, b: BlockIdExt): boolean {
  return a.rootHash.equals(b.rootHash) && a.fileHash.equals(b.fileHash);
}

function seen<T extends LinkedBlock>(found: Map<string, T>, id: BlockIdExt, referrer: BlockId): boolean {
  const block = found.get(blockKey(id));
  if (block !== undefined && !same(block.id, id)) throw new ForkError(id, referrer);
  return block !== undefined;
}

/**
 * Whether a block lies above the committed tops. Seqnos grow along every way through splits and merges, so a block
 * is an ancestor of a top that shares accounts with it exactly when its seqno is not higher.
 */
function isNew(id: BlockIdExt, referrer: BlockId, committed: BlockIdExt[] | null): boolean {
  if (id.seqno === 0) return false;
  for (const top of committed ?? []) {
    if (top.workchain !== id.workchain || id.seqno > top.seqno || !intersects(id.shard, top.shard)) continue;
    if (id.shard === top.shard && id.seqno === top.seqno && !same(id, top)) throw new ForkError(id, referrer);
    return false;
  }
  return true;
}

/** Whether one of the shards contains the other. */
export function intersects(a: Shard, b: Shard): boolean {
  if (a === b) return true;
  const x = BigInt(`0x${a}`);
  const y = BigInt(`0x${b}`);
  const markX = x & -x;
  const markY = y & -y;
  const mark = markX > markY ? markX : markY;
  return ((x ^ y) & ~((mark << 1n) - 1n)) === 0n;
}

/** By workchain, shard prefix as an unsigned number, seqno. */
export function compareIds(a: BlockId, b: BlockId): number {
  if (a.workchain !== b.workchain) return a.workchain - b.workchain;
  if (a.shard !== b.shard) return a.shard < b.shard ? -1 : 1;
  return a.seqno - b.seqno;
}

/**
 * Shard blocks with each block behind the previous blocks that are among them; where that leaves a choice, the least
 * by {@link compareIds} comes first.
 */
export function canonicalOrder<T extends LinkedBlock>(blocks: readonly T[]): T[] {
  const sorted = [...blocks].sort((a, b) => compareIds(a.id, b.id));
  const known = new Set(sorted.map(({ id }) => blockKey(id)));
  const waitingFor = new Map<string, number>();
  const heirs = new Map<string, T[]>();
  const ready: T[] = [];
  for (const block of sorted) {
    const parents = block.prev.map(blockKey).filter((key) => known.has(key));
    waitingFor.set(blockKey(block.id), parents.length);
    for (const key of parents) heirs.set(key, [...(heirs.get(key) ?? []), block]);
    if (parents.length === 0) ready.push(block);
  }
  ready.reverse();
  const order: T[] = [];
  for (let next = ready.pop(); next !== undefined; next = ready.pop()) {
    order.push(next);
    for (const heir of heirs.get(blockKey(next.id)) ?? []) {
      const left = (waitingFor.get(blockKey(heir.id)) ?? 0) - 1;
      waitingFor.set(blockKey(heir.id), left);
      if (left === 0) insert(ready, heir);
    }
  }
  return order;
}

/** Into a list in descending order. */
function insert<T extends LinkedBlock>(ready: T[], block: T): void {
  let low = 0;
  let high = ready.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareIds(ready[middle].id, block.id) > 0) low = middle + 1;
    else high = middle;
  }
  ready.splice(low, 0, block);
}
