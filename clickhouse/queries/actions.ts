import type { ActionFilter, ActionRecord, QueryContext, Rows, Sort } from '../../src/chain/records.ts';
import { textLiteral } from '../literal.ts';
import { isTooManyRows } from '../query-error.ts';
import type { RowReader } from '../rowbinary.ts';
import { actionAccounts, actions as actionTable } from '../tables/actions.ts';
import { columnNames } from '../tables/sql.ts';
import { readerOf } from '../tables/table.ts';
import {
  type Conditions,
  conditionsOf,
  counting,
  KEY,
  KEY_COLUMNS,
  toldAgain,
  type Where,
  whereOf,
} from './action-conditions.ts';
import { actionOrder, compareActions, compareByTime, nextActions, readActionCursor } from './action-order.ts';
import { all, BY_KEY, behind, limits, orderBy, where } from './conditions.ts';
import { direction } from './keys.ts';
import { pageEnd } from './page-end.ts';
import { collect, type Reading } from './reading.ts';
import { type TraceOrder, traceOrder } from './traces.ts';

const COLUMNS = columnNames(Object.keys(actionTable.columns)).join(', ');
/** Of an action, for each account that it is found by. */
const TELLINGS = 2;
/** The server looks at the skip indexes of all that a key leaves, before it reads the first row: the larger, the longer. */
const NO_SKIPPING = 'use_skip_indexes = 0';
/** A page further down is found by reading all before it anyway. */
const BOUNDED_ROWS = 10_000;
/** For each account and each row of a page of several accounts; a granule of each table in each of a dozen parts. */
const ROWS_READ = 4096;
/** Of that many types the newest are found one by one. */
const MOST_TYPES = 8;
/** How many tellings of these are looked at for each row of a page at first, how many more then, and how often. */
const MORE_ROWS = 1.1;
const FARTHER_TYPES = 4;
const TRIES = 3;
/** How much farther, or less far, is looked from the beginning of such a page when that was not enough, or too much. */
const FARTHER = 16n;

export function actionQueries(reading: Reading) {
  return {
    async actions(filter: ActionFilter, context: QueryContext): Promise<Rows<ActionRecord>> {
      const order = traceOrder(filter);
      const conditions = await conditionsOf(reading, filter, context);
      if (conditions === null) return { rows: [], nextCursor: null };
      const { offset } = filter.page;

      /** The newest tellings of these actions. */
      async function newest(keys: string, { told, bounds }: Conditions, skips: boolean): Promise<Told[]> {
        const settings = [BY_KEY, ...bounds, ...(skips ? [] : [NO_SKIPPING])];
        const sql = `SELECT ${COLUMNS} FROM actions WHERE (${KEY}) IN (${keys}) AND mc_seqno <= ${told}
          ORDER BY ${KEY}, mc_seqno DESC LIMIT 1 BY ${KEY} SETTINGS ${settings.join(', ')}`;
        return collect(await reading.rows(sql, 'actions', context), readActionRow);
      }

      /** Whether any of what is looked at there was told again. */
      async function isToldAgain(where: Where, { bounds }: Conditions): Promise<boolean> {
        const sql = `SELECT 1 ${toldAgain(where)} LIMIT 1 SETTINGS ${[BY_KEY, ...bounds].join(', ')}`;
        return !(await reading.rows(sql, 'actions told again', context)).done;
      }

      async function page(asked: Conditions): Promise<Told[]> {
        const where = whereOf(filter, asked);
        // Those before the page are not seen.
        const isUncertain = offset > 0 && (await isToldAgain(where, asked));
        // Where nothing was told again there is one telling of each: the first that pass are the page.
        const found = isUncertain ? null : await newest(keysOfPage(filter, order, where), asked, skipsMuch(filter));
        if (found !== null && !found.some(({ isAgain }) => isAgain)) return found;
        return newest(keysOfPage(filter, order, counting(where)), asked, true);
      }

      const isMerged =
        order === 'lt' && filter.accounts.length > 1 && whereOf(filter, conditions).table === 'action_accounts';
      const found = isMerged
        ? await nearest(filter, conditions, { page, ends: () => endsOfActions(reading, context) })
        : isOfTypes(filter, order, conditions)
          ? await newestOfTypes(filter, conditions, { page, end: (sql) => endOf(reading, sql, context) })
          : await page(conditions);
      const rows = found.map(({ row }) => row);
      rows.sort((a, b) => compareActions(a, b, filter, order));
      const nextCursor = nextActions(rows, filter, order);
      if (order === 'time') rows.sort((a, b) => compareByTime(a, b, filter));
      return { rows, nextCursor };
    },
  };
}

/** Logical times, inclusive. */
type Span = { low: bigint; high: bigint };

/**
 * The page of several accounts. Their actions do not lie in the order of the page, so all that match are read and
 * sorted. Where these are too many, which the server knows before it reads them, those next to the page's beginning
 * are read alone; a sixteenth less far each time until they are few, and farther again where they do not fill the page.
 */
async function nearest(
  filter: ActionFilter,
  conditions: Conditions,
  { page, ends }: { page: (asked: Conditions) => Promise<Told[]>; ends: () => Promise<Span> },
): Promise<Told[]> {
  let rows = ROWS_READ * (filter.accounts.length + filter.page.offset + filter.page.limit);
  let span: Span | null = null;
  for (let share = 1n; ; ) {
    const part = span && partOf(span, share, filter);
    const place = part === null ? [] : [`trace_end_lt BETWEEN ${part.low} AND ${part.high}`];
    const bounds = [`max_rows_to_read = ${rows}`];
    try {
      const near = { ends: [...conditions.ends, ...place], place: [...conditions.place, ...place], bounds };
      const found = await page({ ...conditions, ...near });
      if (share === 1n || found.length >= filter.page.limit) return found;
      share /= FARTHER;
      rows *= Number(FARTHER);
    } catch (error) {
      if (!isTooManyRows(error)) throw error;
      span ??= spanOf(filter, await ends());
      if (span.high - span.low > share) share *= FARTHER;
      else rows *= Number(FARTHER);
    }
  }
}

/** Whether nothing but the types, and where it ends, says which actions are asked for. */
function isOfTypes(filter: ActionFilter, order: TraceOrder, { own, ownPlace }: Conditions): boolean {
  const { types, accounts, excludeAccounts, traceIds, txHashes, messageHashes, mcSeqno, page } = filter;
  const others = [accounts, excludeAccounts, traceIds, txHashes, messageHashes, own, ownPlace];
  return (
    order === 'lt' &&
    types.length > 0 &&
    types.length <= MOST_TYPES &&
    mcSeqno === undefined &&
    page.offset + page.limit <= BOUNDED_ROWS &&
    others.every(({ length }) => length === 0)
  );
}

/**
 * The page of some types: as many tellings of these types are looked at as the page has rows, and a few more. Where they
 * do not fill it, as some are shown by what they are a part of, or what was told again has another type now, more are.
 */
async function newestOfTypes(
  filter: ActionFilter,
  conditions: Conditions,
  { page, end }: { page: (asked: Conditions) => Promise<Told[]>; end: (sql: string) => Promise<string | null> },
): Promise<Told[]> {
  const { sort, ltWindow, types } = filter;
  const { offset, limit } = filter.page;
  const after = readActionCursor(filter, 'lt');
  const place = after === null ? undefined : String(after[0]);
  const within = where(actionTable, [
    { column: 'mcSeqno', to: conditions.told },
    { column: 'traceEndLt', from: ltWindow.start, to: ltWindow.end },
    { column: 'traceEndLt', ...(sort === 'desc' ? { to: place } : { from: place }) },
  ]);
  const named = `type IN (${types.map(textLiteral).join(', ')})`;
  const [least, sign] = sort === 'desc' ? ['min', '>='] : ['max', '<='];
  let reach = Math.ceil(MORE_ROWS * (offset + limit));
  for (let tries = 0; tries < TRIES; tries++, reach *= FARTHER_TYPES) {
    const ordered = `ORDER BY trace_end_lt ${direction(sort)} LIMIT ${reach}`;
    const each = types.map(
      (type) => `(SELECT trace_end_lt FROM actions_by_type WHERE type = ${textLiteral(type)} AND ${within} ${ordered})`,
    );
    const last = await end(`SELECT count() >= ${reach}, ${least}(trace_end_lt) FROM
      (SELECT trace_end_lt FROM (${each.join(' UNION ALL ')}) ${ordered})`);
    const bound = last === null ? [] : [`trace_end_lt ${sign} ${last}`];
    const keys = `SELECT trace_end_lt, number FROM actions_by_type WHERE ${all([named, within, ...bound])}`;
    const found = await page({
      ...conditions,
      ends: [...conditions.ends, ...bound],
      place: [...conditions.place, ...bound, `(trace_end_lt, number) IN (${keys})`],
    });
    if (last === null || found.length === limit) return found;
  }
  return page(conditions);
}

/** Where the rows that were looked for end, when there are as many. */
async function endOf(reading: Reading, sql: string, context: QueryContext): Promise<string | null> {
  const rows = await reading.rows(sql, 'newest actions of types', context);
  const areMany = rows.bool();
  const last = rows.u64();
  return areMany ? last : null;
}

/** One in `share` of the span, at the end that the page begins with. */
function partOf({ low, high }: Span, share: bigint, { sort }: ActionFilter): Span {
  const length = (high - low) / share;
  return sort === 'desc' ? { low: high - length, high } : { low, high: low + length };
}

/** Where the actions of a page lie. */
function spanOf(filter: ActionFilter, all: Span): Span {
  const { ltWindow, sort } = filter;
  const after = readActionCursor(filter, 'lt');
  const place = after === null ? undefined : String(after[0]);
  const lows = [ltWindow.start, sort === 'asc' ? place : undefined];
  const highs = [ltWindow.end, sort === 'desc' ? place : undefined];
  const low = lows.reduce((most, one) => (one !== undefined && BigInt(one) > most ? BigInt(one) : most), all.low);
  const high = highs.reduce((least, one) => (one !== undefined && BigInt(one) < least ? BigInt(one) : least), all.high);
  return low > high ? { low, high: low } : { low, high };
}

/** Of all that the tables have. */
async function endsOfActions(reading: Reading, context: QueryContext): Promise<Span> {
  const end = (sort: Sort): string =>
    `(SELECT trace_end_lt FROM actions ORDER BY trace_end_lt ${direction(sort)} LIMIT 1)`;
  const rows = await reading.rows(
    `SELECT assumeNotNull(${end('asc')}), assumeNotNull(${end('desc')})`,
    'ends of actions',
    context,
  );
  return { low: BigInt(rows.u64()), high: BigInt(rows.u64()) };
}

/** Whether the skip indexes say where nothing passes: of what all that is shown passes they do not. */
function skipsMuch({ types, mcSeqno, utime }: ActionFilter): boolean {
  return types.length > 0 || mcSeqno !== undefined || utime.start !== undefined || utime.end !== undefined;
}

/** Keys of a page of the first tellings that pass. */
function keysOfPage(filter: ActionFilter, order: TraceOrder, { table, place, telling, passesMost }: Where): string {
  const sorted = actionOrder(filter, order);
  const after = readActionCursor(filter, order);
  const cursor = after ? [behind(actionAccounts, sorted, after)] : [];
  const from = (more: readonly string[]): string =>
    `FROM ${table} WHERE ${all([...place, ...cursor, ...telling, ...more])}`;
  const { offset, limit } = filter.page;
  const repeats = { key: KEY_COLUMNS, most: TELLINGS * Math.max(1, filter.accounts.length) };
  const of = order === 'time' ? 'trace_end_utime' : 'trace_end_lt';
  // LIMIT BY has the server read ahead, which costs less than to look for the end of what is rare.
  const isBounded = order === 'time' || (passesMost && offset + limit <= BOUNDED_ROWS);
  const bounds = isBounded ? [pageEnd({ from: from([]), by: 'trace_end_lt', of, repeats }, filter)] : [];
  return `SELECT ${KEY} FROM (SELECT ${KEY}, trace_end_utime ${from(bounds)}
    ORDER BY ${orderBy(sorted)} LIMIT 1 BY ${KEY} ${limits(filter.page)})`;
}

interface Told {
  row: ActionRecord;
  /** Whether it is another telling than the first. */
  isAgain: boolean;
}

const readColumns = readerOf(actionTable.columns);

function readActionRow(rows: RowReader): Told {
  const { mcSeqno, endMcSeqno, ...row } = readColumns(rows);
  return { row: { ...row, mcSeqno: endMcSeqno }, isAgain: mcSeqno > endMcSeqno };
}
