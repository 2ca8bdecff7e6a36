/** Reading of tables that keep the newest state of each contract of a kind. */
import type { DetectedRecord } from '../../src/chain/contract-records.ts';
import type { Page, QueryContext } from '../../src/chain/records.ts';
import { RowReader } from '../rowbinary.ts';
import { columnNames, tableColumns } from '../tables/sql.ts';
import { type Columns, type RowOf, readerOf, type Table, type TableOf } from '../tables/table.ts';
import { all, limits } from './conditions.ts';
import { collect, type NewestReading } from './reading.ts';

/** What is asked of a table. */
export interface Selection {
  conditions: readonly string[];
  order: string;
  page?: Page | null;
  /** A query in place of the table: its rows as of a step that the tables hold. */
  from?: string | undefined;
}

/**
 * Newest rows. The tables hold one version: a row of a step that is being written is waited for.
 *
 * @throws {HeadBehind} when the step is not there in time
 */
export async function newest<C extends Columns, R extends RowOf<C> & Pick<DetectedRecord, 'mcSeqno'>>(
  reading: NewestReading,
  table: TableOf<C, R>,
  { conditions, order, page = null, from = `${table.name} FINAL` }: Selection,
  context: QueryContext,
): Promise<RowOf<C>[]> {
  const paged = page === null ? '' : ` ${limits(page)}`;
  const sql = `SELECT ${tableColumns(table)} FROM ${from} WHERE ${all(conditions)} ORDER BY ${order}${paged}`;
  return waiting(reading, context, async () => {
    const rows = collect(await reading.rows(sql, table.name, context), readerOf(table.columns));
    return { found: rows, ahead: Math.max(0, ...rows.map((row) => Number(row.mcSeqno))) };
  });
}

/** Rows of one table, asked for beside those of others. */
export interface Part<R> {
  table: Pick<Table, 'name' | 'columns'>;
  /** None are asked for where it is null. */
  condition: string | null;
  read(row: RowReader): R;
}

export function part<C extends Columns, R extends RowOf<C> & Pick<DetectedRecord, 'mcSeqno'>>(
  table: TableOf<C, R>,
  condition: string | null,
): Part<RowOf<C>> {
  return { table, condition, read: readerOf(table.columns) };
}

/**
 * Newest rows of several tables in one statement. Each row comes as bytes of its own, for the columns differ.
 *
 * @throws {HeadBehind} when the step is not there in time
 */
export async function newestOf<const T extends readonly Part<unknown>[]>(
  reading: NewestReading,
  parts: T,
  label: string,
  context: QueryContext,
): Promise<{ [K in keyof T]: T[K] extends Part<infer R> ? R[] : never }> {
  const asked = parts.flatMap(({ table: { name, columns }, condition }, i) => {
    if (condition === null) return [];
    const row = `formatRow('RowBinary', ${columnNames(Object.keys(columns)).join(', ')})`;
    return [`SELECT ${i}, mc_seqno, ${row} FROM ${name} FINAL WHERE ${condition}`];
  });
  const ask = async () => {
    const found = parts.map((): unknown[] => []);
    let ahead = 0;
    if (asked.length === 0) return { found, ahead };
    const rows = await reading.rows(asked.join(' UNION ALL '), label, context);
    while (!rows.done) {
      const i = rows.u8();
      ahead = Math.max(ahead, rows.u32());
      found[i].push(parts[i].read(new RowReader(rows.bytes())));
    }
    return { found, ahead };
  };
  // Each part reads its own rows.
  return (await waiting(reading, context, ask)) as { [K in keyof T]: T[K] extends Part<infer R> ? R[] : never };
}

/** Asks again until nothing is seen of steps that the tables do not hold in full. */
export async function waiting<T>(
  { head }: NewestReading,
  { timeoutMs, signal }: QueryContext,
  ask: () => Promise<{ found: T; ahead: number }>,
): Promise<T> {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    const { found, ahead } = await ask();
    if (ahead <= head.inTables) return found;
    await head.reach(ahead, Math.max(0, giveUpAt - performance.now()), signal);
  }
}
