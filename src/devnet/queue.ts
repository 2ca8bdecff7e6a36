import { Builder, type Cell, type Slice, type Visit } from '../chain/builder.ts';
import { eachLeaf, readAugE, updateDictionary } from '../chain/dictionary.ts';
import type { Shard } from '../chain/model.ts';
import { shardContains } from '../chain/shard-ident.ts';
import { KEY_BITS, leastLt } from './augmentations.ts';
import { type AccountAddress, type Envelope, readEnvelope } from './messages.ts';

/** A message in an out-message queue. */
export interface QueueEntry {
  /** Next hop (workchain, prefix), then the message's hash: 352 bits. */
  key: Buffer;
  envelope: Envelope;
  /** Where the message stands, 96 bits: its source, or its destination when that was in the shard already. */
  current: Buffer;
  /** Lt at which it came into the queue: its creation lt. */
  enqueuedLt: bigint;
  /** Message hash as latin1 characters: decides among equal lts. */
  hash: string;
}

/** An `OutMsgQueue`: the dictionary, and the same entries by lt, then hash. */
export interface OutQueue {
  root: Cell | null;
  entries: readonly QueueEntry[];
}

export function writeQueue(builder: Builder, queue: OutQueue): void {
  builder.maybeRef(queue.root);
  builder.big(queue.entries.length === 0 ? 0n : queue.entries[0].enqueuedLt, 64);
}

/** Throws DecodeError. */
export function readQueue(slice: Slice): OutQueue {
  const { root } = readAugE(slice, leastLt);
  const entries: QueueEntry[] = [];
  eachLeaf(root, KEY_BITS.queue, (value, key) => {
    leastLt.read(value);
    const enqueuedLt = value.big(64);
    const envelope = readEnvelope(value.ref());
    entries.push({ key, envelope, current: currentPrefix(envelope), enqueuedLt, hash: key.toString('latin1', 12) });
  });
  return { root, entries: entries.sort(compareEntries) };
}

/** Delivery order: by lt, then by hash. */
export function compareEntries(
  a: { enqueuedLt: bigint; hash: string },
  b: { enqueuedLt: bigint; hash: string },
): number {
  if (a.enqueuedLt !== b.enqueuedLt) return a.enqueuedLt < b.enqueuedLt ? -1 : 1;
  return a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : 0;
}

/** Takes entries out of a queue and puts new ones in. */
export function updateQueue(
  queue: OutQueue,
  removed: ReadonlySet<QueueEntry>,
  added: readonly QueueEntry[],
  visit: Visit,
): OutQueue {
  if (removed.size === 0 && added.length === 0) return queue;
  const gone = [...removed].map(({ key }) => ({ key, leaf: null }));
  const come = added.map(({ key, envelope, enqueuedLt }) => ({
    key,
    leaf: { extra: enqueuedLt, value: new Builder().big(enqueuedLt, 64).ref(envelope.cell).cell() },
  }));
  const { root } = updateDictionary(queue.root, KEY_BITS.queue, leastLt, [...gone, ...come], visit);
  const entries = queue.entries.filter((entry) => !removed.has(entry));
  return { root, entries: [...entries, ...added].sort(compareEntries) };
}

/** The messages of a queue that stand in one half of its shard. */
export function queueHalf(queue: OutQueue, shard: Shard, visit: Visit): OutQueue {
  const gone = new Set(queue.entries.filter(({ current }) => !shardContains(shard, current.subarray(4))));
  return updateQueue(queue, gone, [], visit);
}

export function mergeQueues(left: OutQueue, right: OutQueue, visit: Visit): OutQueue {
  return updateQueue(left, new Set(), right.entries, visit);
}

/** Workchain and first 64 bits: where a message stands and goes, 96 bits. */
function hopPrefix({ workchain, hash }: AccountAddress): Buffer {
  const prefix = Buffer.alloc(12);
  prefix.writeInt32BE(workchain);
  hash.copy(prefix, 4, 0, 8);
  return prefix;
}

/** The first `bits` bits of the destination, the rest of the source. */
function interpolate(source: Buffer, destination: Buffer, bits: number): Buffer {
  const result = Buffer.from(source);
  destination.copy(result, 0, 0, bits >> 3);
  const left = bits & 7;
  if (left > 0) {
    const mask = 0xff << (8 - left);
    result[bits >> 3] = (destination[bits >> 3] & mask) | (source[bits >> 3] & ~mask);
  }
  return result;
}

export interface Route {
  /** Bits of the destination's prefix already reached, and reached by the next hop. */
  current: number;
  next: number;
  nextHop: Buffer;
}

/**
 * Hypercube routing: masterchain and the own shard are reached at once, another shard of the workchain by nibbles
 * of the address (perform_hypercube_routing, crypto/block/block.cpp).
 */
export function routeMessage(source: AccountAddress, destination: AccountAddress, shard: Shard): Route {
  const from = hopPrefix(source);
  const to = hopPrefix(destination);
  const sameWorkchain = source.workchain === destination.workchain;
  if (sameWorkchain && shardContains(shard, destination.hash)) return { current: 96, next: 96, nextHop: to };
  if (source.workchain === -1 || destination.workchain === -1) return { current: 0, next: 96, nextHop: to };
  if (!sameWorkchain) return { current: 0, next: 32, nextHop: interpolate(from, to, 32) };
  let bits = 32;
  while (bits < 96 && sameNibble(from, to, bits)) bits += 4;
  let hop: Buffer;
  do {
    bits += 4;
    hop = interpolate(from, to, bits);
  } while (shardContains(shard, hop.subarray(4)));
  return { current: bits - 4, next: bits, nextHop: hop };
}

function sameNibble(a: Buffer, b: Buffer, bits: number): boolean {
  const shift = bits & 4 ? 0 : 4;
  return ((a[bits >> 3] ^ b[bits >> 3]) >> shift) % 16 === 0;
}

function currentPrefix({ message, current }: Envelope): Buffer {
  return interpolate(hopPrefix(message.source), hopPrefix(message.destination), current);
}

/** Whether the next hop of a queue entry is in a shard. */
export function goesTo(entry: QueueEntry, workchain: number, shard: Shard): boolean {
  return entry.key.readInt32BE(0) === workchain && shardContains(shard, entry.key.subarray(4, 12));
}

/** A message enters a queue. */
export function queueEntry(envelope: Envelope, nextHop: Buffer): QueueEntry {
  const hash = envelope.message.cell.key();
  const key = Buffer.concat([nextHop, Buffer.from(hash, 'latin1')]);
  return { key, envelope, current: currentPrefix(envelope), enqueuedLt: envelope.message.createdLt, hash };
}
