import { type Boc, cellType, PRUNED } from './boc.ts';
import { Cursor } from './cursor.ts';
import { DecodeError } from './errors.ts';

/** How many dictionary cells a walk may visit. Shared by walks that belong together. */
export interface Allowance {
  allowance: number;
}

/**
 * A walk over the whole bag visits each of its cells about once, unless a hostile dictionary refers to its
 * subtrees many times over.
 */
export function walkAllowance(boc: Boc): Allowance {
  return { allowance: 2 * boc.count + 1024 };
}

export interface HashmapWalk {
  keyBits: number;
  /** The cursor stands behind the label: at the value, or at the extra before the value in an augmented dictionary. */
  leaf: (value: Cursor, key: Buffer) => void;
  /** Without it a pruned branch is an error. */
  pruned?: (cell: number) => void;
  /** Asked behind the leaves of each left branch: true ends the walk there. */
  done?: () => boolean;
}

/**
 * Walks a `Hashmap` (root of a HashmapE, HashmapAug or HashmapAugE) in ascending order of the keys. The key is
 * left-aligned in `ceil(keyBits / 8)` bytes and overwritten after the call: copy it to keep it.
 * (Hashmap, HmLabel: crypto/block/block.tlb.) Throws DecodeError.
 */
export function walkHashmap(boc: Boc, root: number, walk: HashmapWalk, limit: Allowance = walkAllowance(boc)): void {
  walkNode(boc, root, walk, Buffer.alloc((walk.keyBits + 7) >> 3), 0, limit);
}

/**
 * Walks a `Hashmap` whose root stands in the middle of a cell. The cursor is left behind the root: at the extra of
 * an augmented dictionary after a fork (true), where the leaf callback left it after a leaf (false).
 */
export function walkInline(cursor: Cursor, walk: HashmapWalk, limit: Allowance): boolean {
  return walkFrom(cursor, walk, Buffer.alloc((walk.keyBits + 7) >> 3), 0, limit);
}

function walkNode(boc: Boc, cell: number, walk: HashmapWalk, key: Buffer, at: number, limit: Allowance): void {
  if (walk.pruned !== undefined && cellType(boc, cell) === PRUNED) walk.pruned(cell);
  else walkFrom(new Cursor(boc, cell), walk, key, at, limit);
}

function walkFrom(cursor: Cursor, walk: HashmapWalk, key: Buffer, at: number, limit: Allowance): boolean {
  if (--limit.allowance < 0) throw new DecodeError('dictionary larger than its bag');
  const end = at + readLabel(cursor, walk.keyBits - at, key, at);
  if (end === walk.keyBits) {
    walk.leaf(cursor, key);
    return false;
  }
  const left = cursor.nextRef();
  const right = cursor.nextRef();
  setBit(key, end, 0);
  walkNode(cursor.boc, left, walk, key, end + 1, limit);
  if (walk.done?.()) return true;
  setBit(key, end, 1);
  walkNode(cursor.boc, right, walk, key, end + 1, limit);
  return true;
}

/** Reads a label of at most `room` bits into the key and returns its length. */
function readLabel(cursor: Cursor, room: number, key: Buffer, at: number): number {
  const lengthBits = 32 - Math.clz32(room);
  if (!cursor.bit()) {
    let length = 0;
    while (cursor.bit()) length++;
    return copyBits(cursor, length, room, key, at);
  }
  if (!cursor.bit()) return copyBits(cursor, cursor.u(lengthBits), room, key, at);
  const value = cursor.bit() ? 1 : 0;
  const length = cursor.u(lengthBits);
  if (length > room) throw longLabel();
  for (let i = 0; i < length; i++) setBit(key, at + i, value);
  return length;
}

function copyBits(cursor: Cursor, length: number, room: number, key: Buffer, at: number): number {
  if (length > room) throw longLabel();
  let done = 0;
  while (done < length) {
    const to = at + done;
    const n = Math.min(8 - (to & 7), length - done);
    const shift = 8 - (to & 7) - n;
    const mask = ((1 << n) - 1) << shift;
    key[to >> 3] = (key[to >> 3] & ~mask) | (cursor.u(n) << shift);
    done += n;
  }
  return length;
}

function longLabel(): DecodeError {
  return new DecodeError('dictionary label longer than the key');
}

function setBit(key: Buffer, at: number, value: number): void {
  const mask = 0x80 >> (at & 7);
  if (value) key[at >> 3] |= mask;
  else key[at >> 3] &= ~mask;
}

/**
 * Finds one key (left-aligned bits). Returns the cursor behind the label of the leaf, `null` when the dictionary
 * proves the key absent, and throws DecodeError when the path is pruned.
 */
export function lookupHashmap(boc: Boc, root: number, keyBits: number, key: Uint8Array): Cursor | null {
  const found = Buffer.alloc((keyBits + 7) >> 3);
  let cell = root;
  let at = 0;
  for (;;) {
    if (cellType(boc, cell) === PRUNED) throw new DecodeError('pruned on the way to the key');
    const cursor = new Cursor(boc, cell);
    const length = readLabel(cursor, keyBits - at, found, at);
    if (!sameBits(found, key, at, at + length)) return null;
    at += length;
    if (at === keyBits) return cursor;
    const left = cursor.nextRef();
    const right = cursor.nextRef();
    cell = key[at >> 3] & (0x80 >> (at & 7)) ? right : left;
    at++;
  }
}

function sameBits(a: Uint8Array, b: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; ) {
    const n = Math.min(8 - (at & 7), to - at);
    const mask = ((1 << n) - 1) << (8 - (at & 7) - n);
    if ((a[at >> 3] ^ b[at >> 3]) & mask) return false;
    at += n;
  }
  return true;
}
