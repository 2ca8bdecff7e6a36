import {
  constructorId,
  hex,
  plainReads,
  plainWrites,
  TlError,
  type TlObject,
  TlReader,
  type TlValue,
  TlWriter,
  wrong,
} from './tl-bytes.ts';

export { constructorId, TlError } from './tl-bytes.ts';

export interface Field {
  /** camelCase. */
  name: string;
  type: string;
  vector: boolean;
  /** The field is there when bit `bit` of the number in `flags` is set. */
  flags: string | null;
  bit: number;
}

/** A schema line, taken apart. */
export interface Combinator {
  name: string;
  id: number;
  fields: readonly Field[];
  result: string;
}

function camel(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** @throws {TlError} for what is no schema line */
export function parseLine(line: string): Combinator {
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

/** Calls of a schema by name. */
export type CallTypes = { fields: object; answer: unknown };

/** One of several constructors, told apart by `kind`. */
export type AnyValue<Values> = { [N in keyof Values]: { kind: N } & Values[N] }[keyof Values];
/** One of several calls, told apart by `kind`. */
export type AnyCall<Calls extends { [N in keyof Calls]: CallTypes }> = {
  [N in keyof Calls]: { kind: N } & Calls[N]['fields'];
}[keyof Calls];

/** The codec of a schema: `Values` are the fields of its constructors, `Calls` its functions, both by name. */
export interface Tl<Values, Calls extends { [N in keyof Calls]: CallTypes }> {
  /** Id, then fields. @throws {TlError} when a value does not fit */
  encode<N extends keyof Values & string>(name: N, fields: Values[N]): Buffer;
  /** Whatever constructor the bytes begin with. @throws {TlError} */
  decode(bytes: Buffer): AnyValue<Values>;
  encodeCall<N extends keyof Calls & string>(name: N, fields: Calls[N]['fields']): Buffer;
  /** The call at the start of the bytes, and what follows it. @throws {TlError} for an unknown or malformed one */
  decodeCall(bytes: Buffer): { call: AnyCall<Calls>; rest: Buffer };
  /** Answer to a call. @throws {TlError} */
  encodeAnswer<N extends keyof Calls & string>(name: N, answer: Calls[N]['answer']): Buffer;
  /** @throws {TlError} */
  decodeAnswer<N extends keyof Calls & string>(name: N, bytes: Buffer): Calls[N]['answer'];
  /** Constructor id by name. */
  idOf(name: (keyof Values | keyof Calls) & string): number;
}

/** In a vector. Nodes give no more than some thousand of anything; of the least there are, a frame has room for millions. */
const MOST_ITEMS = 65_536;

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
    if (count > MOST_ITEMS) throw new TlError(`vector of ${count}, ${MOST_ITEMS} at most`);
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
 * lines on the way in and out; the static types are written from the same lines, which is why asserting them is sound.
 */
export function createTl<Values, Calls extends { [N in keyof Calls]: CallTypes }>(
  types: readonly string[],
  functions: readonly string[],
): Tl<Values, Calls> {
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
      return finish(reader, read(values, reader)) as AnyValue<Values>;
    },
    encodeCall: (name, fields) => encodeWith(calls, name, fields),
    decodeCall(bytes) {
      const reader = new TlReader(bytes);
      const call = read(calls, reader) as AnyCall<Calls>;
      return { call, rest: bytes.subarray(reader.at) };
    },
    encodeAnswer(name, answer) {
      const writer = new TlWriter();
      values.writeBoxed(writer, calls.get(name).result, answer as TlObject);
      return writer.done();
    },
    decodeAnswer<N extends keyof Calls & string>(name: N, bytes: Buffer) {
      const reader = new TlReader(bytes);
      return finish(reader, values.readBoxed(reader, calls.get(name).result)) as Calls[N]['answer'];
    },
    idOf: (name) => (values.byName.has(name) ? values : calls).get(name).id,
  };
}
