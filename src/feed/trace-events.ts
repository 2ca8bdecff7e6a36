/** The traces that end in a step: their transactions, what they did, and each as a whole. */
import { MAX_TRANSACTIONS } from '../chain/actions/classify.ts';
import { readContent } from '../chain/actions/content.ts';
import { parseAddress } from '../chain/address.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import { compareDecimal } from '../chain/decimal.ts';
import { distinct, hashKey } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';
import { ANY_ACTION, type QueryContext, type TraceRecord, type TransactionRecord } from '../chain/records.ts';
import { type ActionsEvent, type GroupEvent, RANKS, type ToldAction, type TraceEvent } from './events.ts';
import { type Together, together } from './together.ts';

type Source = Pick<ChainSource, 'traces' | 'actions' | 'transactionsAt'>;

/** A trace that ends in the step, or that never is complete here because it began before the log. */
export interface EndedTrace {
  traceId: Hash;
  trace: TraceRecord;
  /** Of its last transaction among those of the step. */
  index: number;
}

const RAW_ADDRESS = /-?\d+:[0-9A-F]{64}/g;
/** Traces, or places of transactions, in one question. */
const ASKED_AT_ONCE = 500;
/** More than the traces of one question did. */
const MOST_ACTIONS = 1_000_000;

export type SettledTraces = Together<Hash, TraceRecord>;

/** How traces stand, by id. Those that are still open are not among them. */
export function settledTraces(source: Pick<ChainSource, 'traces'>): SettledTraces {
  const rest = { txHashes: [], messageHashes: [], utime: {}, ltWindow: {}, sort: 'asc' as const };
  return together(
    async (asked, context) => {
      // One that goes through several steps is asked for by each of them.
      const traceIds = distinct(asked);
      const page = { limit: traceIds.length, offset: 0 };
      return (await source.traces({ traceIds, page, ...rest }, context)).rows;
    },
    ({ traceId }) => hashKey(traceId),
  );
}

/** The traces of a step's transactions, each once. */
export function tracesOf(records: readonly TransactionRecord[]): Hash[] {
  return distinct(records.flatMap(({ traceId }) => (traceId === null ? [] : [traceId])));
}

/** Those that are complete with this step, in the order of their last transactions. */
export function endedTraces(
  mcSeqno: number,
  records: readonly TransactionRecord[],
  settled: ReadonlyMap<string, TraceRecord>,
): EndedTrace[] {
  const ended = new Map<string, EndedTrace>();
  for (const [index, { traceId }] of records.entries()) {
    if (traceId === null) continue;
    const key = hashKey(traceId);
    const trace = settled.get(key);
    if (trace?.state === 'complete' && trace.mcSeqnoEnd === mcSeqno) ended.set(key, { traceId, trace, index });
  }
  return [...ended.values()].sort((a, b) => a.index - b.index);
}

/** What these traces did, as it was told when they ended, by trace id; newest first. */
export async function actionsOf(
  mcSeqno: number,
  ended: readonly EndedTrace[],
  source: Source,
  context: QueryContext,
): Promise<Map<string, ToldAction[]>> {
  const actions = new Map<string, ToldAction[]>(ended.map(({ traceId }) => [hashKey(traceId), []]));
  for (let at = 0; at < ended.length; at += ASKED_AT_ONCE) {
    const filter = {
      ...ANY_ACTION,
      traceIds: ended.slice(at, at + ASKED_AT_ONCE).map(({ traceId }) => traceId),
      told: mcSeqno,
      sort: 'asc' as const,
      page: { limit: MOST_ACTIONS, offset: 0 },
    };
    for (const record of (await source.actions(filter, context)).rows) {
      actions.get(hashKey(record.traceId))?.push(toldAction(record));
    }
  }
  for (const own of actions.values()) own.sort(byEnd);
  return actions;
}

/** The latest first, as the protocol has it. */
export function byEnd({ record: a }: ToldAction, { record: b }: ToldAction): number {
  return compareDecimal(b.endLt, a.endLt) || compareDecimal(b.startLt, a.startLt) || a.number - b.number;
}

export function toldAction(record: ToldAction['record']): ToldAction {
  const [details, accounts] = readContent(record.content);
  const printed = [...new Set(record.content.match(RAW_ADDRESS))].flatMap((text) => parseAddress(text) ?? []);
  const mentions = new Map(printed.map((address) => [hashKey(address), address]));
  return { record, details, accounts: accounts.flatMap((text) => parseAddress(text) ?? []), mentions };
}

/**
 * All transactions of a trace, by lt and account; null when they are too many.
 * @param here those of the step, which need not be asked for
 */
export async function transactionsOf(
  { trace, traceId }: EndedTrace,
  here: readonly TransactionRecord[],
  source: Source,
  context: QueryContext,
): Promise<TransactionRecord[] | null> {
  if (trace.transactions > MAX_TRANSACTIONS) return null;
  const own = here.filter((record) => record.traceId?.equals(traceId));
  const [known] = own;
  const elsewhere = trace.places.filter(({ mcSeqno }) => mcSeqno !== known?.mcSeqno);
  const found = [...own];
  for (let at = 0; at < elsewhere.length; at += ASKED_AT_ONCE) {
    found.push(...(await source.transactionsAt(elsewhere.slice(at, at + ASKED_AT_ONCE), context)));
  }
  return found.sort(byLt);
}

function byLt({ transaction: a }: TransactionRecord, { transaction: b }: TransactionRecord): number {
  return compareDecimal(a.lt, b.lt) || a.account.compare(b.account);
}

export function actionsEvent(mcSeqno: number, { traceId, index }: EndedTrace, actions: readonly ToldAction[]) {
  const place = { mcSeqno, index, rank: RANKS.actions };
  return { type: 'actions', place, subject: () => [traceId], traceId, actions } satisfies ActionsEvent;
}

export function traceEvent(
  mcSeqno: number,
  { traceId, index }: EndedTrace,
  hash: string,
  transactions: readonly TransactionRecord[] | null,
  actions: readonly ToldAction[],
): TraceEvent {
  const place = { mcSeqno, index, rank: RANKS.trace };
  return { type: 'trace', place, subject: () => [traceId], traceId, hash, transactions, actions };
}

/**
 * Of a trace that is too large to be told at once those of its last step are told, and that there are more.
 * @param transactions as `transactionsOf` gives them
 */
export function groupEvent(
  mcSeqno: number,
  { traceId, index }: EndedTrace,
  transactions: readonly TransactionRecord[] | null,
  here: readonly TransactionRecord[],
): GroupEvent {
  const place = { mcSeqno, index, rank: RANKS.trace_transactions };
  const own = transactions ?? here.filter((record) => record.traceId?.equals(traceId));
  const records = own.toReversed();
  return { type: 'trace_transactions', place, subject: () => [traceId], isWhole: transactions !== null, records };
}

/** A transaction whose trace is never complete here: it began before the log. It is told by itself. */
export function aloneEvent(mcSeqno: number, index: number, record: TransactionRecord): GroupEvent {
  const place = { mcSeqno, index, rank: RANKS.trace_transactions };
  return {
    type: 'trace_transactions',
    place,
    subject: () => [record.transaction.hash],
    isWhole: true,
    records: [record],
  };
}
