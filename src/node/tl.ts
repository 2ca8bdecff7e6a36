import { crc32 } from 'node:zlib';
import type { BoxedOf, FieldsOf, NameOf, ResultOf } from './tl-types.ts';

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

interface Field {
  /** camelCase. */
  name: string;
  type: string;
  vector: boolean;
  /** The field is there when bit `bit` of the number in `flags` is set. */
  flags: string | null;
  bit: number;
}

interface Combinator {
  name: string;
  id: number;
  fields: readonly Field[];
  result: string;
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

function camel(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function parseLine(line: string): Combinator {
  const [left, result] = line.split(' = ');
  const name = /^[\w.]+/.exec(left)?.[0];
  if (name === undefined || result === undefined) throw new TlError(`not a schema line: ${line}`);
  const fields: Field[] = [];
  for (const [, field, flags, bit, vector, type] of left.matchAll(
    /(\w+):(?:(\w+)\.(\d+)\?)?(\(vector )?([\w.#]+)\)?/g,
  )) {
    fields.push({
      name: camel(field),
      type,
      vector: vector !== undefined,
      flags: flags ? camel(flags) : null,
      bit: Number(bit ?? 0),
    });
  }
  return { name, id: constructorId(line), fields, result };
}

/** Reads TL values from their first byte on; every read checks the bounds. */
class TlReader {
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

class TlWriter {
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
const plainReads: Reads = {
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

function wrong(value: TlValue | undefined, type: string): TlError {
  return new TlError(value === undefined ? `missing ${type}` : `${typeof value} does not fit ${type}`);
}

function numberIn(value: TlValue | undefined, type: string, low: number, high: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < low || value > high) throw wrong(value, type);
  return value;
}

type Writes = Record<string, (writer: TlWriter, value: TlValue | undefined) => void>;
const plainWrites: Writes = {
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

function hex(id: number): string {
  return id.toString(16).padStart(8, '0');
}

/** The codec of a schema: `Types` are lines of constructors, `Functions` lines of calls. */
export interface Tl<Types extends readonly string[], Functions extends readonly string[]> {
  /** Id, then fields. @throws {TlError} when a value does not fit */
  encode<N extends NameOf<Types[number]>>(name: N, fields: FieldsByName<N, Types, Types>): Buffer;
  /** Whatever constructor the bytes begin with. @throws {TlError} */
  decode(bytes: Buffer): AnyOf<Types[number], Types>;
  encodeCall<N extends NameOf<Functions[number]>>(name: N, fields: FieldsByName<N, Functions, Types>): Buffer;
  /** The call at the start of the bytes, and what follows it. @throws {TlError} for an unknown or malformed one */
  decodeCall(bytes: Buffer): { call: AnyOf<Functions[number], Types>; rest: Buffer };
  /** Answer to a call. @throws {TlError} */
  encodeAnswer<N extends NameOf<Functions[number]>>(name: N, answer: AnswerByName<N, Functions, Types>): Buffer;
  /** @throws {TlError} */
  decodeAnswer<N extends NameOf<Functions[number]>>(name: N, bytes: Buffer): AnswerByName<N, Functions, Types>;
  /** Constructor id by name. */
  idOf(name: NameOf<Types[number]> | NameOf<Functions[number]>): number;
}

type LineByName<Name extends string, Line extends string> = Line extends string
  ? NameOf<Line> extends Name
    ? Line
    : never
  : never;
export type FieldsByName<
  Name extends string,
  Lines extends readonly string[],
  Types extends readonly string[],
> = FieldsOf<LineByName<Name, Lines[number]>, Types>;
export type AnswerByName<
  Name extends string,
  Functions extends readonly string[],
  Types extends readonly string[],
> = BoxedOf<ResultOf<LineByName<Name, Functions[number]>>, Types>;
export type AnyOf<Line extends string, Types extends readonly string[]> = Line extends string
  ? { kind: NameOf<Line> } & FieldsOf<Line, Types>
  : never;

/** Untyped half of a codec: values in, values out, checked against the lines. */
function createCodec(lines: readonly string[]) {
  const byName = new Map<string, Combinator>();
  const byId = new Map<number, Combinator>();
  const byResult = new Map<string, Combinator[]>();
  for (const line of lines) {
    const combinator = parseLine(line);
    byName.set(combinator.name, combinator);
    byId.set(combinator.id, combinator);
    byResult.set(combinator.result, [...(byResult.get(combinator.result) ?? []), combinator]);
  }

  function get(name: string): Combinator {
    const found = byName.get(name);
    if (found === undefined) throw new TlError(`${name} is not in the schema`);
    return found;
  }

  function constructors(type: string): Combinator[] {
    const found = byResult.get(type);
    if (found === undefined) throw new TlError(`type ${type} is not in the schema`);
    return found;
  }

  function readValue(reader: TlReader, type: string): TlValue {
    const plain = plainReads[type];
    if (plain !== undefined) return plain(reader);
    const bare = byName.get(type);
    return bare !== undefined ? readFields(reader, bare) : readBoxed(reader, type);
  }

  function readBoxed(reader: TlReader, type: string): TlObject {
    const options = constructors(type);
    const id = reader.id();
    const found = options.find((option) => option.id === id);
    if (found === undefined) throw new TlError(`${hex(id)} is not ${type}`);
    const fields = readFields(reader, found);
    return options.length === 1 ? fields : { kind: found.name, ...fields };
  }

  /** Each item takes four bytes at least, so a count is checked before anything is made of it. */
  function readVector(reader: TlReader, type: string): TlValue[] {
    const count = reader.id();
    if (count > reader.left / 4) throw new TlError(`vector of ${count} in ${reader.left} bytes`);
    return Array.from({ length: count }, () => readValue(reader, type));
  }

  function readFields(reader: TlReader, { name, fields }: Combinator): TlObject {
    const out: TlObject = {};
    for (const field of fields) {
      if (!present(field, out)) continue;
      try {
        out[field.name] = field.vector ? readVector(reader, field.type) : readValue(reader, field.type);
      } catch (error) {
        throw error instanceof TlError ? new TlError(error.message, `${name}.${field.name}`) : error;
      }
    }
    return out;
  }

  function writeValue(writer: TlWriter, type: string, value: TlValue | undefined): void {
    const plain = plainWrites[type];
    const bare = byName.get(type);
    if (plain !== undefined) plain(writer, value);
    else if (bare !== undefined) writeFields(writer, bare, asObject(value, type));
    else writeBoxed(writer, type, asObject(value, type));
  }

  function writeBoxed(writer: TlWriter, type: string, value: TlObject): void {
    const options = constructors(type);
    const found = options.length === 1 ? options[0] : options.find((option) => option.name === value.kind);
    if (found === undefined) throw new TlError(`kind ${String(value.kind)} is not ${type}`);
    writer.unsigned(found.id);
    writeFields(writer, found, value);
  }

  function writeVector(writer: TlWriter, type: string, value: TlValue | undefined): void {
    if (!Array.isArray(value)) throw wrong(value, `vector ${type}`);
    writer.unsigned(value.length);
    for (const item of value) writeValue(writer, type, item);
  }

  function writeFields(writer: TlWriter, { name, fields }: Combinator, values: TlObject): void {
    for (const field of fields) {
      const value = values[field.name];
      try {
        if (!present(field, values)) {
          if (value !== undefined && value !== false)
            throw new TlError(`bit ${field.bit} of ${field.flags} is not set`);
        } else if (field.vector) writeVector(writer, field.type, value);
        else writeValue(writer, field.type, value);
      } catch (error) {
        throw error instanceof TlError ? new TlError(error.message, `${name}.${field.name}`) : error;
      }
    }
  }

  return { byId, byName, get, readFields, readBoxed, writeFields, writeBoxed };
}

function present(field: Field, values: TlObject): boolean {
  if (field.flags === null) return true;
  const flags = values[field.flags];
  return typeof flags === 'number' && (flags & (1 << field.bit)) !== 0;
}

function asObject(value: TlValue | undefined, type: string): TlObject {
  if (typeof value !== 'object' || Array.isArray(value) || Buffer.isBuffer(value)) throw wrong(value, type);
  return value;
}

function finish<T>(reader: TlReader, value: T): T {
  if (reader.left > 0) throw new TlError(`${reader.left} bytes after the value`);
  return value;
}

/**
 * Makes the codec of a schema. Byte strings come out as views into the bytes given in. Values are checked against the
 * lines on the way in and out; the static types are read off the same lines, which is why asserting them is sound.
 */
export function createTl<const Types extends readonly string[], const Functions extends readonly string[]>(
  types: Types,
  functions: Functions,
): Tl<Types, Functions> {
  const values = createCodec(types);
  const calls = createCodec(functions);

  function encodeWith(codec: typeof values, name: string, fields: unknown): Buffer {
    const combinator = codec.get(name);
    const writer = new TlWriter();
    writer.unsigned(combinator.id);
    values.writeFields(writer, combinator, fields as TlObject);
    return writer.done();
  }

  function read(codec: typeof values, reader: TlReader): TlObject {
    const id = reader.id();
    const combinator = codec.byId.get(id);
    if (combinator === undefined) throw new TlError(`unknown constructor ${hex(id)}`);
    return { kind: combinator.name, ...values.readFields(reader, combinator) };
  }

  return {
    encode: (name, fields) => encodeWith(values, name, fields),
    decode(bytes) {
      const reader = new TlReader(bytes);
      return finish(reader, read(values, reader)) as AnyOf<Types[number], Types>;
    },
    encodeCall: (name, fields) => encodeWith(calls, name, fields),
    decodeCall(bytes) {
      const reader = new TlReader(bytes);
      const call = read(calls, reader) as AnyOf<Functions[number], Types>;
      return { call, rest: bytes.subarray(reader.at) };
    },
    encodeAnswer(name, answer) {
      const writer = new TlWriter();
      values.writeBoxed(writer, calls.get(name).result, answer as TlObject);
      return writer.done();
    },
    decodeAnswer<N extends NameOf<Functions[number]>>(name: N, bytes: Buffer) {
      const reader = new TlReader(bytes);
      return finish(reader, values.readBoxed(reader, calls.get(name).result)) as AnswerByName<N, Functions, Types>;
    },
    idOf: (name) => (values.byName.has(name) ? values : calls).get(name).id,
  };
}
