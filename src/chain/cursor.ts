import type { Boc } from './boc.ts';
import { DecodeError } from './errors.ts';
import type { LooseCell } from './hash.ts';
import type { Address, Decimal, Hash } from './model.ts';

/** Reads a cell from its first bit on. Every read checks the bounds and throws DecodeError. */
export class Cursor {
  readonly boc: Boc;
  cell: number;
  /** Next bit, counted from the start of the bag. */
  at: number;
  end: number;
  /** Next reference, an index into `boc.refs`. */
  ref: number;
  refEnd: number;

  constructor(boc: Boc, cell: number) {
    this.boc = boc;
    this.cell = cell;
    this.at = boc.pos[cell] * 8;
    this.end = this.at + boc.bits[cell];
    this.ref = boc.refStart[cell];
    this.refEnd = this.ref + (boc.d1[cell] & 7);
    if (boc.d1[cell] & 8) throw new DecodeError(`exotic cell of type ${boc.bytes[boc.pos[cell]]}`);
  }

  get bitsLeft(): number {
    return this.end - this.at;
  }

  get refsLeft(): number {
    return this.refEnd - this.ref;
  }

  bit(): boolean {
    const at = this.at;
    if (at >= this.end) throw short();
    this.at = at + 1;
    return ((this.boc.bytes[at >>> 3] >> (7 - (at & 7))) & 1) !== 0;
  }

  /** Unsigned integer of up to 48 bits. */
  u(n: number): number {
    const at = this.at;
    if (at + n > this.end) throw short();
    this.at = at + n;
    return n <= 24 ? window(this.boc.bytes, at, n) : unsigned(this.boc.bytes, at, n);
  }

  /** Signed integer of up to 32 bits. */
  i(n: number): number {
    const shift = 32 - n;
    return (this.u(n) << shift) >> shift;
  }

  /** Unsigned integer of up to 64 bits as a decimal string, BigInt only from 2^53 on. */
  dec(n: number): Decimal {
    if (n <= 48) return this.u(n).toString();
    const high = this.u(n - 32);
    const low = this.u(32);
    if (high < 0x200000) return (high * 0x100000000 + low).toString();
    return ((BigInt(high) << 32n) | BigInt(low)).toString();
  }

  /** `VarUInteger` whose length field has `lengthBits` bits: 4 for Grams, 3 for VarUInteger 7, 5 for 32. */
  varUint(lengthBits: number): Decimal {
    const size = this.u(lengthBits);
    if (size === 0) return '0';
    if (size <= 8) return this.dec(size * 8);
    return BigInt(`0x${this.bytes(size).toString('hex')}`).toString();
  }

  /** `Grams`: VarUInteger 16. */
  grams(): Decimal {
    return this.varUint(4);
  }

  /** Whole bytes: a view of the bag when they are aligned in it, else a copy. */
  bytes(n: number): Buffer {
    const at = this.at;
    if (at + n * 8 > this.end) throw short();
    this.at = at + n * 8;
    const from = at >>> 3;
    if ((at & 7) === 0) return this.boc.bytes.subarray(from, from + n);
    const out = Buffer.allocUnsafe(n);
    shiftInto(this.boc.bytes, at, out, 0, n);
    return out;
  }

  hash(): Hash {
    return this.bytes(32);
  }

  /**
   * Reads 32 bytes of account id behind a workchain number.
   * @param likely given back when it is the same: most addresses of a transaction and its messages are its account's
   */
  address(workchain: number, likely: Address | null = null): Address {
    const at = this.at;
    if (at + 256 > this.end) throw short();
    this.at = at + 256;
    if (likely !== null && isAt(this.boc.bytes, at, workchain, likely)) return likely;
    const out = Buffer.allocUnsafe(36);
    out[0] = (workchain >>> 24) ^ 0x80;
    out[1] = workchain >>> 16;
    out[2] = workchain >>> 8;
    out[3] = workchain;
    shiftInto(this.boc.bytes, at, out, 4, 32);
    return out;
  }

  skip(bits: number): void {
    if (bits < 0 || this.at + bits > this.end) throw short();
    this.at += bits;
  }

  /** Takes the next reference and returns the index of its cell. */
  nextRef(): number {
    if (this.ref >= this.refEnd) throw new DecodeError('reference missing');
    return this.boc.refs[this.ref++];
  }

  /** `Maybe ^X` and the root of a `HashmapE`: the cell, or -1. */
  maybeRef(): number {
    return this.bit() ? this.nextRef() : -1;
  }

  /** A cursor on the next reference. */
  open(): Cursor {
    return new Cursor(this.boc, this.nextRef());
  }

  /** The constructor tag of a type: throws when other bits stand there. */
  tag(bits: number, value: number, type: string): void {
    const found = this.u(bits);
    if (found !== value) throw new DecodeError(`tag ${found.toString(16)} is not ${type}`);
  }

  /** What is not read yet as a cell of its own. */
  rest(): LooseCell {
    const bits = this.end - this.at;
    const refs: number[] = [];
    for (let i = this.ref; i < this.refEnd; i++) refs.push(this.boc.refs[i]);
    return { data: packBits(this.boc.bytes, this.at, bits), bits, refs };
  }
}

function short(): DecodeError {
  return new DecodeError('cell is too short');
}

/** Up to 24 bits at any bit offset. Bytes behind the buffer read as zero and are shifted out. */
function window(bytes: Uint8Array, at: number, n: number): number {
  if (n === 0) return 0;
  const i = at >>> 3;
  const word = (bytes[i] << 24) | (bytes[i + 1] << 16) | (bytes[i + 2] << 8) | bytes[i + 3];
  return (word << (at & 7)) >>> (32 - n);
}

function unsigned(bytes: Uint8Array, at: number, n: number): number {
  return window(bytes, at, n - 24) * 0x1000000 + window(bytes, at + n - 24, 24);
}

/** Copies `n` bytes that start at bit `at`. */
function shiftInto(bytes: Uint8Array, at: number, out: Uint8Array, to: number, n: number): void {
  let from = at >>> 3;
  const shift = at & 7;
  if (shift === 0) {
    for (let i = 0; i < n; i++) out[to + i] = bytes[from + i];
    return;
  }
  let current = bytes[from];
  for (let i = 0; i < n; i++) {
    const next = bytes[++from];
    out[to + i] = (current << shift) | (next >> (8 - shift));
    current = next;
  }
}

/** Whether the account id that starts at bit `at` and the workchain are those of the address. */
function isAt(bytes: Uint8Array, at: number, workchain: number, address: Address): boolean {
  const head = (address[0] << 24) | (address[1] << 16) | (address[2] << 8) | address[3];
  if (head !== (workchain ^ 0x80000000)) return false;
  let from = at >>> 3;
  const shift = at & 7;
  let current = bytes[from];
  for (let i = 4; i < 36; i++) {
    const next = bytes[++from];
    if ((((current << shift) | (next >> (8 - shift))) & 0xff) !== address[i]) return false;
    current = next;
  }
  return true;
}

/** Bits from any offset packed into bytes, with the completion tag when the last byte is incomplete. */
export function packBits(bytes: Uint8Array, at: number, bits: number): Buffer {
  const whole = bits >> 3;
  const tail = bits & 7;
  const out = Buffer.allocUnsafe(whole + (tail > 0 ? 1 : 0));
  shiftInto(bytes, at, out, 0, whole);
  if (tail > 0) out[whole] = ((window(bytes, at + whole * 8, tail) << 1) | 1) << (7 - tail);
  return out;
}
