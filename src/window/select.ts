/** A selection turned into ranges of keys and a test of rows. All of it compares bytes: columns sort as bytes. */
import type { Plain } from '../../clickhouse/queries/conditions.ts';
import type { Ordered } from '../../clickhouse/tables/columns.ts';
import type { Sort } from '../chain/records.ts';
import { ID_BYTES } from './chunk.ts';
import type { Entry, Range } from './engine.ts';
import {
  behindPrefix,
  type Columns,
  codecOf,
  type Kind,
  type KindOf,
  type Layout,
  listPlaces,
  STEP,
  type Values,
} from './kind.ts';
import { ENOUGH, TIRED } from './merge.ts';
import { groupsOf, mergeOrdered } from './ordered.ts';
import type { View } from './view.ts';

/** A question for rows as data: which ones, in which order, from where on. */
export interface Selection {
  /** All of them hold. */
  where: readonly Plain[];
  order: readonly { column: string; sort: Sort }[];
  /** The values, by the columns of the order, that the row before the first one has; null for the beginning. */
  after: readonly unknown[] | null;
}

/** A row that a key leads to; it is read when a column is asked for that the entry does not have. */
export class Candidate {
  readonly #view: View;
  readonly #kind: Kind;
  readonly #layout: Layout;
  readonly #key: Buffer;
  readonly #value: Buffer;
  #row: Buffer | null;
  /** Where the column begins that was looked for last. */
  at = 0;

  constructor(view: View, kind: Kind, layout: Layout, { key, value, row }: Entry) {
    this.#view = view;
    this.#kind = kind;
    this.#layout = layout;
    this.#key = key;
    this.#value = value;
    this.#row = row ?? null;
  }

  /** A row that is at hand. */
  static of(view: View, kind: Kind, id: Buffer, row: Buffer): Candidate {
    return new Candidate(view, kind, NO_WAY, { key: NOTHING, value: id, row });
  }

  get id(): Buffer {
    return this.#value.subarray(0, ID_BYTES);
  }

  get row(): Buffer {
    this.#row ??= this.#view.row(this.#kind, this.id);
    return this.#row;
  }

  get mcSeqno(): number {
    return this.#value.readUInt32BE(0);
  }

  /** What holds the column, from `at` on. */
  locate(column: string): Buffer {
    const whole = this.#layout.whole.get(column);
    if (whole) {
      this.at = whole.at;
      return whole.inKey ? this.#key : this.#value;
    }
    this.at = column === STEP ? 0 : (this.#kind.offsets.get(column) ?? 0);
    if (column === STEP) return this.#value;
    if (this.at < this.row.length) return this.row;
    // Left out where it is none.
    this.at = 0;
    return NONE;
  }

  value<C extends Columns, K extends keyof C & string>(of: KindOf<C>, column: K): Values<C>[K];
  value(of: Kind, column: string): unknown {
    const bytes = this.locate(column);
    return of.columns[column].get(bytes, this.at);
  }

  /** Whether one of the values of the list, as latin1 text, is among these. */
  listHasAny(values: ReadonlySet<string>): boolean {
    const { list } = this.#kind;
    if (list === null) throw new Error(`a row of ${this.#kind.name} has no list`);
    const { name, column } = list;
    const whole = this.#layout.whole.get(name);
    // Found by one that is wanted, as a rule: then the row need not be read.
    if (whole && values.has(this.#key.toString('latin1', whole.at, whole.at + column.bytes))) return true;
    return listPlaces(this.#kind, this.row).some((at) =>
      values.has(this.row.toString('latin1', at, at + column.bytes)),
    );
  }

  /** As bytes sort: with these, from `from` on. */
  compareTo(column: string, other: Buffer, from = 0, bytes = other.length): number {
    const own = this.locate(column);
    return compareBytes(own, this.at, other, from, bytes);
  }
}

/**
 * Some bytes behind a place in each; a loop, as most differ in the first few (`Buffer.compare` with places takes 0.1
 * us).
 */
function compareBytes(a: Buffer, at: number, b: Buffer, from: number, bytes: number): number {
  for (let i = 0; i < bytes; i++) {
    const difference = a[at + i] - b[from + i];
    if (difference !== 0) return difference;
  }
  return 0;
}

const NOTHING = Buffer.alloc(0);
const NONE = Buffer.alloc(64);
const NO_WAY: Layout = {
  table: '',
  key: [],
  keyBytes: 0,
  also: [],
  valueBytes: 0,
  or: null,
  each: null,
  sole: true,
  alike: [],
  rises: null,
  whole: new Map(),
};

const LEAST = Buffer.alloc(8);
const GREATEST = Buffer.alloc(8, 0xff);
const MAX_U32 = 0xffff_ffff;
const MAX_LT = '18446744073709551615';

/** What is outside of the column's range stands for its end. */
function clamped({ bytes, get }: Ordered<unknown>, value: unknown): unknown {
  if (typeof value === 'string' && value.length >= MAX_LT.length && value > MAX_LT) return MAX_LT;
  if (typeof value !== 'number' || bytes !== 4) return value;
  return Math.min(Math.max(value, Number(get(LEAST, 0))), Number(get(GREATEST, 0) ?? MAX_U32));
}

function encode(kind: Kind, column: string, value: unknown): Buffer {
  const codec = codecOf(kind, column);
  const bytes = Buffer.alloc(codec.bytes);
  codec.put(bytes, 0, clamped(codec, value));
  return bytes;
}

type Test = (row: Candidate) => boolean;

/** Values of which the column has one, or has none; null for a range. */
function valuesOf(condition: Exclude<Plain, { any: unknown }>): { wanted: boolean; values: readonly unknown[] } | null {
  if ('is' in condition) return { wanted: true, values: [condition.is] };
  if ('isNot' in condition) return { wanted: false, values: [condition.isNot] };
  if ('in' in condition) return { wanted: true, values: condition.in };
  return 'notIn' in condition ? { wanted: false, values: condition.notIn } : null;
}

function testOf(kind: Kind, condition: Plain): Test {
  if ('any' in condition) {
    const tests = condition.any.map((one) => testOf(kind, one));
    return (row) => tests.some((test) => test(row));
  }
  const { column } = condition;
  const told = valuesOf(condition);
  if (told === null) {
    const { low, high } = boundsOf(kind, column, [condition]);
    return (row) =>
      (low === null || row.compareTo(column, low) >= 0) && (high === null || row.compareTo(column, high) <= 0);
  }
  const { wanted } = told;
  const values = told.values.map((value) => encode(kind, column, value));
  if (kind.list?.name === column) {
    const listed = new Set(values.map((value) => value.toString('latin1')));
    return (row) => row.listHasAny(listed) === wanted;
  }
  if (values.length === 1) {
    const [only] = values;
    return (row) => (row.compareTo(column, only) === 0) === wanted;
  }
  const all = new Set(values.map((value) => value.toString('latin1')));
  const { bytes } = codecOf(kind, column);
  return (row) => all.has(row.locate(column).toString('latin1', row.at, row.at + bytes)) === wanted;
}

/** Values of which the column must have one; null where any will do. */
function wantedOf(column: string, where: readonly Plain[]): readonly unknown[] | null {
  for (const condition of where) {
    if ('any' in condition || condition.column !== column) continue;
    const told = valuesOf(condition);
    if (told?.wanted) return told.values;
  }
  return null;
}

interface Bounds {
  low: Buffer | null;
  high: Buffer | null;
}

/** The least and greatest value that a column may have. */
function boundsOf(kind: Kind, column: string, where: readonly Plain[]): Bounds {
  const bounds: Bounds = { low: null, high: null };
  const between = (low: Buffer | null, high: Buffer | null): void => {
    if (low && (bounds.low === null || low.compare(bounds.low) > 0)) bounds.low = low;
    if (high && (bounds.high === null || high.compare(bounds.high) < 0)) bounds.high = high;
  };
  for (const condition of where) {
    if ('any' in condition || condition.column !== column) continue;
    const told = valuesOf(condition);
    if (told === null) {
      const { from, to } = condition as { from?: unknown; to?: unknown };
      between(
        from === undefined ? null : encode(kind, column, from),
        to === undefined ? null : encode(kind, column, to),
      );
    } else if (told.wanted && told.values.length > 0) {
      const sorted = told.values.map((value) => encode(kind, column, value)).sort(Buffer.compare);
      between(sorted[0], sorted[sorted.length - 1]);
    }
  }
  return bounds;
}

/** A place in an order. */
export type Place = readonly Buffer[];

/** A selection made ready for a kind. */
export class Selected {
  readonly #kind: Kind;
  readonly #selection: Selection;
  readonly #tests: Test[];
  readonly #enough: number;
  readonly #order: readonly { column: string; sign: number; bytes: number }[];

  /**
   * @param also what cannot be said in conditions
   * @param enough entries that are looked through for one page
   */
  constructor(kind: Kind, selection: Selection, also?: Test, enough: number = ENOUGH) {
    this.#kind = kind;
    this.#enough = enough;
    this.#selection = selection;
    this.#order = selection.order.map(({ column, sort }) => ({
      column,
      sign: sort === 'asc' ? 1 : -1,
      bytes: codecOf(kind, column).bytes,
    }));
    this.#tests = selection.where.map((condition) => testOf(kind, condition));
    if (selection.after) {
      const after = this.placeOf(selection.after);
      this.#tests.push((row) => this.compare(row, after) > 0);
    }
    if (also) this.#tests.push(also);
  }

  placeOf(values: readonly unknown[]): Place {
    return this.#order.map(({ column }, i) => encode(this.#kind, column, values[i]));
  }

  /** Below 0 when the row comes before the place. */
  compare(row: Candidate, place: Place): number {
    for (let i = 0; i < this.#order.length; i++) {
      const { column, sign } = this.#order[i];
      const found = row.compareTo(column, place[i]);
      if (found !== 0) return sign * found;
    }
    return 0;
  }

  readonly #compareRows = (a: Candidate, b: Candidate): number => {
    for (const { column, sign, bytes } of this.#order) {
      const found = a.compareTo(column, b.locate(column), b.at, bytes);
      if (found !== 0) return sign * found;
    }
    return 0;
  };

  /** The rows of the window, in their order. */
  *rows(view: View): Generator<Candidate | typeof TIRED> {
    let looked = 0;
    for (const row of this.#ordered(view)) {
      if (++looked > this.#enough) yield TIRED;
      if (row !== null) yield row;
    }
  }

  sorted(rows: readonly Candidate[]): Candidate[] {
    return rows.toSorted(this.#compareRows);
  }

  passes(row: Candidate): boolean {
    return this.#tests.every((test) => test(row));
  }

  /** Null for what was looked at and does not pass. */
  #ordered(view: View): Iterable<Candidate | null> {
    const way = this.#way();
    const { column: first, sort } = this.#selection.order[0];
    const reverse = sort === 'desc';
    const ordering = way.prefixes ? way.layout.key[1] : way.layout.key[0];
    const { low, high } = this.#bounds(ordering.column);
    const sequences = (way.prefixes ?? [NOTHING]).map((prefix) => {
      const from = low ? Buffer.concat([prefix, low]) : prefix;
      const to = high ? Buffer.concat([prefix, high]) : prefix;
      return this.#candidates(view, way.layout, { low: from, high: to.length > 0 ? behindPrefix(to) : null, reverse });
    });
    // A row is found by each value of its list.
    const once = way.layout.each !== null && sequences.length > 1 ? withoutRepeats : asTheyAre;
    if (way.prefixes && ordering.column !== first && !way.layout.alike.includes(first)) {
      return once(this.#sorted(sequences));
    }
    // Only so many of the first columns of the order are those of the keys; what is equal in them is put in order.
    const covered = way.prefixes ? this.#order.length : this.#covered(way.layout);
    if (covered < this.#order.length) return this.#grouped(sequences[0], covered);
    return sequences.length === 1 ? sequences[0] : once(this.#merged(sequences));
  }

  *#candidates(view: View, layout: Layout, range: Range): Generator<Candidate | null> {
    for (const entry of view.range(layout, range)) {
      const row = new Candidate(view, this.#kind, layout, entry);
      yield this.passes(row) ? row : null;
    }
  }

  *#sorted(sequences: readonly Iterable<Candidate | null>[]): Generator<Candidate | null> {
    const found: Candidate[] = [];
    for (const sequence of sequences) {
      for (const row of sequence) {
        if (row) found.push(row);
        // Each counts, also those that are shown at the end.
        yield null;
      }
    }
    yield* found.sort(this.#compareRows);
  }

  #grouped(sequence: Iterable<Candidate | null>, covered: number): Iterable<Candidate | null> {
    const columns = this.#order.slice(0, covered);
    const same = (a: Candidate, b: Candidate): boolean =>
      columns.every(({ column, bytes }) => a.compareTo(column, b.locate(column), b.at, bytes) === 0);
    return groupsOf(sequence, same, this.#compareRows);
  }

  #merged(sequences: readonly Iterable<Candidate | null>[]): Iterable<Candidate | null> {
    // What does not pass is next.
    const compare = (a: Candidate | null, b: Candidate | null): number =>
      a === null || b === null ? Number(a !== null) - Number(b !== null) : this.#compareRows(a, b);
    return mergeOrdered(sequences, compare);
  }

  /** How many columns of the order the keys of a way are in the order of. */
  #covered({ key }: Layout): number {
    const { order } = this.#selection;
    let count = 0;
    while (count < order.length && key[count]?.column === order[count].column && order[count].sort === order[0].sort) {
      count++;
    }
    return count;
  }

  /** By a column that the selection gives values of, in the kind's order of ways; else in the order asked for. */
  #way(): { layout: Layout; prefixes: Buffer[] | null } {
    const { where, order } = this.#selection;
    for (const layout of this.#kind.layouts) {
      const [{ column, bytes }] = layout.key;
      if (layout.sole || column === order[0].column) continue;
      const given = wantedOf(column, where);
      if (given === null) continue;
      const values = given.map((value) => encode(this.#kind, column, value).subarray(0, bytes));
      const distinct = new Map(values.map((value) => [value.toString('latin1'), value]));
      return { layout, prefixes: [...distinct.values()] };
    }
    const layout = this.#kind.layouts.find(({ key }) => key[0].column === order[0].column);
    if (!layout) throw new Error(`${this.#kind.name} has no way by ${order[0].column}`);
    return { layout, prefixes: null };
  }

  #bounds(column: string): Bounds {
    const { where, order, after } = this.#selection;
    const from = after && order[0].column === column ? after[0] : undefined;
    const cursor = from === undefined ? [] : [{ column, ...(order[0].sort === 'asc' ? { from } : { to: from }) }];
    return boundsOf(this.#kind, column, [...where, ...cursor]);
  }
}

const asTheyAre = <T>(rows: T): T => rows;

/** Of neighbours that are the same row, the first. */
function* withoutRepeats(rows: Iterable<Candidate | null>): Generator<Candidate | null> {
  let last: Buffer | null = null;
  for (const row of rows) {
    const isRepeated = row !== null && last?.equals(row.id) === true;
    if (row !== null) last = row.id;
    yield isRepeated ? null : row;
  }
}

/** The columns that grow with the steps: what each is at most below the window. */
export type Clocks = Readonly<Record<string, 'lt' | 'utime'>>;

/** True where the row is newer than all rows of the tables, by the first column of its order. */
export function aheadOf(kind: Kind, { order }: Selection, clocks: Clocks, below: View['below']): Test {
  if (below === null) return () => true;
  const [{ column }] = order;
  const last = encode(kind, column, clockValue(clocks[column], below));
  return (row) => row.compareTo(column, last) > 0;
}

function clockValue(clock: 'lt' | 'utime', below: NonNullable<View['below']>): unknown {
  return clock === 'lt' ? below.lt.toString() : below.utime;
}

/** Whether a row below the window could be among those selected. */
export function reachesBelow(
  kind: Kind,
  { where, order, after }: Selection,
  clocks: Clocks,
  below: View['below'],
): boolean {
  if (below === null) return false;
  const [first] = order;
  const cursor = after && first.sort === 'asc' ? [{ column: first.column, from: after[0] }] : [];
  return Object.entries(clocks).every(([column, clock]) => {
    const { low } = boundsOf(kind, column, [...where, ...cursor]);
    return low === null || low.compare(encode(kind, column, clockValue(clock, below))) <= 0;
  });
}
