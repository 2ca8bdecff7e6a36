import * as crypto from 'node:crypto';
import { type Boc, cellType, depthAt, MERKLE_PROOF, PRUNED, popcount } from './boc.ts';
import { DecodeError } from './errors.ts';
import type { Hash } from './model.ts';

/**
 * SHA-256 as 32 latin1 (`binary`) characters. `crypto.hash` (Node 20.12 on) into a latin1 string takes 0.5 us for 100
 * bytes, into a Buffer 1.1 us, `createHash` 1.4 us.
 */
export const sha256: (data: Uint8Array) => string =
  typeof crypto.hash === 'function'
    ? (data) => crypto.hash('sha256', data, 'binary')
    : (data) => crypto.createHash('sha256').update(data).digest('binary');

/** SHA-256 of any bytes. The hash of a block's file is this. */
export function sha256Of(data: Uint8Array): Hash {
  return Buffer.from(sha256(data), 'latin1');
}

/** Descriptors, data of at most 128 bytes, four depths and four hashes. */
const MAX_REPRESENTATION = 2 + 128 + 4 * 34;
const scratch = Buffer.alloc(MAX_REPRESENTATION);
/** A view for each length, so that hashing makes no Buffer. */
const views = Array.from({ length: MAX_REPRESENTATION + 1 }, (_, length) => scratch.subarray(0, length));

/** Representation hash of a cell (at its own level). A view into the bag's table. */
export function cellHash(boc: Boc, cell: number): Hash {
  return hashAt(boc, cell, 3);
}

/**
 * Hash of a cell at a level (0 to 3). Level 0 is the hash of the tree with its pruned branches filled in: the
 * virtual root hash of a Merkle proof, the state hash on either side of a Merkle update.
 */
export function hashAt(boc: Boc, cell: number, level: number): Hash {
  if (boc.hashed[cell] === 0) computeHashes(boc, cell);
  const at = hashOffset(boc, cell, level);
  return at < 0 ? boc.bytes.subarray(-at, 32 - at) : boc.hashes.subarray(at, at + 32);
}

/** Where a hash stands: in the table, or, negative, in the bytes of a pruned branch that tells it. */
function hashOffset(boc: Boc, cell: number, level: number): number {
  const mask = boc.d1[cell] >> 5;
  if (mask === 0) return boc.slot[cell] * 32;
  const below = mask & ((1 << level) - 1);
  if (cellType(boc, cell) !== PRUNED) return (boc.slot[cell] + popcount(below)) * 32;
  return below === mask ? boc.slot[cell] * 32 : -(boc.pos[cell] + 2 + 32 * popcount(below));
}

/** Hashes a cell and all below it that are not hashed yet; the stack is explicit: depth costs no calls. */
function computeHashes(boc: Boc, root: number): void {
  const { d1, refs, refStart, hashed } = boc;
  const stack = [root];
  while (stack.length > 0) {
    const cell = stack[stack.length - 1];
    let ready = true;
    if (hashed[cell] === 0) {
      const start = refStart[cell];
      for (let i = start + (d1[cell] & 7) - 1; i >= start; i--) {
        if (hashed[refs[i]] !== 0) continue;
        stack.push(refs[i]);
        ready = false;
      }
      if (!ready) continue;
      if (d1[cell] >> 5 === 0 && (d1[cell] & 8) === 0) hashPlain(boc, cell);
      else hashLevels(boc, cell);
      hashed[cell] = 1;
    }
    stack.pop();
  }
}

/** Copies into the scratch buffer. For a few dozen bytes a loop is faster than a call into the runtime. */
function put(source: Buffer, from: number, size: number, to: number): void {
  for (let i = 0; i < size; i++) scratch[to + i] = source[from + i];
}

/** An ordinary cell of level 0: all cells of transactions and messages. */
function hashPlain(boc: Boc, cell: number): void {
  const { bytes, depths, hashes, slot } = boc;
  const bits = boc.bits[cell];
  const size = (bits + 7) >> 3;
  const at = boc.pos[cell];
  const children = boc.d1[cell] & 7;
  scratch[0] = children;
  scratch[1] = (bits >> 3) + size;
  put(bytes, at, size, 2);
  let end = 2 + size;
  const start = boc.refStart[cell];
  for (let i = 0; i < children; i++, end += 2) {
    const depth = depths[slot[boc.refs[start + i]]];
    scratch[end] = depth >> 8;
    scratch[end + 1] = depth;
  }
  for (let i = 0; i < children; i++, end += 32) {
    put(hashes, slot[boc.refs[start + i]] * 32, 32, end);
  }
  hashes.write(sha256(views[end]), slot[cell] * 32, 'latin1');
}

/**
 * Every hash the cell has of its own: one for each level of its mask and one more. A higher one is made from the
 * one before it in place of the data; the children of Merkle cells count one level higher.
 */
function hashLevels(boc: Boc, cell: number): void {
  const type = cellType(boc, cell);
  const mask = boc.d1[cell] >> 5;
  const shift = type >= MERKLE_PROOF ? 1 : 0;
  let slot = boc.slot[cell];
  for (let level = type === PRUNED ? 3 : 0; level < 4; level++) {
    if (type !== PRUNED && level > 0 && !(mask & (1 << (level - 1)))) continue;
    const first = slot === boc.slot[cell];
    const end = representation(boc, cell, level, level + shift, first ? -1 : slot - 1);
    boc.hashes.write(sha256(views[end]), slot * 32, 'latin1');
    slot++;
  }
}

/** Lays the representation into the scratch buffer; `previous` is the slot that stands for the data, or -1. */
function representation(boc: Boc, cell: number, level: number, childLevel: number, previous: number): number {
  const bits = boc.bits[cell];
  const size = (bits + 7) >> 3;
  const children = boc.d1[cell] & 7;
  const mask = (boc.d1[cell] >> 5) & ((1 << level) - 1);
  scratch[0] = (boc.d1[cell] & 15) + 32 * mask;
  scratch[1] = (bits >> 3) + size;
  let end = previous < 0 ? 2 + size : 34;
  if (previous < 0) put(boc.bytes, boc.pos[cell], size, 2);
  else put(boc.hashes, previous * 32, 32, 2);
  const start = boc.refStart[cell];
  for (let i = 0; i < children; i++, end += 2) {
    const depth = depthAt(boc, boc.refs[start + i], childLevel);
    scratch[end] = depth >> 8;
    scratch[end + 1] = depth;
  }
  for (let i = 0; i < children; i++, end += 32) {
    const child = boc.refs[start + i];
    const at = hashOffset(boc, child, childLevel);
    put(at < 0 ? boc.bytes : boc.hashes, at < 0 ? -at : at, 32, end);
  }
  return end;
}

/**
 * Checks that a Merkle proof or Merkle update cell names the hashes and depths of the trees below it; after that
 * its virtual roots may be believed as far as its own hash is. Throws DecodeError.
 */
export function verifyMerkle(boc: Boc, cell: number): void {
  if (cellType(boc, cell) < MERKLE_PROOF) throw new DecodeError('not a Merkle cell');
  const children = boc.d1[cell] & 7;
  for (let i = 0; i < children; i++) {
    const child = boc.refs[boc.refStart[cell] + i];
    const at = boc.pos[cell] + 1;
    if (hashAt(boc, child, 0).compare(boc.bytes, at + 32 * i, at + 32 * i + 32) !== 0) {
      throw new DecodeError('Merkle cell names another hash');
    }
    if (depthAt(boc, child, 0) !== boc.bytes.readUInt16BE(at + 32 * children + 2 * i)) {
      throw new DecodeError('Merkle cell names another depth');
    }
  }
}

/** {@link verifyMerkle} of each such cell of a bag. Throws DecodeError. */
export function verifyAllMerkle(boc: Boc): void {
  for (let cell = 0; cell < boc.count; cell++) if (cellType(boc, cell) >= MERKLE_PROOF) verifyMerkle(boc, cell);
}

/** A cell that is in no bag: completed data, references into a bag. */
export interface LooseCell {
  /** Whole bytes; an incomplete last byte carries the completion tag. */
  data: Buffer;
  bits: number;
  refs: readonly number[];
}

export function looseDepth(boc: Boc, loose: LooseCell): number {
  let depth = 0;
  for (const ref of loose.refs) depth = Math.max(depth, depthAt(boc, ref, 3) + 1);
  return depth;
}

/** Representation hash of an ordinary loose cell whose references have level 0. */
export function looseHash(boc: Boc, loose: LooseCell): Hash {
  const children: { depth: number; hash: Hash }[] = [];
  for (const ref of loose.refs) children.push({ depth: depthAt(boc, ref, 3), hash: cellHash(boc, ref) });
  return ordinaryHash(loose.data, loose.bits, children);
}

/** Representation hash of an ordinary cell of level 0 from its completed data and its children. */
export function ordinaryHash(data: Uint8Array, bits: number, children: readonly { depth: number; hash: Hash }[]): Hash {
  scratch[0] = children.length;
  scratch[1] = (bits >> 3) + ((bits + 7) >> 3);
  scratch.set(data, 2);
  let end = 2 + data.length;
  for (const child of children) end = scratch.writeUInt16BE(child.depth, end);
  for (const child of children) end += child.hash.copy(scratch, end);
  return Buffer.from(sha256(views[end]), 'latin1');
}

/** Stands where there is no hash: that of nothing. */
export const NO_HASH: Hash = Buffer.alloc(32);

/** Key of a 32-byte hash in a Map. */
export const hashKey = (hash: Buffer): string => hash.toString('latin1');

/** Each once, in the order of their first. */
export function distinct(values: readonly Buffer[]): Buffer[] {
  return [...new Map(values.map((value) => [hashKey(value), value])).values()];
}
