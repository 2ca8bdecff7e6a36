/**
 * Keys and what stands beside them as the archive keeps them. Whoever asks for an account or a hash knows it whole, so in
 * the first column of a key so much stands for it that nobody could make two that are alike; and beside the id, where the
 * newest row stays, what tells which one that is.
 */
import { sha256 } from '../chain/hash.ts';
import { ID_BYTES } from './chunk.ts';
import type { Entry, Range } from './engine.ts';
import { behindPrefix, type Kind, type Layout } from './kind.ts';

const HEAD_BYTES = 16;
const LONG_FROM = 20;
const ADDRESS_BYTES = 36;
const NONE = Buffer.alloc(64);

/** Accounts and hashes. */
export const isNarrowed = ({ key: [{ bytes }] }: Layout): boolean => bytes >= LONG_FROM;

/** Of an account a hash: it may be any that somebody writes down, like another one in all but its last byte. */
function headOf(first: Buffer): Buffer {
  return first.length === ADDRESS_BYTES
    ? Buffer.from(sha256(first).slice(0, HEAD_BYTES), 'latin1')
    : first.subarray(0, HEAD_BYTES);
}

export function narrowKey(layout: Layout, key: Buffer): Buffer {
  const [{ bytes }] = layout.key;
  if (!isNarrowed(layout)) return key;
  const head = headOf(key.subarray(0, bytes));
  return key.length === bytes ? head : Buffer.concat([head, key.subarray(bytes)]);
}

export function narrowValue({ newest }: Kind, { also }: Layout, value: Buffer): Buffer {
  return newest === null || also.length < 2 ? value : value.subarray(0, ID_BYTES + also[0].bytes);
}

/** A range in which the first column has one value, or of all keys. */
export function narrowRange(layout: Layout, range: Range): Range {
  const [{ bytes }] = layout.key;
  const { low, high } = range;
  if (!isNarrowed(layout) || low.length < bytes) return range;
  const head = headOf(low.subarray(0, bytes));
  const isWithin = high !== null && low.subarray(0, bytes).equals(high.subarray(0, bytes));
  return {
    ...range,
    low: Buffer.concat([head, low.subarray(bytes)]),
    high: isWithin ? Buffer.concat([head, high.subarray(bytes)]) : behindPrefix(head),
  };
}

/** Gives entries of a range in which the first column has one value the keys that they were written with. */
export function widening({ key: [{ bytes }] }: Layout, { low }: Range): (entry: Entry) => void {
  const first = low.length < bytes ? NONE.subarray(0, bytes) : low.subarray(0, bytes);
  return (entry) => {
    const key = Buffer.allocUnsafe(entry.key.length - HEAD_BYTES + bytes);
    key.set(first);
    key.set(entry.key.subarray(HEAD_BYTES), bytes);
    entry.key = key;
  };
}
