/**
 * What the window keeps: kinds of rows, each declared once. A row is the values of its columns, always as many bytes
 * each, which sort as the values do, and the rest behind them. So keys are cut out of rows, and nothing is decoded to
 * find, to filter or to take out a row.
 *
 * The rows that a step writes lie together in chunks; a row is known by its step, chunk and place (`chunk.ts`). Each way
 * to a row is a table of keys that lead to its id.
 */
import type { Column, Ordered } from '../../clickhouse/tables/columns.ts';
import { u32 } from '../../clickhouse/tables/columns.ts';
import { ID_BYTES } from './chunk.ts';
import type { Packing, TableOptions } from './engine.ts';

export type Columns = Readonly<Record<string, Ordered<unknown>>>;
export type Values<C extends Columns> = { [K in keyof C]: C[K] extends Ordered<infer T> ? T : never };
type Name<C extends Columns> = keyof C & string;

/** Of a column, no more than so many bytes: what two rows share that are not the same is told apart by the row. */
type Part<C extends Columns> = Name<C> | readonly [Name<C>, number];

export interface Way<C extends Columns> {
  name: string;
  /** Ends with columns that make it one of its own; none of them changes while the row is replaced by newer ones. */
  key: readonly Part<C>[];
  /** Columns beside the id, to filter by without the row. */
  also?: readonly Name<C>[];
  /** It leads to one row, and lists none. */
  sole?: boolean;
  /** Columns that rise along the second column of the key, where the first is the same. */
  alike?: readonly Name<C>[];
  /** Entries for this column too, in place of the first of the key, where it holds a value. */
  or?: Name<C>;
  /** An entry for each value of the kind's list: with that the key begins. */
  each?: boolean;
  /** The first column of the key rises with the steps, as lt or time of their blocks do. */
  rises?: Clock;
}

export type Clock = 'lt' | 'utime';

export interface Declared<C extends Columns> {
  name: string;
  columns: C;
  /** Values of which a row has any number. */
  list?: List;
  /** The way of the key: one row for each. Without one, rows are found by their step alone. */
  key?: Way<C>;
  ways?: readonly Way<C>[];
  /** Of the rows with one key that with the greatest value stays: the first column beside the key. */
  newest?: Name<C>;
  /**
   * Rows that a later step may write anew, all of those together that share the first column of this way; the way of the
   * key leads to the newest.
   */
  together?: string;
  /** How chunks are packed; they are not unless given. */
  packing?: Packing;
  chunkBytes?: number;
}

/** What ways may begin with besides columns: accounts that a row is found by, say. */
export interface List {
  name: string;
  column: Ordered<unknown>;
}

/** What one page of the engine takes as a value. */
const PAGE_BYTES = 4_080;

/** A column that the step of a row stands for. */
export const STEP = 'mcSeqno';

/** The bytes of a column in keys. */
export function ordered<T>(column: Column<T>): Ordered<T> {
  if (!column.order) throw new Error(`${column.type} has no order`);
  return column.order;
}

/** A small number. */
export const byte: Ordered<number> = {
  bytes: 1,
  put: (out, at, value) => out.writeUInt8(value, at),
  get: (key, at) => key[at],
  compare: (a, b) => a - b,
};

export const u16: Ordered<number> = {
  bytes: 2,
  put: (out, at, value) => out.writeUInt16BE(value, at),
  get: (key, at) => key.readUInt16BE(at),
  compare: (a, b) => a - b,
};

export const orNull: Ordered<number | null> = {
  bytes: 5,
  put(out, at, value) {
    out[at] = value === null ? 0 : 1;
    out.writeUInt32BE(value ?? 0, at + 1);
  },
  get: (key, at) => (key[at] === 0 ? null : key.readUInt32BE(at + 1)),
  compare: (a, b) => (a ?? -1) - (b ?? -1),
};

export function fixedBytes(bytes: number): Ordered<Buffer> {
  return {
    bytes,
    put: (out, at, value) => out.set(value, at),
    get: (key, at) => key.subarray(at, at + bytes),
    compare: (a, b) => a.compare(b),
  };
}

/** Where a column stands in a row, a key or the value beside it. */
interface Slot {
  column: string;
  /** In the row. */
  from: number;
  /** In the key or value. */
  at: number;
  bytes: number;
}

/** A way as it is laid out. */
export interface Layout {
  table: string;
  key: readonly Slot[];
  keyBytes: number;
  also: readonly Slot[];
  valueBytes: number;
  or: number | null;
  /** Where the count of the list's values is in the row. */
  each: number | null;
  sole: boolean;
  alike: readonly string[];
  rises: Clock | null;
  /** Columns that stand whole in the entry: in the key, or behind the id. */
  whole: ReadonlyMap<string, { inKey: boolean; at: number }>;
}

/** Any kind. */
export interface Kind {
  readonly name: string;
  readonly columns: Columns;
  readonly list: List | null;
  readonly newest: string | null;
  /** The way of those that are written anew together. */
  readonly together: Layout | null;
  readonly packing: Packing | null;
  readonly chunkBytes: number;
  /** The table of the rows. */
  readonly table: string;
  /** The way of the key first. */
  readonly layouts: readonly Layout[];
  readonly offsets: ReadonlyMap<string, number>;
  readonly headBytes: number;
}

/** A kind with the columns it has. */
export interface KindOf<C extends Columns> extends Kind {
  readonly columns: C;
}

export function kind<const C extends Columns>(declared: Declared<C>): KindOf<C> {
  const offsets = new Map<string, number>();
  let headBytes = 0;
  for (const [name, { bytes }] of Object.entries(declared.columns)) {
    offsets.set(name, headBytes);
    headBytes += bytes;
  }
  const slots = (parts: readonly Part<C>[], start: number): Slot[] => {
    let at = start;
    return parts.map((part) => {
      const [column, most] = typeof part === 'string' ? [part, Number.POSITIVE_INFINITY] : part;
      const bytes = Math.min(most, declared.columns[column].bytes);
      at += bytes;
      return { column, from: offsets.get(column) ?? 0, at: at - bytes, bytes };
    });
  };
  const listSlot = ({ name, column }: List): Slot => ({ column: name, from: 0, at: 0, bytes: column.bytes });
  const layoutOf = (way: Way<C>): Layout => {
    const first = way.each && declared.list ? [listSlot(declared.list)] : [];
    const key = [...first, ...slots(way.key, first[0]?.bytes ?? 0)];
    const also = slots(way.also ?? [], ID_BYTES);
    const isWhole = ({ column, bytes }: Slot): boolean =>
      column === declared.list?.name || bytes === declared.columns[column].bytes;
    const whole = new Map(
      [...key.map((slot) => ({ slot, inKey: true })), ...also.map((slot) => ({ slot, inKey: false }))]
        .filter(({ slot }) => isWhole(slot) && (way.or === undefined || slot !== key[0]))
        .map(({ slot, inKey }) => [slot.column, { inKey, at: slot.at }]),
    );
    const end = (all: readonly Slot[], start: number): number => all.reduce((sum, { bytes }) => sum + bytes, start);
    return {
      table: `${declared.name}.${way.name}`,
      key,
      keyBytes: end(key, 0),
      also,
      valueBytes: end(also, ID_BYTES),
      or: way.or === undefined ? null : (offsets.get(way.or) ?? null),
      each: way.each ? headBytes : null,
      sole: way.sole ?? false,
      alike: way.alike ?? [],
      rises: way.rises ?? null,
      whole,
    };
  };
  const ways = [...(declared.key ? [declared.key] : []), ...(declared.ways ?? [])];
  const layouts = ways.map(layoutOf);
  return {
    name: declared.name,
    columns: declared.columns,
    list: declared.list ?? null,
    newest: declared.newest ?? null,
    together: layouts[ways.findIndex(({ name }) => name === declared.together)] ?? null,
    packing: declared.packing ?? null,
    chunkBytes: declared.chunkBytes ?? PAGE_BYTES,
    table: declared.name,
    layouts,
    offsets,
    headBytes,
  };
}

export function tablesOf(kinds: readonly Kind[]): TableOptions[] {
  return kinds.flatMap((one) => [chunkTable(one), ...one.layouts.map(({ table }) => ({ name: table }))]);
}

/** Of the rows of a kind. */
export function chunkTable({ table, packing }: Kind): TableOptions {
  return { name: table, ...(packing ? { packing } : {}) };
}

/** A row: its columns, then the rest. A last column of zeros is left out where nothing follows. */
export function encodeRow<C extends Columns>(of: KindOf<C>, values: Values<C>, rest: readonly Buffer[] = []): Buffer {
  if (of.list) throw new Error(`a row of ${of.name} has a list`);
  return encode(of, values, rest);
}

const COUNT_BYTES = 4;

/** The same of a kind with a list: its values are between the columns and the rest. */
export function encodeListing<C extends Columns>(
  of: KindOf<C>,
  values: Values<C>,
  list: readonly unknown[],
  rest: readonly Buffer[] = [],
): Buffer {
  if (!of.list) throw new Error(`a row of ${of.name} has no list`);
  const { column } = of.list;
  const bytes = Buffer.allocUnsafe(COUNT_BYTES + column.bytes * list.length);
  bytes.writeUInt32BE(list.length);
  for (const [i, value] of list.entries()) column.put(bytes, COUNT_BYTES + column.bytes * i, value);
  return encode(of, values, [bytes, ...rest]);
}

function encode<C extends Columns>(of: KindOf<C>, values: Values<C>, rest: readonly Buffer[]): Buffer {
  const length = rest.reduce((sum, part) => sum + part.length, of.headBytes);
  const row = Buffer.allocUnsafe(length);
  let at = 0;
  let last = 0;
  for (const name in of.columns) {
    const column = of.columns[name];
    column.put(row, at, values[name]);
    last = at;
    at += column.bytes;
  }
  for (const part of rest) at += part.copy(row, at);
  return rest.length === 0 && isZero(row, last, length) ? row.subarray(0, last) : row;
}

function isZero(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at] !== 0) return false;
  return true;
}

const ZEROS = Buffer.alloc(64);

/** The value of a column of a row. */
export function columnOf<C extends Columns, K extends Name<C>>(of: KindOf<C>, row: Buffer, name: K): Values<C>[K];
export function columnOf(of: Kind, row: Buffer, name: string): unknown {
  const at = of.offsets.get(name) ?? 0;
  return at >= row.length ? of.columns[name].get(ZEROS, 0) : of.columns[name].get(row, at);
}

/** What is behind the columns, and the list where there is one. */
export function restOf(of: Kind, row: Buffer): Buffer {
  if (of.list === null) return row.subarray(of.headBytes);
  return row.subarray(of.headBytes + COUNT_BYTES + of.list.column.bytes * row.readUInt32BE(of.headBytes));
}

/** Where the values of the list begin in a row. */
export function listPlaces(of: Kind, row: Buffer): number[] {
  if (of.list === null) throw new Error(`a row of ${of.name} has no list`);
  const { bytes } = of.list.column;
  return Array.from({ length: row.readUInt32BE(of.headBytes) }, (_, i) => of.headBytes + COUNT_BYTES + bytes * i);
}

/** How the values of a column, or of the list, are written. */
export function codecOf({ columns, list }: Kind, column: string): Ordered<unknown> {
  if (column === STEP) return u32.order;
  return list?.name === column ? list.column : columns[column];
}

/** The keys of a row on this way: one, two where the other column holds a value, or one for each value of the list. */
export function keysOf(layout: Layout, row: Buffer): Buffer[] {
  if (layout.each !== null) {
    const [{ bytes }] = layout.key;
    const first = layout.each + COUNT_BYTES;
    return Array.from({ length: row.readUInt32BE(layout.each) }, (_, i) => keyOf(layout, row, first + bytes * i));
  }
  const own = keyOf(layout, row, layout.key[0].from);
  if (layout.or === null || layout.or >= row.length || isZero(row, layout.or, layout.or + layout.key[0].bytes)) {
    return [own];
  }
  return [own, keyOf(layout, row, layout.or)];
}

function keyOf({ key, keyBytes }: Layout, row: Buffer, first: number): Buffer {
  const bytes = Buffer.allocUnsafe(keyBytes);
  for (const slot of key) {
    const from = slot === key[0] ? first : slot.from;
    row.copy(bytes, slot.at, from, from + slot.bytes);
  }
  return bytes;
}

/** What a row shares with those that come with it on this way: the first column of its key. */
export function groupOf({ key: [{ from, bytes }] }: Layout, row: Buffer): Buffer {
  return row.subarray(from, from + bytes);
}

/** What a key leads to: the id, then the columns beside it. */
export function entryValue({ also, valueBytes }: Layout, row: Buffer, id: Buffer): Buffer {
  if (also.length === 0) return id;
  const value = Buffer.allocUnsafe(valueBytes);
  id.copy(value);
  for (const { from, at, bytes } of also) row.copy(value, at, from, from + bytes);
  return value;
}

/** The first columns of a key; as many values as are known. */
export function keyPrefix(of: Kind, layout: Layout, values: readonly unknown[]): Buffer {
  const parts = layout.key.slice(0, values.length).map(({ column, bytes }, i) => {
    const codec = codecOf(of, column);
    const whole = Buffer.allocUnsafe(codec.bytes);
    codec.put(whole, 0, values[i]);
    return whole.subarray(0, bytes);
  });
  return parts.length === 1 ? parts[0] : Buffer.concat(parts);
}

/** The way with this name. */
export function layoutOf(of: Kind, name: string): Layout {
  const found = of.layouts.find(({ table }) => table === `${of.name}.${name}`);
  if (!found) throw new Error(`${of.name} has no way ${name}`);
  return found;
}

/** The key right behind all keys with this prefix; null when there is none. */
export function behindPrefix(prefix: Buffer): Buffer | null {
  const key = Buffer.from(prefix);
  for (let i = key.length - 1; i >= 0; i--) {
    if (key[i] < 0xff) {
      key[i]++;
      return key.subarray(0, i + 1);
    }
  }
  return null;
}
