import type { Boc, BocLimits } from './boc.ts';
import { cellType, levelMask, MERKLE_PROOF, openBoc, PRUNED, popcount } from './boc.ts';
import { DecodeError } from './errors.ts';
import { sha256, verifyAllMerkle } from './hash.ts';
import type { Hash } from './model.ts';
import { type SerializeOptions, serializeTree, type TreeCell } from './serialize.ts';

const EXOTIC = 8;
const MAX_BITS = 1023;

/** Descriptors, data of at most 128 bytes, four depths and four hashes. */
const representation = Buffer.alloc(2 + 128 + 4 * 34);
const views = Array.from({ length: representation.length + 1 }, (_, length) => representation.subarray(0, length));

/**
 * A cell as an object that never changes, so that trees share what did not change between them. Hashes and depths
 * of all levels are computed when first asked for. (Cells, level masks: TON whitepaper 3.1, crypto/vm/cells.)
 */
export class Cell implements TreeCell {
  /** Whole bytes; an incomplete last byte carries the completion tag, as in a bag of cells. */
  readonly data: Buffer;
  readonly bits: number;
  readonly refs: readonly Cell[];
  readonly exotic: boolean;
  readonly levelMask: number;
  private keys: string | string[] | null = null;
  private depths: number | number[] = -1;

  /** Throws DecodeError for an exotic cell of an unknown type. The size of exotic cells is not checked. */
  constructor(data: Buffer, bits: number, refs: readonly Cell[], exotic = false) {
    this.data = data;
    this.bits = bits;
    this.refs = refs;
    this.exotic = exotic;
    let mask = 0;
    for (const ref of refs) mask |= ref.levelMask;
    this.levelMask = exotic ? exoticMask(data, mask) : mask;
  }

  /** 0 for an ordinary cell, else the type byte of an exotic one. */
  get type(): number {
    return this.exotic ? this.data[0] : 0;
  }

  /** Representation hash, or the hash at a lower level (0: pruned branches filled in). */
  hash(level = 3): Hash {
    return Buffer.from(this.key(level), 'latin1');
  }

  /** The hash as 32 latin1 characters: a key of maps. */
  key(level = 3): string {
    const keys = this.keys ?? this.computeKeys();
    if (typeof keys === 'string') return keys;
    const below = this.levelMask & ((1 << level) - 1);
    if (this.type !== PRUNED) return keys[popcount(below)];
    if (below === this.levelMask) return keys[0];
    const at = 2 + 32 * popcount(below);
    return this.data.toString('latin1', at, at + 32);
  }

  depth(level = 3): number {
    if (this.depths === -1) this.depths = this.computeDepths();
    const { depths } = this;
    if (typeof depths === 'number') return depths;
    const below = this.levelMask & ((1 << level) - 1);
    if (this.type !== PRUNED) return depths[popcount(below)];
    if (below === this.levelMask) return 0;
    return this.data.readUInt16BE(2 + 32 * popcount(this.levelMask) + 2 * popcount(below));
  }

  equals(other: Cell): boolean {
    return this === other || this.key() === other.key();
  }

  private computeDepths(): number | number[] {
    if (this.levelMask === 0) return this.depthOver(this.merkleShift());
    if (this.type === PRUNED) return [0];
    const depths: number[] = [];
    for (let level = 0; level < 4; level++) {
      if (level === 0 || this.levelMask & (1 << (level - 1))) depths.push(this.depthOver(level + this.merkleShift()));
    }
    return depths;
  }

  private depthOver(childLevel: number): number {
    let depth = 0;
    for (const ref of this.refs) depth = Math.max(depth, ref.depth(childLevel) + 1);
    return depth;
  }

  /** Children of Merkle cells stand one level higher. */
  private merkleShift(): number {
    return this.exotic && this.data[0] >= MERKLE_PROOF ? 1 : 0;
  }

  private computeKeys(): string | string[] {
    const shift = this.merkleShift();
    if (this.levelMask === 0) {
      this.keys = sha256(views[this.layOut(0, shift, null)]);
      return this.keys;
    }
    const keys: string[] = [];
    for (let level = this.type === PRUNED ? 3 : 0; level < 4; level++) {
      if (this.type !== PRUNED && level > 0 && !(this.levelMask & (1 << (level - 1)))) continue;
      const previous = keys.length === 0 ? null : keys[keys.length - 1];
      keys.push(sha256(views[this.layOut(this.levelMask & ((1 << level) - 1), level + shift, previous)]));
    }
    this.keys = keys;
    return keys;
  }

  /** Lays out the standard representation; a higher level has the hash of the one before it for data. */
  private layOut(mask: number, childLevel: number, previous: string | null): number {
    const { refs, bits, data } = this;
    // First the children: their own layout uses the same buffer.
    for (const ref of refs) ref.key(childLevel);
    representation[0] = refs.length + (this.exotic ? EXOTIC : 0) + 32 * mask;
    representation[1] = (bits >> 3) + ((bits + 7) >> 3);
    let end = 2;
    if (previous !== null) end += representation.write(previous, 2, 'latin1');
    else for (let i = 0; i < data.length; i++) representation[end++] = data[i];
    for (const ref of refs) {
      const depth = ref.depth(childLevel);
      representation[end++] = depth >> 8;
      representation[end++] = depth;
    }
    for (const ref of refs) end += representation.write(ref.key(childLevel), end, 'latin1');
    return end;
  }
}

function exoticMask(data: Buffer, children: number): number {
  const type = data[0];
  if (type === PRUNED) return data[1];
  if (type === MERKLE_PROOF || type === MERKLE_PROOF + 1) return children >> 1;
  if (type === 2) return 0;
  throw new DecodeError(`exotic cell of type ${type}`);
}

/**
 * Bytes in memory of their own. States keep single cells for as long as the chain goes on, and one small buffer out of
 * Node's pool keeps all 8 KB it was cut from: 30,000 cells of a devnet, 1 MB, held 33 MB after 2,800 blocks. V8 keeps
 * arrays of up to 64 bytes, which most cells are, in its heap: CPU time is the same.
 */
function ownCopy(bytes: Buffer, at: number, length: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(length);
  for (let i = 0; i < length; i++) copy[i] = bytes[at + i];
  return copy;
}

/** Reads a whole bag of cells with one root into objects. Throws DecodeError. */
export function parseBoc(bytes: Buffer, limits: Partial<BocLimits> = {}): Cell {
  const roots = parseBocRoots(bytes, limits);
  if (roots.length !== 1) throw new DecodeError(`${roots.length} roots where one is expected`, 'boc');
  return roots[0];
}

/**
 * Reads a bag of one cell that a stranger sent, by the rules of nodes (`std_boc_deserialize`): no pruned branches outside
 * of Merkle cells, and those name the hashes of what is below. Throws DecodeError.
 */
export function parseSent(bytes: Buffer): Cell {
  const boc = openBoc(bytes, { maxRoots: 1 });
  if (levelMask(boc, boc.roots[0]) !== 0) throw new DecodeError('pruned branches in a whole cell');
  verifyAllMerkle(boc);
  return cellsOf(boc)[0];
}

/** Reads a whole bag of cells into objects, one for each root. Throws DecodeError. */
export function parseBocRoots(bytes: Buffer, limits: Partial<BocLimits> = {}): Cell[] {
  return cellsOf(openBoc(bytes, limits));
}

function cellsOf(boc: Boc): Cell[] {
  const cells = new Array<Cell>(boc.count);
  for (let i = boc.count - 1; i >= 0; i--) cells[i] = cellAt(boc, i, cells);
  return boc.roots.map((root) => cells[root]);
}

function cellAt(boc: Boc, index: number, cells: readonly Cell[]): Cell {
  const refs: Cell[] = [];
  const start = boc.refStart[index];
  const end = start + (boc.d1[index] & 7);
  for (let i = start; i < end; i++) refs.push(cells[boc.refs[i]]);
  const at = boc.pos[index];
  const bits = boc.bits[index];
  // The bag's bytes are not kept for the sake of one cell.
  const data = ownCopy(boc.bytes, at, (bits + 7) >> 3);
  return new Cell(data, bits, refs, cellType(boc, index) !== 0);
}

/** Writes trees as one bag of cells; equal cells are written once. */
export function toBoc(roots: Cell | readonly Cell[], options: SerializeOptions = {}): Buffer {
  const seen = new Map<string, Cell>();
  const list = roots instanceof Cell ? [roots] : roots;
  return serializeTree(
    list.map((root) => unique(root, seen)),
    options,
  );
}

/** The same tree with one object for each hash. */
function unique(cell: Cell, seen: Map<string, Cell>): Cell {
  const key = cell.key();
  const known = seen.get(key);
  if (known !== undefined) return known;
  const refs = cell.refs.map((ref) => unique(ref, seen));
  const same = refs.every((ref, i) => ref === cell.refs[i]);
  const found = same ? cell : new Cell(cell.data, cell.bits, refs, cell.exotic);
  seen.set(key, found);
  return found;
}

/** Writes one cell. Every method throws RangeError when a value or the cell is too large. */
export class Builder {
  private readonly buffer = Buffer.alloc(128);
  private readonly children: Cell[] = [];
  private at = 0;

  get bits(): number {
    return this.at;
  }

  bit(value: boolean | number): this {
    return this.u(value ? 1 : 0, 1);
  }

  /** Unsigned integer below 2^48. */
  u(value: number, bits: number): this {
    if (!Number.isInteger(value) || value < 0 || value >= 2 ** bits || bits > 48) {
      throw new RangeError(`${value} is no unsigned integer of ${bits} bits`);
    }
    if (bits > 24) return this.put(Math.floor(value / 0x1000000), bits - 24).put(value % 0x1000000, 24);
    return this.put(value, bits);
  }

  /** Signed integer of up to 32 bits. */
  i(value: number, bits: number): this {
    return this.u(value < 0 ? value + 2 ** bits : value, bits);
  }

  /** Unsigned integer of any width. */
  big(value: bigint, bits: number): this {
    if (value < 0n || value >> BigInt(bits) !== 0n) throw new RangeError(`${value} does not fit in ${bits} bits`);
    for (let left = bits; left > 0; ) {
      const n = left % 24 === 0 ? 24 : left % 24;
      left -= n;
      this.put(Number((value >> BigInt(left)) & 0xffffffn) & ((1 << n) - 1), n);
    }
    return this;
  }

  bytes(value: Uint8Array): this {
    this.room(value.length * 8);
    if ((this.at & 7) === 0) {
      this.buffer.set(value, this.at >> 3);
      this.at += value.length * 8;
    } else {
      for (const byte of value) this.put(byte, 8);
    }
    return this;
  }

  /** `VarUInteger`: the length field has `lengthBits` bits. */
  varUint(value: bigint, lengthBits: number): this {
    const size = value === 0n ? 0 : (value.toString(16).length + 1) >> 1;
    return this.u(size, lengthBits).big(value, size * 8);
  }

  /** `Grams`: VarUInteger 16. */
  grams(value: bigint): this {
    return this.varUint(value, 4);
  }

  ref(cell: Cell): this {
    if (this.children.length === 4) throw new RangeError('a cell has four references at most');
    this.children.push(cell);
    return this;
  }

  /** `Maybe ^X`, `HashmapE`: a bit, and the reference after 1. */
  maybeRef(cell: Cell | null): this {
    this.bit(cell !== null);
    return cell === null ? this : this.ref(cell);
  }

  /** Bits and references of a whole ordinary cell. */
  append(cell: Cell): this {
    return this.rest(new Slice(cell));
  }

  /** What a slice has left. The slice is not moved. */
  rest(slice: Slice): this {
    const from = slice.clone();
    while (from.bitsLeft > 0) {
      const n = Math.min(24, from.bitsLeft);
      this.put(from.u(n), n);
    }
    while (from.refsLeft > 0) this.ref(from.ref());
    return this;
  }

  /** The cell. The builder must not be used after it. */
  cell(exotic = false): Cell {
    const size = (this.at + 7) >> 3;
    const data = ownCopy(this.buffer, 0, size);
    if (this.at & 7) data[size - 1] |= 0x80 >> (this.at & 7);
    return new Cell(data, this.at, this.children, exotic);
  }

  private room(bits: number): void {
    if (this.at + bits > MAX_BITS) throw new RangeError('a cell has 1023 bits at most');
  }

  /** At most 24 bits. */
  private put(value: number, bits: number): this {
    this.room(bits);
    let left = bits;
    while (left > 0) {
      const n = Math.min(8 - (this.at & 7), left);
      left -= n;
      const part = (value >>> left) & ((1 << n) - 1);
      this.buffer[this.at >> 3] |= part << (8 - (this.at & 7) - n);
      this.at += n;
    }
    return this;
  }
}

/** Called with every cell a slice is opened on: what a proof has to show. */
export type Visit = (cell: Cell) => void;

/** Reads a {@link Cell} from its first bit on. Every read checks the bounds and throws DecodeError. */
export class Slice {
  readonly cell: Cell;
  readonly visit: Visit | null;
  private at = 0;
  private nextRef = 0;

  /** Exotic cells are not for reading: throws DecodeError. `visit` passes on to slices opened from this one. */
  constructor(cell: Cell, visit: Visit | null = null) {
    if (cell.exotic) throw new DecodeError(`exotic cell of type ${cell.type}`);
    this.cell = cell;
    this.visit = visit;
    visit?.(cell);
  }

  get bitsLeft(): number {
    return this.cell.bits - this.at;
  }

  get refsLeft(): number {
    return this.cell.refs.length - this.nextRef;
  }

  clone(): Slice {
    const copy = new Slice(this.cell);
    copy.at = this.at;
    copy.nextRef = this.nextRef;
    return copy;
  }

  bit(): boolean {
    return this.u(1) !== 0;
  }

  /** Unsigned integer of up to 48 bits. */
  u(bits: number): number {
    if (bits > this.bitsLeft) throw new DecodeError('cell is too short');
    const { data } = this.cell;
    let value = 0;
    for (let left = bits; left > 0; ) {
      const n = Math.min(8 - (this.at & 7), left);
      const part = (data[this.at >> 3] >> (8 - (this.at & 7) - n)) & ((1 << n) - 1);
      value = value * (1 << n) + part;
      this.at += n;
      left -= n;
    }
    return value;
  }

  /** Signed integer of up to 32 bits. */
  i(bits: number): number {
    const shift = 32 - bits;
    return (this.u(bits) << shift) >> shift;
  }

  big(bits: number): bigint {
    if (bits > this.bitsLeft) throw new DecodeError('cell is too short');
    let value = 0n;
    for (let left = bits; left > 0; ) {
      const n = Math.min(48, left);
      value = (value << BigInt(n)) | BigInt(this.u(n));
      left -= n;
    }
    return value;
  }

  bytes(size: number): Buffer {
    if (size * 8 > this.bitsLeft) throw new DecodeError('cell is too short');
    const out = Buffer.allocUnsafe(size);
    for (let i = 0; i < size; i++) out[i] = this.u(8);
    return out;
  }

  varUint(lengthBits: number): bigint {
    return this.big(this.u(lengthBits) * 8);
  }

  grams(): bigint {
    return this.varUint(4);
  }

  skip(bits: number): this {
    if (bits < 0 || bits > this.bitsLeft) throw new DecodeError('cell is too short');
    this.at += bits;
    return this;
  }

  ref(): Cell {
    if (this.refsLeft === 0) throw new DecodeError('reference missing');
    return this.cell.refs[this.nextRef++];
  }

  maybeRef(): Cell | null {
    return this.bit() ? this.ref() : null;
  }

  /** A slice of the next reference. */
  open(): Slice {
    return new Slice(this.ref(), this.visit);
  }

  /** The constructor tag of a type: throws when other bits stand there. */
  tag(bits: number, value: number, type: string): this {
    const found = this.u(bits);
    if (found !== value) throw new DecodeError(`tag ${found.toString(16)} is not ${type}`);
    return this;
  }

  /** What is not read yet as a cell of its own. */
  restCell(): Cell {
    return new Builder().rest(this).cell();
  }
}
