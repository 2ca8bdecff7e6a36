/**
 * What a table is, told once: its columns, its key, what becomes of rows with the same key, and the other ways in.
 * From it follow how rows are written and read, what `verify` compares, how lost inserts are found, what `/status`
 * tells. The SQL stays in clickhouse/migrations and is held against the declarations (tables.test.ts).
 */
import type { RowWriter } from '../rowbinary.ts';
import type { Column } from './columns.ts';

/** By property; the column of a table has the same name in snake case: `mcSeqno` is `mc_seqno`. */
export type Columns = Readonly<Record<string, Column<unknown>>>;

export type RowOf<C extends Columns> = { [K in keyof C]: C[K] extends Column<infer T> ? T : never };

type Name<C extends Columns> = keyof C & string;

/** A narrow table that a view fills, so that one insert and one deduplication token feeds them all. */
export interface Index {
  name: string;
  /** Columns of the table, or `each.as`. */
  key: readonly string[];
  also: readonly string[];
  /** An entry for each of these columns that holds a value, under one name. */
  each?: { as: string; of: readonly string[] };
  /** Several rows of the table may have the same key: any one of them stays. */
  shared?: boolean;
}

export interface Declared<C extends Columns> {
  name: string;
  columns: C;
  /** One row each: rows with the same are the same (`fact`), or the one with the greatest `version` stays. */
  key: readonly Name<C>[];
  /**
   * `fact`: written once. `newest`: of the rows with a key that with the greatest `version` stays. `pairs`: a row with
   * `sign` 1 is taken back by the same row with -1.
   */
  kind: 'fact' | 'newest' | 'pairs';
  version?: Name<C>;
  sign?: Name<C>;
  /** Columns that name a step which has written the row. Default: `mcSeqno`, where there is one. */
  steps?: readonly Name<C>[];
  /** Grows with the steps: no step has a row with less than the step before it has seen everywhere. */
  clock?: Name<C>;
  indexes?: readonly Index[];
  /** Whether its rows are counted in `/status`. */
  inStatus?: boolean;
}

/** Any table. */
export interface Table extends Declared<Columns> {
  readonly steps: readonly string[];
  readonly indexes: readonly Index[];
  readonly inStatus: boolean;
  /** Writes one row in RowBinary, the columns in their order. */
  write(out: RowWriter, row: RowOf<Columns>): void;
  /** Text that is the same for rows with the same key. */
  keyOf(row: RowOf<Columns>): string;
}

/** A table with the rows it has. */
export interface TableOf<C extends Columns> extends Table {
  columns: C;
  write(out: RowWriter, row: RowOf<C>): void;
  keyOf(row: RowOf<C>): string;
}

/** A row of a table. */
export type Row<T extends Table> = RowOf<T['columns']>;

/** @throws Error for a declaration that contradicts itself */
export function table<const C extends Columns>(declared: Declared<C>): TableOf<C> {
  const { name, columns, key, indexes = [], inStatus = false } = declared;
  const steps = declared.steps ?? (columns.mcSeqno ? ['mcSeqno'] : []);
  const unknown = [...key, ...steps, ...indexes.flatMap(columnsOf)].filter((one) => !(one in columns));
  if (unknown.length > 0) throw new Error(`table ${name} has no ${unknown.join(', ')}`);
  if (steps.length === 0 && indexes.length > 0) throw new Error(`table ${name}: rows of no step cannot be indexed`);
  return { ...declared, steps, indexes, inStatus, write: writerOf(columns), keyOf: keyTextOf(key) };
}

/** Columns of the table that an index is made of. */
function columnsOf({ each, key, also }: Index): string[] {
  return [...(each?.of ?? []), ...[...key, ...also].filter((name) => name !== each?.as)];
}

/** A closure for each column, made once. */
function writerOf<C extends Columns>(columns: C): (out: RowWriter, row: RowOf<C>) => void {
  const cells = Object.entries(columns).map(
    ([name, column]) =>
      (out: RowWriter, row: RowOf<C>): void =>
        column.write(out, row[name]),
  );
  return (out, row) => {
    for (const cell of cells) cell(out, row);
    out.endRow();
  };
}

function keyTextOf<C extends Columns>(key: readonly Name<C>[]): (row: RowOf<C>) => string {
  const part = (value: unknown): string => (Buffer.isBuffer(value) ? value.toString('latin1') : String(value));
  return (row) => {
    let text = part(row[key[0]]);
    for (let i = 1; i < key.length; i++) text += `|${part(row[key[i]])}`;
    return text;
  };
}
