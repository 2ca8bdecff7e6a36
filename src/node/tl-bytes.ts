/** TL's plain values as bytes: numbers little endian, byte strings with their length before them, padded to four. */
import { crc32 } from 'node:zlib';

/** Bytes that are not what the schema says, or a value that does not fit it. `path` names the place. */
export class TlError extends Error {
  constructor(reason: string, path = '') {
    super(path === '' ? reason : `${path}: ${reason}`);
    this.name = 'TlError';
  }
}

/** What decoded fields are made of before they get the types of their line. */
export type TlValue = number | bigint | boolean | string | Buffer | TlObject | TlValue[];
export interface TlObject {
  [field: string]: TlValue | undefined;
}

/**
 * Constructor id of a schema line: the number behind `#` in the name, else the CRC-32 of the line with single spaces
 * and without parentheses (TL: core.telegram.org/mtproto/TL).
 */
export function constructorId(line: string): number {
  const given = /^[\w.]+#([0-9a-f]{1,8})\s/.exec(line);
  if (given !== null) return Number.parseInt(given[1], 16);
  return crc32(line.replace(/[();]/g, '').replace(/\s+/g, ' ').trim());
}

/** Reads TL values from their first byte on; every read checks the bounds. */
export class TlReader {
  at = 0;

  constructor(readonly bytes: Buffer) {}

  get left(): number {
    return this.bytes.length - this.at;
  }

  take(size: number): number {
    const at = this.at;
    if (size > this.bytes.length - at) throw new TlError(`${size} bytes wanted, ${this.left} left`);
    this.at = at + size;
    return at;
  }

  id(): number {
    return this.bytes.readUInt32LE(this.take(4));
  }

  /** A view: a length below 254 in one byte, else `fe` and three bytes; padded to a multiple of four. */
  data(): Buffer {
    const start = this.take(1);
    let length = this.bytes[start];
    if (length === 255) throw new TlError('length of bytes begins with ff');
    let head = 1;
    if (length === 254) {
      length = this.bytes.readUIntLE(this.take(3), 3);
      head = 4;
    }
    const from = this.take(length);
    this.take((4 - ((head + length) & 3)) & 3);
    return this.bytes.subarray(from, from + length);
  }
}

const MAX_BYTES = 0xffffff;

export class TlWriter {
  #bytes = Buffer.allocUnsafe(256);
  #at = 0;

  room(size: number): number {
    const at = this.#at;
    const end = at + size;
    if (end > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(end, this.#bytes.length * 2));
      this.#bytes.copy(grown, 0, 0, at);
      this.#bytes = grown;
    }
    this.#at = end;
    return at;
  }

  int(value: number): void {
    const at = this.room(4);
    this.#bytes.writeInt32LE(value, at);
  }

  unsigned(value: number): void {
    const at = this.room(4);
    this.#bytes.writeUInt32LE(value, at);
  }

  long(value: bigint): void {
    const at = this.room(8);
    this.#bytes.writeBigInt64LE(value, at);
  }

  raw(value: Buffer): void {
    const at = this.room(value.length);
    value.copy(this.#bytes, at);
  }

  data(value: Buffer): void {
    if (value.length > MAX_BYTES) throw new TlError(`${value.length} bytes, at most ${MAX_BYTES} fit`);
    const long = value.length >= 254;
    const head = long ? 4 : 1;
    const padding = (4 - ((head + value.length) & 3)) & 3;
    const at = this.room(head + value.length + padding);
    if (long) this.#bytes.writeUInt32LE(((value.length << 8) | 254) >>> 0, at);
    else this.#bytes[at] = value.length;
    value.copy(this.#bytes, at + head);
    this.#bytes.fill(0, at + head + value.length, at + head + value.length + padding);
  }

  done(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }
}

const TRUE = constructorId('boolTrue = Bool');
const FALSE = constructorId('boolFalse = Bool');

type Reads = Record<string, (reader: TlReader) => TlValue>;
export const plainReads: Reads = {
  '#': (reader) => reader.id(),
  int: (reader) => reader.bytes.readInt32LE(reader.take(4)),
  long: (reader) => reader.bytes.readBigInt64LE(reader.take(8)),
  int256: (reader) => {
    const at = reader.take(32);
    return reader.bytes.subarray(at, at + 32);
  },
  bytes: (reader) => reader.data(),
  string: (reader) => reader.data().toString('utf8'),
  Bool: (reader) => {
    const id = reader.id();
    if (id !== TRUE && id !== FALSE) throw new TlError(`${hex(id)} is not a Bool`);
    return id === TRUE;
  },
  true: () => true,
};

export function wrong(value: TlValue | undefined, type: string): TlError {
  return new TlError(value === undefined ? `missing ${type}` : `${typeof value} does not fit ${type}`);
}

function numberIn(value: TlValue | undefined, type: string, low: number, high: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < low || value > high) throw wrong(value, type);
  return value;
}

type Writes = Record<string, (writer: TlWriter, value: TlValue | undefined) => void>;
export const plainWrites: Writes = {
  '#': (writer, value) => writer.unsigned(numberIn(value, '#', 0, 0xffffffff)),
  int: (writer, value) => writer.int(numberIn(value, 'int', -0x80000000, 0x7fffffff)),
  long: (writer, value) => {
    if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value) throw wrong(value, 'long');
    writer.long(value);
  },
  int256: (writer, value) => {
    if (!Buffer.isBuffer(value) || value.length !== 32) throw wrong(value, 'int256');
    writer.raw(value);
  },
  bytes: (writer, value) => {
    if (!Buffer.isBuffer(value)) throw wrong(value, 'bytes');
    writer.data(value);
  },
  string: (writer, value) => {
    if (typeof value !== 'string') throw wrong(value, 'string');
    writer.data(Buffer.from(value, 'utf8'));
  },
  Bool: (writer, value) => {
    if (typeof value !== 'boolean') throw wrong(value, 'Bool');
    writer.unsigned(value ? TRUE : FALSE);
  },
  true: (_writer, value) => {
    if (value === false) throw new TlError('false where the flag says true');
  },
};

export function hex(id: number): string {
  return id.toString(16).padStart(8, '0');
}
