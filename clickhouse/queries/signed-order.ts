/** Pages of an order by balance that is kept by signed rows: each state is a row, which the next state takes back. */
import { LRUCache } from 'lru-cache';
import type { Address, Decimal } from '../../src/chain/model.ts';
import type { Page, QueryContext, Sort } from '../../src/chain/records.ts';
import type { RowReader } from '../rowbinary.ts';
import type { Columns } from '../tables/table.ts';
import { all, behind, limits } from './conditions.ts';
import { direction } from './keys.ts';
import { waiting } from './newest.ts';
import { collectInTurns, type NewestReading } from './reading.ts';

/**
 * Rows that are taken back stay until they are merged: so many more are read than the page needs, twice as many if
 * these do not do.
 */
const READ_SHARE = 1.3;
const READ_MORE = 200;

/** Pages from here on begin with a place that is remembered, where one is. */
const DEEP = 2_000;
/** Rows before the page at which a place is remembered, for its rank changes; and most rows read from one to the page. */
const AHEAD = 200;
const PASSED_OVER = 600;
const ORDERS = 32;
const PLACES = 64;

export interface SignedOrder {
  table: { name: string; columns: Columns };
  /** The column of the address, by which equal balances are in order. */
  address: string;
  sort: Record<'balance' | 'address', Sort>;
  /** SQL: conditions that are a range of the key. */
  where: readonly string[];
  /** Columns of the key before the balance. */
  within: readonly string[];
  label: string;
  readBalance(row: RowReader): Decimal;
}

export interface StandingRow {
  balance: Decimal;
  address: Address;
}

/** A row, and how many stood before it when that was last counted. */
interface Place {
  rank: number;
  row: StandingRow;
}

interface Read {
  rows: StandingRow[];
  /** Of the table, those that were taken back included. */
  total: number;
  /** How many stand before those that were read. */
  before: number;
}

/**
 * Rows that stand, in their order. What comes before a page is counted by the server: to read a hundred thousand rows in
 * their order takes it some 100 ms, to count them 10. So a deep page begins at a place that is remembered, if one is near,
 * whose rank is counted anew each time.
 */
export function createStandingRows(reading: NewestReading) {
  const places = new LRUCache<string, Place[]>({ max: ORDERS });

  /** Some rows from a place on, or from the beginning; of the table `most` are read for it. */
  async function read(order: SignedOrder, from: StandingRow | null, page: Page, most: number, context: QueryContext) {
    const { table, address, sort, within, label, readBalance } = order;
    const sorted = `balance ${direction(sort.balance)}, ${address} ${direction(sort.address)}`;
    const key = [...within.map((column) => `${column} ${direction(sort.balance)}`), sorted].join(', ');
    const before = from && behind(table, opposite(order), [from.balance, from.address]);
    const first = `SELECT balance, ${address}, sign, mc_seqno FROM ${table.name}
      WHERE ${all([...order.where, ...(before === null ? [] : [`NOT ${before}`])])} ORDER BY ${key} LIMIT ${most}`;
    const counted =
      before === null
        ? '(toInt64(0), 0)'
        : `(SELECT (toInt64(sum(sign)), max(mc_seqno)) FROM ${table.name} WHERE ${all([...order.where, before])})`;
    const sql = `WITH ${counted} AS passed
      SELECT balance, ${address}, toUInt64(total), ifNull(passed.1, 0), toUInt32(greatest(ahead, ifNull(passed.2, 0)))
      FROM (SELECT balance, ${address}, sum(sign) AS held, sum(count()) OVER () AS total, max(max(mc_seqno)) OVER () AS ahead
        FROM (${first}) GROUP BY balance, ${address})
      WHERE held > 0 ORDER BY ${sorted} ${limits(page)}`;
    return waiting<Read>(reading, context, async () => {
      const rows = await collectInTurns(await reading.rows(sql, label, context), (row) => ({
        balance: readBalance(row),
        address: row.fixed(36),
        total: Number(row.u64()),
        before: Number(row.i64()),
        ahead: row.u32(),
      }));
      const { ahead, ...told } = rows[0] ?? (await countOf(reading, first, label, context));
      return { found: { rows, total: told.total, before: told.before }, ahead };
    });
  }

  /** From a place that is remembered; null where none is near enough. */
  async function readNear(order: SignedOrder, { offset, limit }: Page, context: QueryContext) {
    const known = places.get(keyOf(order)) ?? [];
    const near = known.findLast(({ rank }) => rank <= offset && rank > offset - PASSED_OVER);
    if (near === undefined) return null;
    const page = { offset: 0, limit: PASSED_OVER + limit };
    const most = Math.ceil(page.limit * READ_SHARE) + READ_MORE;
    const { rows, total, before } = await read(order, near.row, page, most, context);
    const start = offset - before;
    // Where there are more, one more than the page has: what another row comes behind of is not cut between its rows.
    const isWhole = total < most && rows.length < page.limit;
    if (rows.length === 0 || start < 0 || (!isWhole && rows.length <= start + limit)) return null;
    const at = Math.max(0, start - AHEAD);
    if (at < rows.length) remember(order, { rank: before + at, row: rows[at] });
    return rows.slice(start, start + limit);
  }

  function remember(order: SignedOrder, place: Place): void {
    const key = keyOf(order);
    const others = (places.get(key) ?? []).filter(({ rank }) => Math.abs(rank - place.rank) >= AHEAD / 2);
    const some = others.length < PLACES ? others : others.slice(1);
    // In memory of its own: it was cut from the whole result.
    const row = { balance: place.row.balance, address: Buffer.from(place.row.address) };
    places.set(key, [...some, { rank: place.rank, row }]);
  }

  return async function standingRows(order: SignedOrder, page: Page, context: QueryContext): Promise<StandingRow[]> {
    const isDeep = page.offset >= DEEP;
    const near = isDeep ? await readNear(order, page, context) : null;
    if (near !== null) return near;
    const ahead = isDeep ? AHEAD : 0;
    const needed = page.offset + page.limit;
    const wider = { offset: page.offset - ahead, limit: page.limit + ahead + 1 };
    for (let most = Math.ceil(needed * READ_SHARE) + READ_MORE; ; most *= 2) {
      const { rows, total } = await read(order, null, wider, most, context);
      if (total >= most && rows.length < wider.limit) continue;
      if (isDeep && rows.length > 0) remember(order, { rank: wider.offset, row: rows[0] });
      return rows.slice(ahead, ahead + page.limit);
    }
  };
}

const keyOf = ({ table, where, sort }: SignedOrder): string => [table.name, sort.balance, ...where].join(' ');

const opposite = ({ address, sort }: SignedOrder) => [
  { column: 'balance', sort: turned(sort.balance) },
  { column: address, sort: turned(sort.address) },
];

const turned = (sort: Sort): Sort => (sort === 'asc' ? 'desc' : 'asc');

/** Of a page without rows. */
async function countOf(reading: NewestReading, first: string, label: string, context: QueryContext) {
  const rows = await reading.rows(`SELECT count(), max(mc_seqno) FROM (${first})`, label, context);
  return { total: Number(rows.u64()), before: 0, ahead: rows.u32() };
}
