import { z } from 'zod';
import { MAX_TRANSACTIONS } from '../../chain/actions/classify.ts';
import { compareDecimal } from '../../chain/decimal.ts';
import { hashKey } from '../../chain/hash.ts';
import {
  type ActionRecord,
  ANY_ACTION,
  type TraceFilter,
  type TraceRecord,
  type TransactionRecord,
} from '../../chain/records.ts';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { supportedTypesOf } from './actions.ts';
import { address, flag } from './parameters.ts';
import { actionJson } from './render/action.ts';
import { joinRows } from './render/rows.ts';
import { traceJson } from './render/trace.ts';
import { type Asked, nextCursor, type Route, route } from './route.ts';
import { events, traces } from './schemas.ts';
import { traceFilter, traceParameters } from './trace-parameters.ts';
import { requireMasterchainBlock } from './transactions.ts';

/** Of one answer: traces behind these many come without theirs. */
const MAX_TRANSACTIONS_SHOWN = 20_000;
/** Of one query. */
const PLACES_AT_ONCE = 2_000;
/** More than the transactions of an answer make. */
const MAX_ACTIONS_SHOWN = 10 * MAX_TRANSACTIONS_SHOWN;

const filters = (limits: ApiLimits) => ({
  account: address('Account of a transaction of the trace.'),
  ...traceParameters(limits),
});

export function tracesRoute(limits: ApiLimits): Route {
  return route({
    path: '/traces',
    tag: 'actions',
    summary: 'Traces by account, transaction, message, block or time',
    parameters: z.object({ ...filters(limits), include_actions: flag('Add the actions of each trace.') }),
    response: traces,
    tagged: ['trace_id', 'tx_hash', 'msg_hash'],
    answer: (p, asked) => answer('traces', p, p.include_actions ?? false, asked),
  });
}

/** The former name, always with actions. */
export function eventsRoute(limits: ApiLimits): Route {
  return route({
    path: '/events',
    tag: 'actions',
    summary: 'Former name of /traces, always with actions',
    parameters: z.object(filters(limits)),
    response: events,
    tagged: ['trace_id', 'tx_hash', 'msg_hash'],
    answer: (p, asked) => answer('events', p, true, asked),
  });
}

type Sent = z.output<z.ZodObject<ReturnType<typeof filters>>>;

async function answer(name: string, p: Sent, withActions: boolean, asked: Asked): Promise<Buffer> {
  const lists = [p.trace_id, p.tx_hash, p.msg_hash].filter(({ length }) => length > 0);
  if (lists.length + (p.account === undefined ? 0 : 1) > 1) {
    throw new ApiError(422, 'only one of account, trace_id, tx_hash, msg_hash should be specified');
  }
  if (p.mc_seqno !== undefined) await requireMasterchainBlock(p.mc_seqno, asked);
  const filter: TraceFilter = { ...traceFilter(p), account: p.account };
  const { source, context, addressBook, metadata } = asked;
  const { rows, nextCursor: next } = await source.traces(filter, context);
  const list = await traceList(rows, withActions ? supportedTypesOf(p.supported_action_types, asked) : null, asked);
  const extras = nextCursor(p.cursor, next);
  return joinRows(
    `{"${name}":[`,
    list,
    `],"address_book":${await addressBook()},"metadata":${await metadata()}${extras}}`,
  );
}

/** JSON of traces with their transactions, and with the actions of types that the client knows unless that is null. */
export async function traceList(
  rows: readonly TraceRecord[],
  supported: ReadonlySet<string> | null,
  asked: Asked,
): Promise<Buffer[]> {
  const { book, renderings } = asked;
  const shown = shownOf(rows);
  const withActions = supported === null ? [] : rows.filter((_, i) => shown[i]);
  const [bodies, actions] = await Promise.all([
    transactionsOf(rows, shown, asked),
    supported && actionsOf(withActions, supported, asked),
  ]);
  return rows.map((trace, i) => {
    const own = actions && (actions.get(hashKey(trace.traceId)) ?? []);
    const told = own?.map((action) => actionJson(action, book, { accounts: false }));
    return traceJson(trace, { transactions: bodies[i], actions: told ?? null }, book, renderings);
  });
}

/** One trace by its id, a transaction or a message, one that still grows only if asked for; null when there is none. */
export async function findTrace(
  named: Partial<Pick<TraceFilter, 'traceIds' | 'txHashes' | 'messageHashes' | 'growing'>>,
  { source, context }: Pick<Asked, 'source' | 'context'>,
): Promise<TraceRecord | null> {
  const anywhere = { utime: {}, ltWindow: {}, sort: 'desc' as const, page: { limit: 1, offset: 0 } };
  const { rows } = await source.traces(
    { traceIds: [], txHashes: [], messageHashes: [], ...named, ...anywhere },
    context,
  );
  return rows[0] ?? null;
}

/** Its transactions by lt and account; null when they are too many. */
export async function transactionsOfTrace(
  trace: TraceRecord,
  asked: Asked,
): Promise<readonly TransactionRecord[] | null> {
  const [transactions] = await transactionsOf([trace], shownOf([trace]), asked);
  return transactions;
}

/** Which traces are shown with all that is in them. */
function shownOf(traces: readonly TraceRecord[]): boolean[] {
  let count = 0;
  return traces.map(({ transactions }) => {
    if (transactions > MAX_TRANSACTIONS) return false;
    count += transactions;
    return count <= MAX_TRANSACTIONS_SHOWN;
  });
}

/** The transactions of each trace by lt and account; null for one that is not shown with them. */
async function transactionsOf(
  traces: readonly TraceRecord[],
  shown: readonly boolean[],
  { source, context }: Asked,
): Promise<(readonly TransactionRecord[] | null)[]> {
  const places = traces.flatMap((trace, i) => (shown[i] ? trace.places : []));
  const found = new Map<string, TransactionRecord>();
  for (let i = 0; i < places.length; i += PLACES_AT_ONCE) {
    for (const record of await source.transactionsAt(places.slice(i, i + PLACES_AT_ONCE), context)) {
      found.set(`${hashKey(record.transaction.account)}${record.transaction.lt}`, record);
    }
  }
  return traces.map((trace, i) => {
    if (!shown[i]) return null;
    const own = trace.places.flatMap(({ account, lt }) => found.get(`${hashKey(account)}${lt}`) ?? []);
    return own.sort(
      ({ transaction: a }, { transaction: b }) => compareDecimal(a.lt, b.lt) || a.account.compare(b.account),
    );
  });
}

/** The actions of each trace that the client knows, by `start_lt`, then `end_lt`. */
async function actionsOf(
  traces: readonly TraceRecord[],
  supported: ReadonlySet<string>,
  { source, context }: Asked,
): Promise<Map<string, ActionRecord[]>> {
  const traceIds = traces.filter(({ state }) => state === 'complete').map(({ traceId }) => traceId);
  const byTrace = new Map<string, ActionRecord[]>();
  if (traceIds.length === 0) return byTrace;
  const { rows } = await source.actions(
    { ...ANY_ACTION, traceIds, supported, sort: 'asc', page: { limit: MAX_ACTIONS_SHOWN, offset: 0 } },
    context,
  );
  for (const action of rows) {
    const key = hashKey(action.traceId);
    const own = byTrace.get(key);
    if (own) own.push(action);
    else byTrace.set(key, [action]);
  }
  for (const own of byTrace.values()) {
    own.sort((a, b) => compareDecimal(a.startLt, b.startLt) || compareDecimal(a.endLt, b.endLt));
  }
  return byTrace;
}
