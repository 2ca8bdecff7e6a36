import { compareDecimal } from '../../src/chain/decimal.ts';
import type { Hash } from '../../src/chain/model.ts';
import type { ActionFilter, ActionRecord, QueryContext, Rows } from '../../src/chain/records.ts';
import { bytes, text } from '../literal.ts';
import type { RowReader } from '../rowbinary.ts';
import { type ActionRow, actionAccounts, actions as actionTable } from '../tables/actions.ts';
import { columnNames } from '../tables/sql.ts';
import { all, behind, type Condition, limits, orderBy, type Sorted, where } from './conditions.ts';
import { addresses, HEX32, hashes, LT, makeCursor, readCursor, TIME } from './keys.ts';
import { collect, type Reading } from './reading.ts';
import { type TraceOrder, timeBound, tracedTransactions, traceOrder } from './traces.ts';

type Key = Pick<ActionRow, 'traceEndLt' | 'traceId' | 'number' | 'mcSeqno' | 'traceEndUtime' | 'type' | 'ancestors'>;

const COLUMNS = columnNames(Object.keys(actionTable.columns)).join(', ');
const KEY = 'trace_end_lt, trace_id, number';
const NUMBER = /^\d{1,5}$/;

export function actionQueries(reading: Reading) {
  return {
    async actions(filter: ActionFilter, context: QueryContext): Promise<Rows<ActionRecord>> {
      const order = traceOrder(filter);
      const conditions = await conditionsOf(reading, filter, context);
      if (conditions === null) return { rows: [], nextCursor: null };
      const keys = pageKeys(filter, order, conditions);
      const sql = `SELECT ${COLUMNS} FROM actions WHERE (${KEY}) IN (${keys}) LIMIT 1 BY ${KEY}`;
      const rows = collect(await reading.rows(sql, 'actions', context), readActionRow);
      rows.sort((a, b) => compareActions(a, b, filter, order));
      const nextCursor = nextActions(rows, filter, order);
      if (order === 'time') rows.sort((a, b) => compareByTime(a, b, filter));
      return { rows, nextCursor };
    },
  };
}

/** Those that every table of actions can tell, and those that only `actions` can; null when nothing passes. */
interface Conditions {
  any: string[];
  own: string[];
}

async function conditionsOf(reading: Reading, filter: ActionFilter, context: QueryContext): Promise<Conditions | null> {
  const { actionIds, txHashes, messageHashes, excludeAccounts } = filter;
  const head = reading.head.seqno;
  const ends: Condition<Key>[] = [{ column: 'mcSeqno', to: head }, ...actionEnds(filter)];
  const conditions: Conditions = { any: [where(actionTable, ends), ...typeConditions(filter)], own: [] };
  let { traceIds } = filter;
  if (txHashes.length > 0 || messageHashes.length > 0) {
    const found = await tracedTransactions(reading, filter, context);
    const ids = found.map(({ traceId }) => traceId);
    traceIds = traceIds.length === 0 ? ids : traceIds.filter((id) => ids.some((one) => one.equals(id)));
    if (traceIds.length === 0) return null;
    // Hashes lie one behind the other; that one is found across two of them is as likely as that two are the same.
    conditions.own.push(`arrayExists(h -> position(transactions, h) > 0, [${found.map(({ hash }) => bytes(hash))}])`);
  }
  if (traceIds.length > 0) conditions.any.push(inTraces(traceIds, head));
  if (actionIds.length > 0) {
    const keys = `SELECT trace_end_lt, number FROM actions_by_id WHERE action_id IN ${hashes(actionIds)}`;
    conditions.own.push(`(trace_end_lt, number) IN (${keys})`, `action_id IN ${hashes(actionIds)}`);
  }
  if (excludeAccounts.length > 0) {
    const keys = `SELECT ${KEY} FROM action_accounts WHERE account IN ${addresses(excludeAccounts)}`;
    conditions.any.push(`(${KEY}) NOT IN (${keys})`);
  }
  return conditions;
}

/** What a filter asks of the end of an action's trace. */
export function actionEnds({ utime, ltWindow, mcSeqno }: ActionFilter): Condition<Key>[] {
  return [
    { column: 'traceEndLt', from: ltWindow.start, to: ltWindow.end },
    { column: 'traceEndUtime', from: utime.start, to: utime.end },
    ...(mcSeqno === undefined ? [] : [{ column: 'mcSeqno', is: mcSeqno } as const]),
  ];
}

function inTraces(ids: readonly Hash[], head: number): string {
  return `(trace_end_lt, trace_id) IN (SELECT end_lt, trace_id FROM traces
    WHERE trace_id IN ${hashes(ids)} AND state = 'complete' AND mc_seqno <= ${head})`;
}

/** A composite action that the client knows stands for its parts; without it they are shown themselves. */
function typeConditions({ types, excludeTypes, supported }: ActionFilter): string[] {
  const words = (values: Iterable<string>): string => [...values].map(text).join(', ');
  const wanted = types.length > 0 ? types : supported;
  return [
    ...(wanted === null ? [] : [`type IN (${words(wanted)})`]),
    ...(excludeTypes.length > 0 ? [`type NOT IN (${words(excludeTypes)})`] : []),
    ...(supported === null ? [] : [`NOT hasAny(ancestors, [${words(supported)}])`]),
  ];
}

/** Keys of one page. */
function pageKeys(filter: ActionFilter, order: TraceOrder, { any, own }: Conditions): string {
  const { accounts, page } = filter;
  const sorted = actionOrder(filter, order);
  const place = readActionCursor(filter, order);
  const conditions = place ? [...any, behind(actionAccounts, sorted, place)] : any;
  const by = orderBy(sorted);
  const names = order === 'time' ? `${KEY}, trace_end_utime` : KEY;
  if (accounts.length === 0) {
    const from = `FROM actions WHERE ${all([...conditions, ...own])}`;
    const bound = order === 'time' ? timeBound({ from, lt: 'trace_end_lt', time: 'trace_end_utime' }, filter) : '';
    return `SELECT ${KEY} ${from}${bound} ORDER BY ${by} ${limits(page)}`;
  }
  if (own.length > 0) {
    const keys = `SELECT ${KEY} FROM action_accounts WHERE account IN ${addresses(accounts)}`;
    return `SELECT ${KEY} FROM actions WHERE ${all([...conditions, ...own])} AND (${KEY}) IN (${keys}) ORDER BY ${by} ${limits(page)}`;
  }
  // Each account's are in this order; the page is merged of as many of each as it could need.
  const enough = page.offset + page.limit;
  const each = accounts.map(
    (account) =>
      `(SELECT ${names} FROM action_accounts WHERE account = ${bytes(account)} AND ${all(conditions)}
        ORDER BY ${by} LIMIT ${enough})`,
  );
  return `SELECT ${KEY} FROM (${each.join(' UNION ALL ')}) ORDER BY ${by} LIMIT 1 BY ${KEY} ${limits(page)}`;
}

export function compareActions(a: ActionRecord, b: ActionRecord, { sort }: ActionFilter, order: TraceOrder): number {
  const byEnd = order === 'time' ? a.traceEndUtime - b.traceEndUtime : compareDecimal(a.traceEndLt, b.traceEndLt);
  return (sort === 'asc' ? 1 : -1) * (byEnd || a.traceId.compare(b.traceId) || a.number - b.number);
}

/** Inside a trace by time, where times are asked for: a page ends by `number`, which differs in what ends in one second. */
export function compareByTime(a: ActionRecord, b: ActionRecord, { sort }: ActionFilter): number {
  const sign = sort === 'asc' ? 1 : -1;
  const byTrace = a.traceEndUtime - b.traceEndUtime || a.traceId.compare(b.traceId);
  return sign * (byTrace || a.endUtime - b.endUtime || a.actionId.compare(b.actionId));
}

/** The place that a cursor of actions says: end (lt or time), trace, number. Null at the beginning. */
export function readActionCursor({ cursor }: ActionFilter, order: TraceOrder): unknown[] | null {
  if (cursor === undefined) return null;
  const found = readCursor(cursor, order, [order === 'time' ? TIME : LT, HEX32, NUMBER]);
  if (found === null) return null;
  const [end, traceId, number] = found;
  return [order === 'time' ? Number(end) : end, Buffer.from(traceId, 'hex'), Number(number)];
}

export function actionOrder({ sort }: Pick<ActionFilter, 'sort'>, order: TraceOrder): Sorted<Key>[] {
  return [
    { column: order === 'time' ? 'traceEndUtime' : 'traceEndLt', sort },
    { column: 'traceId', sort },
    { column: 'number', sort },
  ];
}

/** The cursor behind a page; null when it was the last. */
export function nextActions(rows: readonly ActionRecord[], { page }: ActionFilter, order: TraceOrder): string | null {
  const last = rows.length < page.limit ? undefined : rows[rows.length - 1];
  if (!last) return null;
  const end = order === 'time' ? String(last.traceEndUtime) : last.traceEndLt;
  return makeCursor(order, [end, last.traceId.toString('hex'), String(last.number)]);
}

function readActionRow(rows: RowReader): ActionRow {
  const row: Record<string, unknown> = {};
  for (const [name, column] of Object.entries(actionTable.columns)) row[name] = column.read(rows);
  return row as ActionRow;
}
