/**
 * What a table is, told once: its columns, its key, what becomes of rows with the same key, and the other ways in.
 * From it follow how rows are written and read, what `verify` compares, how lost inserts are found, what `/status`
 * tells. The SQL stays in clickhouse/migrations and is held against the declarations (tables.test.ts).
 */
import type { RowReader, RowWriter } from '../rowbinary.ts';
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
  /** Condition in SQL on the rows that have an entry at all. Default: all. */
  where?: string;
  /** Several rows of the table may have the same key: any one of them stays. */
  shared?: boolean;
  /** Entries stay when no row has them any more, or one entry stands for several rows: who reads looks at the row. */
  stays?: boolean;
}

export interface Declared<C extends Columns, R extends RowOf<C> = RowOf<C>, P extends Columns = Columns> {
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
  /**
   * How the published step has its rows: as they are but for `mcSeqno` (the default), packed into other columns, or not
   * at all.
   */
  carried?: false | Packing<R, P>;
}

/** Rows that follow in part from the step's rows of tables before. */
export interface Packing<R, P extends Columns> {
  columns: P;
  pack(row: R): RowOf<P>;
  /** @param at place among the step's rows of the table */
  unpack(packed: RowOf<P>, step: StepRows, at: number): R;
}

/** The rows of one step. */
export interface StepRows {
  readonly mcSeqno: number;
  /** Those that have rows, as far as they are known here. */
  readonly tables: readonly Table[];
  of<R extends object>(table: TableWith<R>): readonly R[];
}

interface TableFacts extends Omit<Declared<Columns>, 'carried'> {
  readonly steps: readonly string[];
  readonly indexes: readonly Index[];
  readonly inStatus: boolean;
}

/** What is done with rows. */
interface RowsOf<R> {
  /** Writes one row in RowBinary, the columns in their order. */
  write(out: RowWriter, row: R): void;
  /** Text that is the same for rows with the same key. */
  keyOf(row: R): string;
  /** The key in SQL. */
  keyLiteral(row: R): string;
  /** Whether the later of two rows with the same key stays. */
  replaces(later: R, earlier: R): boolean;
  /** Its rows in the published step; null when it has none there. */
  readonly carried: Carried<R> | null;
}

export interface Carried<R> {
  /** As they are written, in this order. */
  readonly columns: Columns;
  write(out: RowWriter, row: R): void;
  read(rows: RowReader, step: StepRows, at: number): R;
}

/** A table of such rows, whatever its columns are. */
export interface TableWith<R> extends TableFacts, RowsOf<R> {}

/** Any table. */
export interface Table extends TableWith<object> {}

/** A table with the rows it has: besides its columns they may know more for those who use them on the way. */
export interface TableOf<C extends Columns, R extends RowOf<C> = RowOf<C>> extends TableWith<R> {
  columns: C;
}

/** A row of a table. */
export type Row<T extends Pick<Table, 'columns'>> = RowOf<T['columns']>;

/** @throws Error for a declaration that contradicts itself */
export function table<const C extends Columns, R extends RowOf<C> = RowOf<C>, const P extends Columns = Columns>(
  declared: Declared<C, R, P>,
): TableOf<C, R> {
  const { name, columns, key, indexes = [], inStatus = false } = declared;
  const steps = declared.steps ?? (columns.mcSeqno ? ['mcSeqno'] : []);
  const unknown = [...key, ...steps, ...indexes.flatMap(columnsOf)].filter((one) => !(one in columns));
  if (unknown.length > 0) throw new Error(`table ${name} has no ${unknown.join(', ')}`);
  if (steps.length === 0 && indexes.length > 0) throw new Error(`table ${name}: rows of no step cannot be indexed`);
  return {
    ...declared,
    steps,
    indexes,
    inStatus,
    carried: carriedForm(declared),
    write: writerOf(columns),
    keyOf: keyTextOf(key),
    keyLiteral: keyLiteralOf(columns, key),
    replaces: versionOrder(declared),
  };
}

function carriedForm<C extends Columns, R extends RowOf<C>, P extends Columns>({
  columns,
  carried,
}: Declared<C, R, P>): Carried<R> | null {
  if (carried === false) return null;
  if (carried === undefined) return asItIs(columns);
  const [write, read] = [writerOf(carried.columns), readerOf(carried.columns)];
  return {
    columns: carried.columns,
    write: (out, row) => write(out, carried.pack(row)),
    read: (rows, step, at) => carried.unpack(read(rows), step, at),
  };
}

/** All columns but the one that the step itself tells. */
function asItIs<C extends Columns, R extends RowOf<C>>(columns: C): Carried<R> {
  const { mcSeqno, ...others } = columns;
  const [write, read] = [writerOf(others), readerOf(others)];
  return {
    columns: others,
    write: (out, row) => write(out, row),
    // The columns of the table and nothing else: a table whose rows know more has a packing.
    read: (rows, step) => (mcSeqno ? { ...read(rows), mcSeqno: step.mcSeqno } : read(rows)) as R,
  };
}

/** Columns of the table that an index is made of. */
function columnsOf({ each, key, also }: Index): string[] {
  return [...(each?.of ?? []), ...[...key, ...also].filter((name) => name !== each?.as)];
}

/**
 * A function for these columns, compiled once: each property is read or made and each column called at a place of its own,
 * which the engine learns; one place for all columns of all tables it cannot, and of properties that are added one by one
 * it makes a hash table a row. Nothing but names of properties and numbers is in the text.
 * @param text of the function, which calls a column as `c` and its place
 */
function compiled<F>(columns: readonly unknown[], text: string): F {
  return new Function(...columns.map((_, i) => `c${i}`), `return ${text};`)(...columns);
}

function writerOf<C extends Columns>(columns: C): (out: RowWriter, row: RowOf<C>) => void {
  const cells = Object.keys(columns).map((name, i) => `c${i}.write(out, row[${JSON.stringify(name)}]);`);
  return compiled(Object.values(columns), `(out, row) => { ${cells.join(' ')} out.endRow(); }`);
}

const readers = new WeakMap<Columns, (rows: RowReader) => RowOf<Columns>>();

/** Reads a row of these columns. */
export function readerOf<C extends Columns>(columns: C): (rows: RowReader) => RowOf<C> {
  let read = readers.get(columns);
  if (read === undefined) {
    const cells = Object.keys(columns).map((name, i) => `${JSON.stringify(name)}: c${i}.read(rows)`);
    read = compiled<(rows: RowReader) => RowOf<Columns>>(Object.values(columns), `(rows) => ({ ${cells.join(', ')} })`);
    readers.set(columns, read);
  }
  return read as (rows: RowReader) => RowOf<C>;
}

/** Reads a row of some of these columns, in the order of the names. */
export function partReaderOf<C extends Columns, N extends Name<C>>(
  columns: C,
  names: readonly N[],
): (rows: RowReader) => Pick<RowOf<C>, N> {
  return readerOf(Object.fromEntries(names.map((name) => [name, columns[name]])) as Pick<C, N>) as (
    rows: RowReader,
  ) => Pick<RowOf<C>, N>;
}

/** Reads a row of these columns whose bytes are its own: it may outlive what it is read from. */
export function ownedReaderOf<C extends Columns>(columns: C): (rows: RowReader) => RowOf<C> {
  const owned = Object.entries(columns).map(([name, column]) => {
    const read = (rows: RowReader): unknown => {
      const value = column.read(rows);
      return Buffer.isBuffer(value) ? Buffer.from(value) : value;
    };
    return [name, { ...column, read }] as const;
  });
  return readerOf(Object.fromEntries(owned) as Columns) as (rows: RowReader) => RowOf<C>;
}

const textOf = (value: unknown): string => (Buffer.isBuffer(value) ? value.toString('latin1') : String(value));

function keyTextOf<C extends Columns>(key: readonly Name<C>[]): (row: RowOf<C>) => string {
  const parts = key.map((name) => `c0(row[${JSON.stringify(name)}])`);
  return compiled([textOf], `(row) => ${parts.join(" + '|' + ")}`);
}

function keyLiteralOf<C extends Columns>(columns: C, key: readonly Name<C>[]): (row: RowOf<C>) => string {
  return (row) => {
    const values = key.map((name) => columns[name].literal(row[name]));
    return values.length === 1 ? values[0] : `(${values.join(', ')})`;
  };
}

function versionOrder<C extends Columns>({
  name,
  kind,
  columns,
  version,
}: Pick<Declared<C>, 'name' | 'kind' | 'columns' | 'version'>) {
  const order = version && columns[version].order;
  if (kind === 'newest' && !order) throw new Error(`table ${name} has no version that can be compared`);
  return (later: RowOf<C>, earlier: RowOf<C>): boolean =>
    version === undefined || !order || order.compare(later[version], earlier[version]) >= 0;
}
