/**
 * ClickHouse's RowBinary format: values of a row one after the other, little-endian, no names, no delimiters.
 * https://clickhouse.com/docs/interfaces/formats/RowBinary
 *
 * Integers of 64 bits and more are decimal strings here, as everywhere inside; up to 15 digits they pass as
 * numbers, which is several times faster than BigInt.
 */

export class RowBinaryError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RowBinaryError';
  }
}

const CHUNK_BYTES = 256 * 1024;
/** Decimal digits that always fit a double exactly. */
const SAFE_DIGITS = 15;
const TWO_32 = 0x1_0000_0000;

/** The value of up to 15 decimal digits from `start` on. -1 when there is anything else than digits. */
function smallDecimal(text: string, start: number): number {
  let value = 0;
  for (let i = start; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return text.length === start ? -1 : value;
}

function bigDecimal(text: string, type: string, low: bigint, high: bigint): bigint {
  if (!/^-?[0-9]{1,80}$/.test(text)) throw new RowBinaryError(`not a decimal: ${text.slice(0, 90)}`);
  const value = BigInt(text);
  if (value < low || value > high) throw new RowBinaryError(`${text} is out of the range of ${type}`);
  return value;
}

const LIMITS = {
  UInt64: [0n, 2n ** 64n - 1n],
  Int64: [-(2n ** 63n), 2n ** 63n - 1n],
  UInt128: [0n, 2n ** 128n - 1n],
  Int128: [-(2n ** 127n), 2n ** 127n - 1n],
  UInt256: [0n, 2n ** 256n - 1n],
  Int256: [-(2n ** 255n), 2n ** 255n - 1n],
} as const;
type WideType = keyof typeof LIMITS;

/**
 * Collects rows column by column. A value that does not fit throws a RowBinaryError and leaves a broken row
 * behind: drop the writer then.
 */
export class RowWriter {
  /** Rows ended with `endRow()` since the last `take()`. */
  rows = 0;
  #full: Buffer[] = [];
  #fullBytes = 0;
  #chunk: Buffer;
  #start = 0;
  #at = 0;

  /** @param newChunk where chunks come from; larger ones are always made */
  constructor(
    private readonly chunkBytes: number = CHUNK_BYTES,
    private readonly newChunk: (bytes: number) => Buffer = Buffer.allocUnsafeSlow,
  ) {
    this.#chunk = newChunk(chunkBytes);
  }

  /** Bytes written since the last `take()`. */
  get bytes(): number {
    return this.#fullBytes + this.#at - this.#start;
  }

  endRow(): void {
    this.rows++;
  }

  /** Hands over everything written so far and starts anew. The buffers are not written to any more. */
  take(): Buffer[] {
    if (this.#at > this.#start) this.#full.push(this.#chunk.subarray(this.#start, this.#at));
    const taken = this.#full;
    this.#full = [];
    this.#fullBytes = 0;
    this.#start = this.#at;
    this.rows = 0;
    return taken;
  }

  /** Makes room for n bytes, moves past them and returns where they begin in the chunk. */
  #claim(n: number): number {
    if (this.#at + n > this.#chunk.length) {
      if (this.#at > this.#start) this.#full.push(this.#chunk.subarray(this.#start, this.#at));
      this.#fullBytes += this.#at - this.#start;
      this.#chunk = n > this.chunkBytes ? Buffer.allocUnsafeSlow(n) : this.newChunk(this.chunkBytes);
      this.#start = 0;
      this.#at = 0;
    }
    const at = this.#at;
    this.#at = at + n;
    return at;
  }

  u8(value: number): void {
    if ((value & 0xff) !== value) throw new RowBinaryError(`${value} is out of the range of UInt8`);
    const at = this.#claim(1);
    this.#chunk[at] = value;
  }

  i8(value: number): void {
    if ((value << 24) >> 24 !== value) throw new RowBinaryError(`${value} is out of the range of Int8`);
    const at = this.#claim(1);
    this.#chunk[at] = value;
  }

  bool(value: boolean): void {
    const at = this.#claim(1);
    this.#chunk[at] = value ? 1 : 0;
  }

  u16(value: number): void {
    if ((value & 0xffff) !== value) throw new RowBinaryError(`${value} is out of the range of UInt16`);
    const at = this.#claim(2);
    this.#chunk[at] = value;
    this.#chunk[at + 1] = value >>> 8;
  }

  i16(value: number): void {
    if ((value << 16) >> 16 !== value) throw new RowBinaryError(`${value} is out of the range of Int16`);
    const at = this.#claim(2);
    this.#chunk[at] = value;
    this.#chunk[at + 1] = value >>> 8;
  }

  u32(value: number): void {
    if (value >>> 0 !== value) throw new RowBinaryError(`${value} is out of the range of UInt32`);
    this.#put32(this.#claim(4), value);
  }

  i32(value: number): void {
    if ((value | 0) !== value) throw new RowBinaryError(`${value} is out of the range of Int32`);
    this.#put32(this.#claim(4), value);
  }

  /** DateTime: seconds since 1970 in 32 bits. */
  dateTime(unixSeconds: number): void {
    this.u32(unixSeconds);
  }

  u64(decimal: string): void {
    this.#integer(decimal, 'UInt64', 8);
  }

  i64(decimal: string): void {
    this.#integer(decimal, 'Int64', 8);
  }

  u128(decimal: string): void {
    this.#integer(decimal, 'UInt128', 16);
  }

  i128(decimal: string): void {
    this.#integer(decimal, 'Int128', 16);
  }

  u256(decimal: string): void {
    this.#integer(decimal, 'UInt256', 32);
  }

  i256(decimal: string): void {
    this.#integer(decimal, 'Int256', 32);
  }

  /** FixedString: the bytes as they are. Give `length` where the bytes come from outside and could be others. */
  fixed(bytes: Uint8Array, length: number = bytes.length): void {
    if (bytes.length !== length) throw new RowBinaryError(`${bytes.length} bytes for a FixedString(${length})`);
    const at = this.#claim(length);
    this.#chunk.set(bytes, at);
  }

  /** String: LEB128 length, then the bytes; text goes as UTF-8. */
  string(value: Uint8Array | string): void {
    const length = typeof value === 'string' ? Buffer.byteLength(value) : value.length;
    this.#varUint(length);
    const at = this.#claim(length);
    if (typeof value === 'string') this.#chunk.write(value, at);
    else this.#chunk.set(value, at);
  }

  /** Before the value of a Nullable column; after `true` comes no value. */
  isNull(value: boolean): void {
    this.bool(value);
  }

  /** Before the elements of an Array, or the keys and values of a Map. */
  arrayLength(length: number): void {
    this.#varUint(length);
  }

  #varUint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      const at = this.#claim(1);
      this.#chunk[at] = (rest % 0x80) + 0x80;
      rest = Math.floor(rest / 0x80);
    }
    const at = this.#claim(1);
    this.#chunk[at] = rest;
  }

  #put32(at: number, value: number): void {
    const chunk = this.#chunk;
    chunk[at] = value;
    chunk[at + 1] = value >>> 8;
    chunk[at + 2] = value >>> 16;
    chunk[at + 3] = value >>> 24;
  }

  #putSmall(at: number, value: number, width: number): void {
    const high = Math.floor(value / TWO_32);
    this.#put32(at, value - high * TWO_32);
    this.#put32(at + 4, high);
    if (width > 8) this.#chunk.fill(0, at + 8, at + width);
  }

  /** Negative numbers have a sign, which is no digit, and so take the slow way. */
  #integer(decimal: string, type: WideType, width: number): void {
    if (decimal.length <= SAFE_DIGITS) {
      const value = smallDecimal(decimal, 0);
      if (value >= 0) {
        this.#putSmall(this.#claim(width), value, width);
        return;
      }
    }
    this.#wide(decimal, type, width);
  }

  #wide(decimal: string, type: WideType, width: number): void {
    const [low, high] = LIMITS[type];
    let rest = BigInt.asUintN(width * 8, bigDecimal(decimal, type, low, high));
    const at = this.#claim(width);
    for (let i = 0; i < width; i += 8) {
      this.#chunk.writeBigUInt64LE(rest & 0xffff_ffff_ffff_ffffn, at + i);
      rest >>= 64n;
    }
  }
}

/**
 * Reads rows value by value. Reading past the end throws a RowBinaryError naming the offset, as does a length
 * that cannot be. Byte values are views into the buffer.
 */
export class RowReader {
  #at = 0;

  constructor(private readonly buffer: Buffer) {}

  /** True when every byte is read: ask before each row. */
  get done(): boolean {
    return this.#at >= this.buffer.length;
  }

  #take(n: number): number {
    const at = this.#at;
    if (at + n > this.buffer.length) {
      throw new RowBinaryError(`the result ends inside a value at byte ${at} (${n} bytes wanted)`);
    }
    this.#at = at + n;
    return at;
  }

  u8(): number {
    return this.buffer[this.#take(1)];
  }

  i8(): number {
    return this.buffer.readInt8(this.#take(1));
  }

  bool(): boolean {
    return this.buffer[this.#take(1)] !== 0;
  }

  /** True: the Nullable is null and no value follows. */
  isNull(): boolean {
    return this.bool();
  }

  u16(): number {
    return this.buffer.readUInt16LE(this.#take(2));
  }

  i16(): number {
    return this.buffer.readInt16LE(this.#take(2));
  }

  u32(): number {
    return this.buffer.readUInt32LE(this.#take(4));
  }

  i32(): number {
    return this.buffer.readInt32LE(this.#take(4));
  }

  /** Seconds since 1970. */
  dateTime(): number {
    return this.u32();
  }

  u64(): string {
    const at = this.#take(8);
    const high = this.buffer.readUInt32LE(at + 4);
    if (high < 0x20_0000) return String(high * TWO_32 + this.buffer.readUInt32LE(at));
    return this.buffer.readBigUInt64LE(at).toString();
  }

  i64(): string {
    const at = this.#take(8);
    const high = this.buffer.readInt32LE(at + 4);
    if (high >= -0x20_0000 && high < 0x20_0000) return String(high * TWO_32 + this.buffer.readUInt32LE(at));
    return this.buffer.readBigInt64LE(at).toString();
  }

  u128(): string {
    return this.#wide(16, false);
  }

  i128(): string {
    return this.#wide(16, true);
  }

  u256(): string {
    return this.#wide(32, false);
  }

  i256(): string {
    return this.#wide(32, true);
  }

  fixed(length: number): Buffer {
    const at = this.#take(length);
    return this.buffer.subarray(at, at + length);
  }

  /** The bytes of a String. */
  bytes(): Buffer {
    return this.fixed(this.arrayLength());
  }

  /** A String as UTF-8 text. */
  string(): string {
    return this.bytes().toString('utf8');
  }

  arrayLength(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.buffer[this.#take(1)];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
      scale *= 0x80;
      if (scale > 0x1_0000_0000_0000) throw new RowBinaryError(`length too large at byte ${this.#at}`);
    }
    return value;
  }

  #wide(width: number, signed: boolean): string {
    const at = this.#take(width);
    let value = 0n;
    for (let i = width - 8; i >= 0; i -= 8) value = (value << 64n) | this.buffer.readBigUInt64LE(at + i);
    return (signed ? BigInt.asIntN(width * 8, value) : value).toString();
  }
}
