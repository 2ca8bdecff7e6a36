/** Reading of tables that keep the newest state of each contract of a kind. */
import type { DetectedRecord } from '../../src/chain/contract-records.ts';
import type { Page, QueryContext } from '../../src/chain/records.ts';
import type { RowReader } from '../rowbinary.ts';
import { tableColumns } from '../tables/sql.ts';
import type { Columns, RowOf, TableOf } from '../tables/table.ts';
import { all, limits } from './conditions.ts';
import { collect, type NewestReading } from './reading.ts';

/** What is asked of a table. */
export interface Selection {
  conditions: readonly string[];
  order: string;
  page?: Page | null;
}

/**
 * Newest rows. The tables hold one version: a row of a step that is being written is waited for.
 *
 * @throws {HeadBehind} when the step is not there in time
 */
export async function newest<C extends Columns, R extends RowOf<C> & Pick<DetectedRecord, 'mcSeqno'>>(
  reading: NewestReading,
  table: TableOf<C, R>,
  { conditions, order, page = null }: Selection,
  context: QueryContext,
): Promise<RowOf<C>[]> {
  const paged = page === null ? '' : ` ${limits(page)}`;
  const sql = `SELECT ${tableColumns(table)} FROM ${table.name} FINAL WHERE ${all(conditions)} ORDER BY ${order}${paged}`;
  return waiting(reading, context, async () => {
    const rows = collect(await reading.rows(sql, table.name, context), readerOf(table.columns));
    return { found: rows, ahead: Math.max(0, ...rows.map((row) => Number(row.mcSeqno))) };
  });
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

export function readerOf<C extends Columns>(columns: C): (rows: RowReader) => RowOf<C> {
  const cells = Object.entries(columns);
  return (rows) => {
    const row: Record<string, unknown> = {};
    for (const [name, column] of cells) row[name] = column.read(rows);
    // Each column reads its own type.
    return row as RowOf<C>;
  };
}
