import {
  acceptsOf,
  compareTraces,
  endConditions,
  joinSteps,
  nextTraces,
  pageOfTraces,
  readTraceCursor,
  sortedTraces,
  type Traced,
  traceOrder,
} from '../../clickhouse/queries/traces.ts';
import type { TraceRow } from '../../clickhouse/tables/traces.ts';
import { MAX_TRANSACTIONS } from '../chain/actions/classify.ts';
import { distinct, hashKey } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';
import type { Rows, TraceFilter, TraceRecord } from '../chain/records.ts';
import { Candidate } from './candidate.ts';
import { idOf, stepOf } from './chunk.ts';
import { behindPrefix, columnOf, keyPrefix, layoutOf, restOf } from './kind.ts';
import { traceKind, transactionKind } from './kinds.ts';
import { listPage, pageOf, WHOLE } from './listing.ts';
import { endsByHash } from './messages.ts';
import type { Selection } from './select.ts';
import type { Sides } from './sides.ts';
import { transactionByHash } from './transactions.ts';
import type { View } from './view.ts';

const CLOCKS = { endLt: 'lt', endUtime: 'utime' } as const;
const BY_ID = layoutOf(traceKind, 'id');

/** Complete traces that are listed, and all that are named, from the window and the tables below it. */
export async function traces(filter: TraceFilter, sides: Sides): Promise<Rows<TraceRecord>> {
  const { view, below, whole, context } = sides;
  const order = traceOrder(filter);
  const named = namedTraces(filter, view);
  if (named === 'unknown') return whole.traces(filter, context);
  if (named !== null) {
    const accepts = acceptsOf(filter);
    const found = await wholeTraces(named, filter.growing === true, sides);
    const rows = pageOfTraces(
      found.filter((trace) => (filter.growing || trace.state !== 'pending') && accepts(trace)),
      filter,
      order,
    );
    return { rows, nextCursor: nextTraces(rows, filter, order) };
  }
  const { mcSeqno, account, page } = filter;
  if (mcSeqno !== undefined && mcSeqno < view.first) return below.traces(filter, context);
  const selection: Selection = {
    where: [
      ...endConditions(filter),
      { column: 'state', is: 'complete' },
      ...(account ? [{ column: 'account', in: [account] }] : []),
    ],
    order: sortedTraces(filter, order),
    after: readTraceCursor(filter, order),
  };
  const load = (row: Candidate): Hash => row.value(traceKind, 'traceId');
  const found =
    mcSeqno === undefined
      ? await listPage<Hash | TraceRecord>(view, {
          kind: traceKind,
          selection,
          clocks: CLOCKS,
          page,
          load,
          // Compared are rows of the tables alone.
          valuesOf: (record) =>
            isId(record) ? [] : [order === 'time' ? record.endUtime : record.endLt, record.traceId],
          fetch: async (part) => (await below.traces({ ...filter, page: part }, context)).rows,
        })
      : pageOf({ kind: traceKind, selection, page, load, rows: rowsOfStep(view, mcSeqno) });
  if (found === WHOLE) return whole.traces(filter, context);
  const here = await wholeTraces(found.filter(isId), false, sides);
  const rows = [...here, ...found.filter(isRecord)].sort((a, b) => compareTraces(a, b, filter, order));
  return { rows, nextCursor: nextTraces(rows, filter, order) };
}

const rowsOfStep = (view: View, mcSeqno: number): Candidate[] =>
  view.rowsOf(traceKind, mcSeqno).map(({ id, row }) => Candidate.of(view, traceKind, id, row));

const isId = (one: Hash | TraceRecord): one is Hash => one instanceof Uint8Array;
const isRecord = (one: Hash | TraceRecord): one is TraceRecord => !isId(one);

/** The ids of the traces that a filter names; null when it names none, `unknown` where the window does not tell. */
function namedTraces(filter: TraceFilter, view: View): Hash[] | 'unknown' | null {
  const { traceIds, txHashes, messageHashes, account } = filter;
  const traced = txHashes.length > 0 || messageHashes.length > 0;
  if (!traced && traceIds.length === 0) return null;
  if (account || (traced && traceIds.length > 0)) return 'unknown';
  if (!traced) return distinct(traceIds);
  const found = tracedHere(filter, view);
  return found === null ? 'unknown' : distinct(found.map(({ traceId }) => traceId));
}

/**
 * The transactions with one of these hashes, and those at the ends of one of these messages, as `tracedTransactions`
 * tells them; null when the window does not have all of them.
 */
export function tracedHere(
  { txHashes, messageHashes }: Pick<TraceFilter, 'txHashes' | 'messageHashes'>,
  view: View,
): Traced[] | null {
  const ofMessages = messageHashes.length === 0 ? null : endsOf(messageHashes, view);
  if (messageHashes.length > 0 && ofMessages === null) return null;
  const named = txHashes.length === 0 ? ofMessages : distinct(txHashes);
  const ends = ofMessages && new Set(ofMessages.map(hashKey));
  const found: Traced[] = [];
  for (const hash of named ?? []) {
    const transaction = transactionByHash(view, hash);
    if (transaction === null) return null;
    if (ends?.has(hashKey(hash)) === false) continue;
    found.push({ hash, traceId: columnOf(transactionKind, transaction.row, 'traceId') });
  }
  return found;
}

/** Hashes of the transactions that sent and received these messages. */
function endsOf(messageHashes: Hash[], view: View): Hash[] | null {
  const messages = endsByHash(view, { messageHashes });
  if (messages === null) return null;
  const ends = messages.flatMap(({ inMcSeqno, inTxHash, outMcSeqno, outTxHash }) => [
    ...(inMcSeqno > 0 && inTxHash !== null ? [inTxHash] : []),
    ...(outMcSeqno > 0 && outTxHash !== null ? [outTxHash] : []),
  ]);
  return distinct(ends);
}

/** Rows of a trace in the window, newest first: one for each step of the window in which it grew. */
export function traceRows(view: View, traceId: Hash, most = MAX_TRANSACTIONS): TraceRow[] {
  const low = keyPrefix(traceKind, BY_ID, [traceId]);
  const rows: TraceRow[] = [];
  for (const { value } of view.range(BY_ID, { low, high: behindPrefix(low), reverse: true })) {
    const id = Buffer.from(idOf(value));
    if (rows.push(traceRowOf(id, view.row(traceKind, id))) === most) break;
  }
  return rows;
}

/** Above the view a trace may have grown, unless it was complete. */
export function isAllOf(rows: readonly TraceRow[], { isToldAbove }: Sides): boolean {
  return isToldAbove === undefined || rows.at(0)?.state === 'complete';
}

/**
 * All that there is of these traces: what began before the window is asked of the tables.
 * @param growing whether those are wanted that still grow
 */
async function wholeTraces(ids: readonly Hash[], growing: boolean, sides: Sides): Promise<TraceRecord[]> {
  const { view, whole, context } = sides;
  const here: TraceRow[] = [];
  const missing: Hash[] = [];
  for (const id of ids) {
    const rows = traceRows(view, id);
    if (rows.length > 0 && rows[0].mcSeqnoStart >= view.first && isAllOf(rows, sides)) here.push(...rows);
    else missing.push(id);
  }
  const found = joinSteps(here);
  if (missing.length === 0) return found;
  const page = { limit: missing.length, offset: 0 };
  const all = { growing, utime: {}, ltWindow: {}, sort: 'asc' as const, page };
  const others = await whole.traces({ traceIds: missing, txHashes: [], messageHashes: [], ...all }, context);
  return [...found, ...others.rows];
}

function traceRowOf(id: Buffer, row: Buffer): TraceRow {
  const { columns } = traceKind;
  const get = <K extends keyof typeof columns>(column: K) => columnOf(traceKind, row, column);
  return {
    traceId: get('traceId'),
    mcSeqno: stepOf(id),
    mcSeqnoStart: get('mcSeqnoStart'),
    startLt: get('startLt'),
    startUtime: get('startUtime'),
    endLt: get('endLt'),
    endUtime: get('endUtime'),
    externalHash: get('externalHash'),
    externalHashNorm: get('externalHashNorm'),
    transactions: get('transactions'),
    messages: get('messages'),
    pendingMessages: get('pendingMessages'),
    state: get('state'),
    classification: get('classification'),
    places: restOf(traceKind, row),
  };
}
