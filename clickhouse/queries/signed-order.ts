/** Pages of an order by balance that is kept by signed rows: each state is a row, which the next state takes back. */
import type { Address } from '../../src/chain/model.ts';
import type { Page, QueryContext, Sort } from '../../src/chain/records.ts';
import type { RowReader } from '../rowbinary.ts';
import type { Table } from '../tables/table.ts';
import { all, limits } from './conditions.ts';
import { direction } from './keys.ts';
import { waiting } from './newest.ts';
import { collect, type NewestReading } from './reading.ts';

/** Rows that are taken back stay until they are merged: so many more are read than the page needs, twice as many if these do not do. */
const READ_SHARE = 1.3;
const READ_MORE = 200;

export interface SignedOrder<B> {
  table: Pick<Table, 'name'>;
  /** Column of the address, by which equal balances are in order. */
  address: string;
  sort: Record<'balance' | 'address', Sort>;
  /** SQL: conditions that are a range of the key. */
  where: readonly string[];
  /** Columns of the key before the balance. */
  within: readonly string[];
  label: string;
  readBalance(row: RowReader): B;
}

/** Rows that stand. What comes before the page is counted by the server. */
export async function standingRows<B>(
  reading: NewestReading,
  { table, address, sort, where, within, label, readBalance }: SignedOrder<B>,
  page: Page,
  context: QueryContext,
): Promise<{ balance: B; address: Address }[]> {
  const order = `balance ${direction(sort.balance)}, ${address} ${direction(sort.address)}`;
  const key = [...within.map((column) => `${column} ${direction(sort.balance)}`), order].join(', ');
  const condition = where.length === 0 ? '' : ` WHERE ${all(where)}`;
  for (let read = Math.ceil((page.offset + page.limit) * READ_SHARE) + READ_MORE; ; read *= 2) {
    const first = `SELECT balance, ${address}, sign, mc_seqno FROM ${table.name}${condition} ORDER BY ${key} LIMIT ${read}`;
    // One more than the page has: what another row comes behind of is not cut between its rows.
    const sql = `SELECT balance, ${address}, total, ahead FROM (
        SELECT balance, ${address}, sum(sign) AS held, sum(count()) OVER () AS total, max(max(mc_seqno)) OVER () AS ahead
        FROM (${first}) GROUP BY balance, ${address})
      WHERE held > 0 ORDER BY ${order} ${limits({ ...page, limit: page.limit + 1 })}`;
    const { rows, total } = await waiting(reading, context, async () => {
      const rows = collect(await reading.rows(sql, label, context), (row) => ({
        balance: readBalance(row),
        address: row.fixed(36),
        total: Number(row.u64()),
        ahead: row.u32(),
      }));
      const told = rows[0] ?? (await countOf(reading, first, label, context));
      return { found: { rows, total: told.total }, ahead: told.ahead };
    });
    if (total < read || rows.length > page.limit) return rows.slice(0, page.limit);
  }
}

/** Of a page without rows. */
async function countOf(reading: NewestReading, first: string, label: string, context: QueryContext) {
  const rows = await reading.rows(`SELECT count(), max(mc_seqno) FROM (${first})`, label, context);
  return { total: Number(rows.u64()), ahead: rows.u32() };
}
