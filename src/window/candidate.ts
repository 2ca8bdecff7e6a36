import { ID_BYTES } from './chunk.ts';
import type { Entry } from './engine.ts';
import { type Columns, type Kind, type KindOf, type Layout, listPlaces, STEP, type Values } from './kind.ts';
import type { View } from './view.ts';

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

/** Of no bytes. */
export const NOTHING = Buffer.alloc(0);
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
