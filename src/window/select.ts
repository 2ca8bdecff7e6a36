/** A selection turned into ranges of keys and a test of rows. */
import type { Plain } from '../../clickhouse/queries/conditions.ts';
import type { Sort } from '../chain/records.ts';
import { Candidate, NOTHING } from './candidate.ts';
import { type Bounds, boundsOf, encode, type Test, testOf, wantedOf } from './conditions.ts';
import type { Range } from './engine.ts';
import { behindPrefix, codecOf, type Kind, type Layout } from './kind.ts';
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
