import type { Shard } from '../chain/model.ts';
import { shardContains } from '../chain/shard-ident.ts';
import { compareEntries, goesTo, type OutQueue, type QueueEntry } from './queue.ts';
import type { ProcessedUpto } from './state.ts';

/** The newest block of another shard that a block may see. */
export interface Neighbour {
  workchain: number;
  shard: Shard;
  endLt: bigint;
  queue: OutQueue;
  processed: readonly ProcessedUpto[];
}

/**
 * End lt of the newest block of a shard as of a masterchain block. The shard is the one that holds the prefix:
 * workchain and first 64 bits of an account.
 */
export type EndLtAt = (mcSeqno: number, prefix: Buffer) => bigint;

const INFINITE_LT = 0xffffffffffffffffn;
const LAST_HASH = '\xff'.repeat(32);

/**
 * Whether a message has been imported: it stood in its queue as of an entry's masterchain block and does not come
 * behind the entry's place in the order (MsgProcessedUptoCollection::already_processed, crypto/block/block.cpp).
 */
function isProcessed(processed: readonly ProcessedUpto[], entry: QueueEntry, endLtAt: EndLtAt): boolean {
  const { destination } = entry.envelope.message;
  return processed.some(
    (upto) =>
      shardContains(upto.shard, destination.hash) &&
      compareEntries(entry, { enqueuedLt: upto.lt, hash: upto.hash }) <= 0 &&
      entry.enqueuedLt < endLtAt(upto.mcSeqno, entry.current),
  );
}

/** A message to import and the queue it stands in. */
export interface Inbound {
  entry: QueueEntry;
  own: boolean;
}

/** Messages of all queues for a shard that it has not imported yet, by lt, then hash. */
export function inboundMessages(
  target: { workchain: number; shard: Shard; processed: readonly ProcessedUpto[] },
  ownEntries: readonly QueueEntry[],
  neighbours: readonly Neighbour[],
  endLtAt: EndLtAt,
): Inbound[] {
  const found: Inbound[] = [];
  const take = (entries: readonly QueueEntry[], own: boolean): void => {
    for (const entry of entries) {
      if (!goesTo(entry, target.workchain, target.shard)) continue;
      if (!isProcessed(target.processed, entry, endLtAt)) found.push({ entry, own });
    }
  };
  take(ownEntries, true);
  for (const neighbour of neighbours) take(neighbour.queue.entries, false);
  return found.sort((a, b) => compareEntries(a.entry, b.entry));
}

/** Entries of a queue that their shard has imported, with the end lt of the block that tells so. */
export function deliveredMessages(
  entries: readonly QueueEntry[],
  readers: readonly Omit<Neighbour, 'queue'>[],
  endLtAt: EndLtAt,
): { entry: QueueEntry; importLt: bigint }[] {
  const delivered: { entry: QueueEntry; importLt: bigint }[] = [];
  for (const entry of entries) {
    const reader = readers.find(({ workchain, shard }) => goesTo(entry, workchain, shard));
    if (reader === undefined || !isProcessed(reader.processed, entry, endLtAt)) continue;
    delivered.push({ entry, importLt: reader.endLt });
  }
  return delivered;
}

/**
 * What a shard has imported after a block: all there was as of the masterchain block, or up to the last message.
 * Entries that the new one covers go.
 */
export function advanceProcessed(
  processed: readonly ProcessedUpto[],
  shard: Shard,
  mcSeqno: number,
  last: QueueEntry | 'all' | null,
): ProcessedUpto[] {
  if (last === null) return [...processed];
  const place = last === 'all' ? { lt: INFINITE_LT, hash: LAST_HASH } : { lt: last.enqueuedLt, hash: last.hash };
  const next = { shard, mcSeqno, ...place };
  const covered = (old: ProcessedUpto): boolean =>
    old.mcSeqno <= mcSeqno &&
    compareEntries({ enqueuedLt: old.lt, hash: old.hash }, { enqueuedLt: next.lt, hash: next.hash }) <= 0 &&
    withinShard(old.shard, shard);
  return [...processed.filter((old) => !covered(old)), next];
}

/** Whether every account of the inner shard is in the outer one. */
export function withinShard(inner: Shard, outer: Shard): boolean {
  const innerMark = BigInt(`0x${inner}`) & -BigInt(`0x${inner}`);
  const outerMark = BigInt(`0x${outer}`) & -BigInt(`0x${outer}`);
  return innerMark <= outerMark && shardContains(outer, Buffer.from(inner, 'hex'));
}
