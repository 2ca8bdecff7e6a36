import { crc32c } from './crc.ts';
import { DecodeError, section } from './errors.ts';
import type { ExtraCurrencies, Message, Transaction } from './model.ts';

/** Bounds on what is accepted, checked before memory is taken for it. */
export interface BocLimits {
  maxBytes: number;
  maxCells: number;
  maxRoots: number;
  /** Longest path of references, also the greatest depth a pruned branch may claim. The node's limit is 1024. */
  maxDepth: number;
}

const defaultBocLimits: Readonly<BocLimits> = {
  maxBytes: 64 << 20,
  maxCells: 4 << 20,
  maxRoots: 1024,
  maxDepth: 1024,
};

/**
 * Of a proof, or of what is held to a hash, for which all of it is hashed: a second of work. The largest accounts and the
 * whole configuration of mainnet have a tenth of it.
 */
export const PROOF_LIMITS: Partial<BocLimits> = { maxCells: 1 << 19 };

/** What was read of a bag, by its cell. Each made when there is the first: most bags are of one body or state. */
export interface Decoded {
  messages: Map<number, Message> | null;
  transactions: Map<number, Transaction> | null;
  currencies: Map<number, ExtraCurrencies> | null;
}

/**
 * A bag of cells opened in place: tables by cell index, no object per cell (`serialized_boc` of crypto/tl/boc.tlb).
 * References point to higher indexes only, so the index order is a topological order.
 */
export interface Boc {
  readonly bytes: Buffer;
  readonly count: number;
  readonly roots: readonly number[];
  /** Byte offset of each cell's data in `bytes`. */
  readonly pos: Uint32Array;
  readonly bits: Uint16Array;
  /** First descriptor byte without the stored-hashes flag: references, exotic flag (8), level mask (from bit 5). */
  readonly d1: Uint8Array;
  /** The references of cell `i` are `refs[refStart[i] ...]`, as many as `d1` says. */
  readonly refStart: Uint32Array;
  readonly refs: Uint32Array;
  /** First slot of each cell in the hash and depth tables: one slot for each hash the cell has of its own. */
  readonly slot: Uint32Array;
  readonly depths: Uint16Array;
  /** 32 bytes a slot, filled on demand by hash.ts; `hashed` says which cells are there. */
  readonly hashes: Buffer;
  readonly hashed: Uint8Array;
  /** Places of cells in the bag serialize.ts wrote last; older marks lie at or below `last`. */
  readonly marks: { places: Uint32Array; base: number; last: number };
  /** Decoded once: a message is out-message of one transaction and in-message of another in the same block. */
  readonly decoded: Decoded;
  /** Dictionary cells that may still be visited: stops dictionaries that multiply by sharing subtrees. */
  allowance: number;
}

export const PRUNED = 1;
export const LIBRARY = 2;
export const MERKLE_PROOF = 3;
export const MERKLE_UPDATE = 4;

const EXOTIC = 8;
const STORED_HASHES = 16;

/** 0 for an ordinary cell, else the type byte of an exotic one. */
export function cellType(boc: Boc, cell: number): number {
  return boc.d1[cell] & EXOTIC ? boc.bytes[boc.pos[cell]] : 0;
}

export function levelMask(boc: Boc, cell: number): number {
  return boc.d1[cell] >> 5;
}

const ones = [0, 1, 1, 2, 1, 2, 2, 3];

/** Bits set in a level mask. */
export function popcount(mask: number): number {
  return ones[mask];
}

/** Depth of a cell at a level (0 to 3). */
export function depthAt(boc: Boc, cell: number, level: number): number {
  const mask = boc.d1[cell] >> 5;
  if (mask === 0) return boc.depths[boc.slot[cell]];
  const below = mask & ((1 << level) - 1);
  if (cellType(boc, cell) !== PRUNED) return boc.depths[boc.slot[cell] + ones[below]];
  if (below === mask) return boc.depths[boc.slot[cell]];
  return boc.bytes.readUInt16BE(boc.pos[cell] + 2 + 32 * ones[mask] + 2 * ones[below]);
}

interface Frame {
  refSize: number;
  count: number;
  roots: number[];
  dataStart: number;
  dataEnd: number;
}

/** What a cell of an open bag takes of memory, besides its bytes; 34 more for each level above the first. */
export const CELL_MEMORY = 70;

/**
 * Opens a bag of cells: checks the frame, the checksum, every reference, every level mask and depth. Takes about
 * {@link CELL_MEMORY} bytes of memory a cell. The bytes are kept, not copied: do not change them
 * afterwards. Throws DecodeError.
 */
export function openBoc(bytes: Buffer, limits: Partial<BocLimits> = {}): Boc {
  const bounds = { ...defaultBocLimits, ...limits };
  return section('boc', () => {
    const frame = readFrame(bytes, bounds);
    const boc = readCells(bytes, frame);
    settleLevels(boc, bounds.maxDepth);
    return boc;
  });
}

/** Cells of a bag that {@link openBoc} takes, or serialize.ts wrote, without opening it. */
export function cellCount(bytes: Buffer): number {
  return uint(bytes, 6, bytes[4] & 7);
}

function uint(bytes: Buffer, at: number, size: number): number {
  let value = 0;
  for (let i = 0; i < size; i++) value = value * 256 + bytes[at + i];
  return value;
}

function readFrame(bytes: Buffer, limits: BocLimits): Frame {
  if (bytes.length > limits.maxBytes) throw new DecodeError(`${bytes.length} bytes, limit ${limits.maxBytes}`);
  if (bytes.length < 10) throw new DecodeError('too short');
  const magic = bytes.readUInt32BE(0);
  const legacy = magic === 0x68ff65f3 || magic === 0xacc3a728;
  if (!legacy && magic !== 0xb5ee9c72) throw new DecodeError(`unknown magic ${bytes.toString('hex', 0, 4)}`);
  const flags = bytes[4];
  const refSize = legacy ? flags : flags & 7;
  const hasIndex = legacy || (flags & 0x80) !== 0;
  const hasCrc = magic === 0xacc3a728 || (!legacy && (flags & 0x40) !== 0);
  if (!legacy && flags & 0x18) throw new DecodeError('reserved flags set');
  const offsetSize = bytes[5];
  if (refSize < 1 || refSize > 4) throw new DecodeError(`reference size ${refSize}`);
  if (offsetSize < 1 || offsetSize > 8) throw new DecodeError(`offset size ${offsetSize}`);
  const rootsAt = 6 + 3 * refSize + offsetSize;
  if (bytes.length < rootsAt) throw new DecodeError('truncated header');
  const count = uint(bytes, 6, refSize);
  const rootCount = uint(bytes, 6 + refSize, refSize);
  const absent = uint(bytes, 6 + 2 * refSize, refSize);
  const dataSize = uint(bytes, 6 + 3 * refSize, offsetSize);
  if (count > limits.maxCells) throw new DecodeError(`${count} cells, limit ${limits.maxCells}`);
  if (rootCount < 1 || rootCount > limits.maxRoots || rootCount > count) throw new DecodeError(`${rootCount} roots`);
  if (legacy && rootCount !== 1) throw new DecodeError('several roots in a legacy bag');
  if (absent !== 0) throw new DecodeError('absent cells');
  const indexAt = rootsAt + (legacy ? 0 : rootCount * refSize);
  const dataStart = indexAt + (hasIndex ? count * offsetSize : 0);
  const dataEnd = dataStart + dataSize;
  const end = dataEnd + (hasCrc ? 4 : 0);
  if (end !== bytes.length) throw new DecodeError(`${bytes.length} bytes where the header says ${end}`);
  if (count * 2 > dataSize) throw new DecodeError(`${count} cells in ${dataSize} bytes`);
  if (hasCrc && crc32c(bytes, 0, dataEnd) !== bytes.readUInt32LE(dataEnd)) throw new DecodeError('wrong checksum');
  const roots = legacy ? [0] : Array.from({ length: rootCount }, (_, i) => uint(bytes, rootsAt + i * refSize, refSize));
  if (roots.some((root) => root >= count)) throw new DecodeError('root outside the bag');
  return { refSize, count, roots, dataStart, dataEnd };
}

function readCells(bytes: Buffer, frame: Frame): Boc {
  const { refSize, count, dataEnd } = frame;
  const refRoom = Math.min(4 * count, Math.floor((dataEnd - frame.dataStart - 2 * count) / refSize));
  const pos = new Uint32Array(count);
  const bits = new Uint16Array(count);
  const d1 = new Uint8Array(count);
  const slot = new Uint32Array(count);
  const refStart = new Uint32Array(count);
  const refs = new Uint32Array(refRoom);
  let at = frame.dataStart;
  let slots = 0;
  let refsUsed = 0;
  for (let cell = 0; cell < count; cell++) {
    if (at + 2 > dataEnd) throw new DecodeError('truncated', `cell ${cell}`);
    const first = bytes[at];
    const second = bytes[at + 1];
    at += 2;
    const children = first & 7;
    if (children > 4) throw new DecodeError(`${children} references`, `cell ${cell}`);
    const mask = first >> 5;
    if (first & STORED_HASHES) at += (ones[mask] + 1) * 34;
    const size = (second + 1) >> 1;
    if (at + size + children * refSize > dataEnd) throw new DecodeError('truncated', `cell ${cell}`);
    pos[cell] = at;
    bits[cell] = second & 1 ? size * 8 - padding(bytes[at + size - 1], cell) : size * 8;
    d1[cell] = first & ~STORED_HASHES;
    slot[cell] = slots;
    slots += first & EXOTIC && size > 0 && bytes[at] === PRUNED ? 1 : ones[mask] + 1;
    at += size;
    refStart[cell] = refsUsed;
    for (let i = 0; i < children; i++, at += refSize) {
      const ref = refSize === 2 ? (bytes[at] << 8) | bytes[at + 1] : uint(bytes, at, refSize);
      if (ref <= cell || ref >= count) throw new DecodeError(`reference to ${ref}`, `cell ${cell}`);
      refs[refsUsed++] = ref;
    }
  }
  if (at !== dataEnd) throw new DecodeError('bytes after the last cell');
  return {
    bytes,
    count,
    roots: frame.roots,
    pos,
    bits,
    d1,
    refStart,
    refs,
    slot,
    depths: new Uint16Array(slots),
    hashes: Buffer.allocUnsafeSlow(slots * 32),
    hashed: new Uint8Array(count),
    marks: { places: new Uint32Array(count), base: 0, last: 0 },
    decoded: { messages: null, transactions: null, currencies: null },
    allowance: 2 * count + 1024,
  };
}

/** Bits of the last byte that do not count: the lowest 1 and the zeros below it. */
function padding(byte: number, cell: number): number {
  if (byte === 0) throw new DecodeError('no completion tag', `cell ${cell}`);
  return 32 - Math.clz32(byte & -byte);
}

/** Checks exotic cells and level masks and fills the depth table, children before parents. */
function settleLevels(boc: Boc, maxDepth: number): void {
  const { d1, refStart, refs, slot, depths } = boc;
  for (let cell = boc.count - 1; cell >= 0; cell--) {
    if (d1[cell] & EXOTIC) {
      settleExotic(boc, cell, maxDepth);
      continue;
    }
    const end = refStart[cell] + (d1[cell] & 7);
    let mask = 0;
    let depth = 0;
    for (let i = refStart[cell]; i < end; i++) {
      const ref = refs[i];
      mask |= d1[ref] >> 5;
      if (depths[slot[ref]] >= depth) depth = depths[slot[ref]] + 1;
    }
    if (mask !== d1[cell] >> 5) throw new DecodeError('level mask mismatch', `cell ${cell}`);
    if (mask !== 0) fillDepths(boc, cell, 0, maxDepth);
    else if (depth > maxDepth) throw new DecodeError(`deeper than ${maxDepth}`, `cell ${cell}`);
    else depths[slot[cell]] = depth;
  }
}

/** Depth of a cell at each of its levels; `shift` is 1 in Merkle cells, whose children stand one level higher. */
function fillDepths(boc: Boc, cell: number, shift: number, maxDepth: number): void {
  const mask = boc.d1[cell] >> 5;
  const start = boc.refStart[cell];
  const end = start + (boc.d1[cell] & 7);
  let slot = boc.slot[cell];
  for (let level = 0; level < 4; level++) {
    if (level > 0 && !(mask & (1 << (level - 1)))) continue;
    let depth = 0;
    for (let i = start; i < end; i++) {
      const below = depthAt(boc, boc.refs[i], level + shift);
      if (below >= depth) depth = below + 1;
    }
    if (depth > maxDepth) throw new DecodeError(`deeper than ${maxDepth}`, `cell ${cell}`);
    boc.depths[slot++] = depth;
  }
}

function settleExotic(boc: Boc, cell: number, maxDepth: number): void {
  const { d1, bytes, refStart, refs } = boc;
  const at = boc.pos[cell];
  const bits = boc.bits[cell];
  const children = d1[cell] & 7;
  const mask = d1[cell] >> 5;
  const type = bits >= 8 ? bytes[at] : 0;
  let expected = 0;
  let size = -1;
  let wanted = 0;
  if (type === PRUNED) {
    expected = bits >= 16 ? bytes[at + 1] : 0;
    if (expected < 1 || expected > 7) throw new DecodeError(`pruned branch of level mask ${expected}`, `cell ${cell}`);
    size = 16 + ones[expected] * 272;
  } else if (type === LIBRARY) {
    size = 264;
  } else if (type === MERKLE_PROOF || type === MERKLE_UPDATE) {
    wanted = type - MERKLE_PROOF + 1;
    size = 8 + 272 * wanted;
    for (let i = 0; i < children; i++) expected |= d1[refs[refStart[cell] + i]] >> 6;
  }
  if (size !== bits || children !== wanted)
    throw new DecodeError(`malformed exotic cell of type ${type}`, `cell ${cell}`);
  if (expected !== mask) throw new DecodeError('level mask mismatch', `cell ${cell}`);
  if (wanted > 0) {
    fillDepths(boc, cell, 1, maxDepth);
    return;
  }
  if (type === PRUNED) {
    for (let level = 0; level < 3; level++) {
      if (depthAt(boc, cell, level) > maxDepth) throw new DecodeError(`deeper than ${maxDepth}`, `cell ${cell}`);
    }
  }
  boc.depths[boc.slot[cell]] = 0;
}
