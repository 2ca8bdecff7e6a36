/** Pending traces as the three operations ask for them: those that the index does not have complete yet. */

import { compareDecimal } from '../../chain/decimal.ts';
import { hashKey } from '../../chain/hash.ts';
import type { Address, Hash } from '../../chain/model.ts';
import type { TransactionRecord } from '../../chain/records.ts';
import { isTold } from '../../emulation/told.ts';
import { actionRecords, traceRecord, transactionRecords } from '../../pending/records.ts';
import type { OpenTrace } from '../../pending/store.ts';
import { ApiError } from '../errors.ts';
import { actionJson } from './render/action.ts';
import { traceJson } from './render/trace.ts';
import type { Asked } from './route.ts';

/** Of one account, or of all: what there is above is left out. */
const MAX_TRACES = 1_000;

/**
 * Those of an account, else those that begin with one of these messages.
 * @param ofAccount what counts as an account's
 * @throws {ApiError} when nothing is asked for
 */
export async function pendingOf(
  account: Address | undefined,
  messages: readonly Hash[],
  asked: Asked,
  ofAccount: 'byAccount' | 'byActor' = 'byAccount',
): Promise<OpenTrace[]> {
  if (account !== undefined) return asked.pending[ofAccount](account).slice(0, MAX_TRACES);
  if (messages.length === 0) throw new ApiError(422, 'account or ext_msg_hash should be specified');
  return distinct((await Promise.all(messages.map((hash) => begunBy(hash, asked)))).flatMap((one) => one ?? []));
}

/** A message that came again in another encoding is of the same trace (spec v3 semantics 3.3). */
async function begunBy(hash: Hash, { pending, sent, context }: Asked): Promise<OpenTrace | undefined> {
  const known = pending.byMessage(hash);
  if (known !== undefined || pending.size === 0) return known;
  const norm = await sent.normOf(hash, context.signal);
  return norm === null ? undefined : pending.get(norm);
}

export function distinct(traces: readonly OpenTrace[]): OpenTrace[] {
  return [...new Set(traces)].slice(0, MAX_TRACES);
}

/**
 * Without those that the index has complete. They are looked for in what all other operations answer from, so a trace is
 * shown here until it is shown there: the index may have a step before its traces are told of here.
 */
export async function notStored(traces: readonly OpenTrace[], { source, context }: Asked): Promise<OpenTrace[]> {
  if (traces.length === 0) return [];
  const { rows } = await source.traces(
    {
      traceIds: [],
      txHashes: [],
      messageHashes: traces.map(({ trace }) => trace.hashNorm),
      utime: {},
      ltWindow: {},
      sort: 'desc',
      page: { limit: traces.length, offset: 0 },
    },
    context,
  );
  const complete = rows.filter(({ state }) => state === 'complete');
  const stored = new Set(complete.flatMap(({ traceId, externalHash }) => [traceId, externalHash].flatMap(keyOf)));
  return traces.filter(({ trace, nodes: [root] }) => {
    const { hash, inMsg } = root.transaction;
    return ![hash, trace.externalHash, inMsg?.hash].flatMap(keyOf).some((key) => stored.has(key));
  });
}

const keyOf = (hash: Hash | null | undefined): string[] => (hash ? [hashKey(hash)] : []);

/**
 * The transactions of a trace as the operations for what is pending show them: of the states of an account they tell the
 * hashes alone (spec v3 semantics 2.1).
 */
export function pendingTransactions(one: OpenTrace): TransactionRecord[] {
  return transactionRecords(one).map((record) => ({ ...record, before: null, after: null }));
}

/** With its transactions, and the actions of types that the client knows. */
export function pendingTraceJson(
  one: OpenTrace,
  known: ReadonlySet<string>,
  { book, renderings }: Asked,
  transactions = transactionRecords(one),
): Buffer {
  const actions = actionRecords(one)
    .filter((action) => isTold(action, known))
    .sort((a, b) => compareDecimal(a.startLt, b.startLt) || compareDecimal(a.endLt, b.endLt))
    .map((action) => actionJson(action, book, { accounts: true }));
  return traceJson(traceRecord(one), { transactions, actions }, book, renderings);
}
