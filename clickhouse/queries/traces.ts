import { MAX_TRANSACTIONS } from '../../src/chain/actions/classify.ts';
import { compareDecimal } from '../../src/chain/decimal.ts';
import { hashKey } from '../../src/chain/hash.ts';
import type { Hash } from '../../src/chain/model.ts';
import type { QueryContext, Rows, TraceFilter, TracePlace, TraceRecord } from '../../src/chain/records.ts';
import { bytes } from '../literal.ts';
import { columnNames } from '../tables/sql.ts';
import { type Row, readerOf } from '../tables/table.ts';
import { PLACE_BYTES, readPlace } from '../tables/trace-places.ts';
import { type TraceRow, traceAccounts, traces as traceTable } from '../tables/traces.ts';
import { all, BY_KEY, behind, type Condition, limits, orderBy, type Sorted, where } from './conditions.ts';
import { HEX32, hashes, LT, makeCursor, readCursor, TIME } from './keys.ts';
import { pageEnd } from './page-end.ts';
import { collect, type Reading } from './reading.ts';
import { messageSides } from './transactions.ts';

/** By their ends: `end_lt`, or `end_utime` where a time window is asked for; then by id. */
export type TraceOrder = 'lt' | 'time';

/** What orders and windows look at, in every table that has it. */
type Ends = Pick<Row<typeof traceAccounts>, 'endLt' | 'endUtime' | 'mcSeqno' | 'traceId'>;

const COLUMNS = columnNames(Object.keys(traceTable.columns)).join(', ');
/** Of a trace that is shown with its transactions: a step has one at least, twice until a repeated batch is merged. */
const MAX_ROWS = 2 * MAX_TRANSACTIONS;

export function traceQueries(reading: Reading) {
  /** These traces up to the head: how each stands, and the places of its transactions. */
  async function byIds(ids: string, growing: boolean, context: QueryContext): Promise<TraceRecord[]> {
    // Of those that never end all other rows are read by this column alone.
    const some = growing ? '' : ` AND (transactions <= ${MAX_TRANSACTIONS} OR state != 'pending')`;
    const sql = `SELECT ${COLUMNS} FROM traces WHERE trace_id IN ${ids} AND mc_seqno <= ${reading.head.seqno}${some}
      ORDER BY trace_id, mc_seqno DESC LIMIT ${MAX_ROWS} BY trace_id SETTINGS ${BY_KEY}`;
    return joinSteps(collect(await reading.rows(sql, 'traces', context), readerOf(traceTable.columns)));
  }

  /** The traces of transactions that are named, or that received or sent a message that is. */
  async function idsOf(filter: TraceFilter, context: QueryContext): Promise<Hash[]> {
    if (filter.txHashes.length === 0 && filter.messageHashes.length === 0) return filter.traceIds;
    const found = await tracedTransactions(reading, filter, context);
    const ids = new Map(found.map(({ traceId }) => [hashKey(traceId), traceId]));
    if (filter.traceIds.length === 0) return [...ids.values()];
    return filter.traceIds.filter((id) => ids.has(hashKey(id)));
  }

  async function named(filter: TraceFilter, order: TraceOrder, context: QueryContext): Promise<TraceRecord[]> {
    const ids = await idsOf(filter, context);
    if (ids.length === 0) return [];
    const accepts = acceptsOf(filter);
    const { account, growing = false } = filter;
    const own = account && (await idsWith(ids, account, context));
    const found = (await byIds(hashes(ids), growing, context)).filter(
      (trace) =>
        (growing || trace.state !== 'pending') &&
        accepts(trace) &&
        (own === undefined || own.has(hashKey(trace.traceId))),
    );
    return pageOfTraces(found, filter, order);
  }

  async function idsWith(ids: readonly Hash[], account: Buffer, context: QueryContext): Promise<Set<string>> {
    const sql = `SELECT trace_id FROM trace_accounts WHERE account = ${bytes(account)} AND trace_id IN ${hashes(ids)}
      AND mc_seqno <= ${reading.head.seqno}`;
    return new Set(
      collect(await reading.rows(sql, 'traces of an account', context), (rows) => hashKey(rows.fixed(32))),
    );
  }

  return {
    async traces(filter: TraceFilter, context: QueryContext): Promise<Rows<TraceRecord>> {
      const order = traceOrder(filter);
      const isNamed = [filter.traceIds, filter.txHashes, filter.messageHashes].some(({ length }) => length > 0);
      const found = isNamed
        ? await named(filter, order, context)
        : await byIds(`(${pageIds(filter, order, reading.head.seqno)})`, false, context);
      const rows = found.sort((a, b) => compareTraces(a, b, filter, order));
      return { rows, nextCursor: nextTraces(rows, filter, order) };
    },
  };
}

/** A transaction by its hash, and the trace it is part of. */
export interface Traced {
  hash: Hash;
  traceId: Hash;
}

/** The transactions with one of these hashes, and those at the ends of one of these messages; both where both are given. */
export async function tracedTransactions(
  reading: Reading,
  { txHashes, messageHashes }: Pick<TraceFilter, 'txHashes' | 'messageHashes'>,
  context: QueryContext,
): Promise<Traced[]> {
  const { seqno: head } = reading.head;
  const keys = [
    ...(txHashes.length > 0 ? [`SELECT account, lt FROM transactions_by_hash WHERE hash IN ${hashes(txHashes)}`] : []),
    ...(messageHashes.length > 0 ? [`SELECT account, lt FROM (${messageSides({ messageHashes }, head)})`] : []),
  ];
  const conditions = keys.map((key) => `(account, lt) IN (${key})`);
  const sql = `SELECT hash, trace_id FROM transactions WHERE ${all(conditions)} AND mc_seqno <= ${head}
    LIMIT 1 BY account, lt SETTINGS ${BY_KEY}`;
  const rows = await reading.rows(sql, 'traces of transactions', context);
  return collect(rows, (row) => ({ hash: row.fixed(32), traceId: row.fixed(32) }));
}

export function traceOrder({ utime }: Pick<TraceFilter, 'utime'>): TraceOrder {
  return utime.start === undefined && utime.end === undefined ? 'lt' : 'time';
}

/** What a filter asks of a trace's end. */
export function endConditions({ utime, ltWindow, mcSeqno }: TraceFilter): Condition<Ends>[] {
  return [
    { column: 'endLt', from: ltWindow.start, to: ltWindow.end },
    { column: 'endUtime', from: utime.start, to: utime.end },
    ...(mcSeqno === undefined ? [] : [{ column: 'mcSeqno', is: mcSeqno } as const]),
  ];
}

/** The ids of a page of complete traces. */
function pageIds(filter: TraceFilter, order: TraceOrder, head: number): string {
  const { account, page } = filter;
  const table = account ? 'trace_accounts' : 'traces_by_lt';
  const conditions = [
    account ? `account = ${bytes(account)}` : "state = 'complete'",
    where(traceAccounts, [{ column: 'mcSeqno', to: head }, ...endConditions(filter)]),
  ];
  const sorted = sortedTraces(filter, order);
  const place = readTraceCursor(filter, order);
  if (place) conditions.push(behind(traceAccounts, sorted, place));
  const from = `FROM ${table} WHERE ${all(conditions)}`;
  const bound = order === 'time' ? ` AND ${pageEnd({ from, by: 'end_lt', of: 'end_utime' }, filter)}` : '';
  return `SELECT trace_id ${from}${bound} ORDER BY ${orderBy(sorted)} ${limits(page)}`;
}

export function sortedTraces({ sort }: Pick<TraceFilter, 'sort'>, order: TraceOrder): Sorted<Ends>[] {
  return [
    { column: order === 'time' ? 'endUtime' : 'endLt', sort },
    { column: 'traceId', sort },
  ];
}

export function acceptsOf({ utime, ltWindow, mcSeqno }: TraceFilter): (trace: TraceRecord) => boolean {
  return ({ endLt, endUtime, mcSeqnoEnd, state }) =>
    (utime.start === undefined || endUtime >= utime.start) &&
    (utime.end === undefined || endUtime <= utime.end) &&
    (ltWindow.start === undefined || compareDecimal(endLt, ltWindow.start) >= 0) &&
    (ltWindow.end === undefined || compareDecimal(endLt, ltWindow.end) <= 0) &&
    (mcSeqno === undefined || (mcSeqnoEnd === mcSeqno && state === 'complete'));
}

export function compareTraces(a: TraceRecord, b: TraceRecord, { sort }: TraceFilter, order: TraceOrder): number {
  const byEnd = order === 'time' ? a.endUtime - b.endUtime : compareDecimal(a.endLt, b.endLt);
  return (sort === 'asc' ? 1 : -1) * (byEnd || a.traceId.compare(b.traceId));
}

export function pageOfTraces(found: TraceRecord[], filter: TraceFilter, order: TraceOrder): TraceRecord[] {
  const { offset, limit } = filter.page;
  const place = readTraceCursor(filter, order);
  const sign = filter.sort === 'asc' ? 1 : -1;
  const isBehind = ({ endLt, endUtime, traceId }: TraceRecord): boolean => {
    if (!place) return true;
    const byEnd = order === 'time' ? endUtime - Number(place[0]) : compareDecimal(endLt, String(place[0]));
    return sign * (byEnd || traceId.compare(place[1])) > 0;
  };
  return found
    .filter(isBehind)
    .sort((a, b) => compareTraces(a, b, filter, order))
    .slice(offset, offset + limit);
}

/** The place that a cursor of traces says: end (lt or time) and id. Null at the beginning. */
export function readTraceCursor({ cursor }: TraceFilter, order: TraceOrder): [number | string, Hash] | null {
  if (cursor === undefined) return null;
  const found = readCursor(cursor, order, [order === 'time' ? TIME : LT, HEX32]);
  return found && [order === 'time' ? Number(found[0]) : found[0], Buffer.from(found[1], 'hex')];
}

/** The cursor behind a page; null when it was the last. */
export function nextTraces(rows: readonly TraceRecord[], { page }: TraceFilter, order: TraceOrder): string | null {
  const last = rows.length < page.limit ? undefined : rows[rows.length - 1];
  if (!last) return null;
  return makeCursor(order, [order === 'time' ? String(last.endUtime) : last.endLt, last.traceId.toString('hex')]);
}

/**
 * Of the rows of a trace, newest first, the first tells how it stands, and each brings its transactions. Those of a trace
 * that is too large to be shown with them are nobody's concern: one that never ends has a row for each step.
 */
export function joinSteps(rows: readonly TraceRow[]): TraceRecord[] {
  const found = new Map<string, { newest: TraceRow; steps: TraceRow[] }>();
  for (const row of rows) {
    const key = hashKey(row.traceId);
    const known = found.get(key);
    if (known === undefined) found.set(key, { newest: row, steps: [row] });
    // A row that came twice and is not merged yet.
    else if (known.steps.at(-1)?.mcSeqno !== row.mcSeqno) known.steps.push(row);
  }
  return [...found.values()].map(({ newest: { mcSeqno: mcSeqnoEnd, places: _, ...trace }, steps }) => ({
    ...trace,
    mcSeqnoEnd,
    places:
      trace.transactions > MAX_TRANSACTIONS
        ? []
        : steps.reverse().flatMap(({ places, mcSeqno }) => readPlaces(places, mcSeqno)),
  }));
}

function readPlaces(places: Buffer, mcSeqno: number): TracePlace[] {
  return Array.from({ length: places.length / PLACE_BYTES }, (_, i) => {
    return { ...readPlace(places.subarray(i * PLACE_BYTES, (i + 1) * PLACE_BYTES)), mcSeqno };
  });
}
