import { actionAccounts, actionDoubts, actions } from '../../clickhouse/tables/actions.ts';
import { type TraceRow, traceAccounts, traces } from '../../clickhouse/tables/traces.ts';
import { type TransactionRow, transactions } from '../../clickhouse/tables/transactions.ts';
import { MAX_TRANSACTIONS } from '../../src/chain/actions/classify.ts';
import { ENCRYPTED_COMMENT, TEXT_COMMENT } from '../../src/chain/actions/comment.ts';
import type { RawAddress } from '../../src/chain/actions/trace.ts';
import { rawAddress } from '../../src/chain/address.ts';
import { distinct, hashKey } from '../../src/chain/hash.ts';
import type { Hash, Transaction } from '../../src/chain/model.ts';
import type { BatchPlace } from './accounts.ts';
import { tellTrace, writeDoubts, writeTelling } from './action-rows.ts';
import { type CodeKinds, createCodeKinds } from './code-kinds.ts';
import type { Counters } from './counters.ts';
import { type BatchDoubts, createDoubts, type Doubts } from './doubts.ts';
import { createKnownStore, type KnownStore } from './known-contracts.ts';
import { createOpenTraces, type OpenTrace, type OpenTraces, placesOf, type TracePlace } from './open-traces.ts';
import { packBytes, unpackBytes } from './packed.ts';
import { createPauses } from './pause.ts';
import type { Projection } from './projection.ts';
import { retellTraces } from './retelling.ts';
import type { GrowingRows } from './step-rows.ts';
import { beginTrace, growTraceBy } from './trace-growth.ts';

/** Traces as they grow, and what those did that are complete. */
export const traceProjection: Projection = {
  name: 'traces',
  version: 8,
  reads: ['contracts'],
  tables: [traces, traceAccounts, actions, actionAccounts, actionDoubts],
  open({ clickhouse, counters }) {
    const open = createOpenTraces(clickhouse, (count) => {
      counters.rereadTransactions += count;
    });
    const known = createKnownStore(clickhouse, { takesAll: true });
    const doubts = createDoubts(clickhouse);
    const codeKinds = createCodeKinds(clickhouse);
    return {
      async begin(batch, _, signal) {
        return {
          project: (steps) => projectTraces(steps, { batch, open, known, doubts, codeKinds, counters, signal }),
        };
      },
      written(batch) {
        open.written(batch);
        known.written(batch);
        doubts.written(batch);
      },
    };
  },
};

const NO_CALL: ReadonlySet<number | null> = new Set([null, TEXT_COMMENT, ENCRYPTED_COMMENT]);

interface Work {
  batch: BatchPlace;
  open: OpenTraces;
  known: KnownStore;
  doubts: Doubts;
  codeKinds: CodeKinds;
  counters: Counters;
  signal: AbortSignal;
}

/** A trace as it stands at the end of a step. */
interface Grown {
  trace: OpenTrace;
  rows: GrowingRows;
  /** Places of the step's transactions of the trace, packed. */
  own: string;
  /** The transactions of the trace that came with the batch, by their places. */
  here: ReadonlyMap<string, TransactionRow>;
}

async function projectTraces(steps: readonly GrowingRows[], work: Work): Promise<void> {
  const { open, known, doubts, codeKinds, batch, signal } = work;
  const earlier = await open.find(idsBefore(steps), batch, signal);
  const growing = new Map<string, { trace: OpenTrace; here: Map<string, TransactionRow> }>();
  const likely = await codeKinds.of(steps, signal);
  await known.begin({ all: accountsOf(steps, earlier.values()), likely, looked: lookedAt(steps) }, batch, signal);
  const learned = steps.map((rows) => known.learned(rows));
  const batchDoubts = await doubts.begin(distinct(learned.flat()), batch, signal);
  const telling = { ...work, doubts: batchDoubts };
  const pause = createPauses();
  for (const [at, rows] of steps.entries()) {
    known.take(rows, batch.number);
    for (const grown of grow(rows, earlier, growing)) {
      await pause();
      await writeTrace(grown, telling);
    }
    if (learned[at].length > 0) await retellTraces(rows, learned[at], telling);
  }
  for (const { trace, here } of growing.values()) {
    if (trace.pendingMessages === 0) {
      if (batchDoubts.mayAsk(trace)) open.settle(trace);
      else if (earlier.has(hashKey(trace.traceId))) open.close(trace);
      continue;
    }
    open.put(trace, batch.number);
    // Of those no actions are told.
    if (trace.state === 'broken' || trace.transactions > MAX_TRANSACTIONS) continue;
    for (const [key, { payload }] of here) open.putTransaction(key, payload, batch.number);
  }
}

/** Traces with transactions in these steps that began before them. */
function idsBefore(steps: readonly GrowingRows[]): Hash[] {
  const begun = new Set<string>();
  const before = new Map<string, Hash>();
  for (const rows of steps) {
    for (const { traceId, hash } of rows.of(transactions)) {
      const key = hashKey(traceId);
      if (traceId.equals(hash)) begun.add(key);
      else if (!begun.has(key)) before.set(key, traceId);
    }
  }
  return [...before.values()];
}

/** All that complete traces may ask for, but for what messages name. */
function accountsOf(steps: readonly GrowingRows[], earlier: Iterable<OpenTrace>): Set<RawAddress> {
  const accounts = new Set<RawAddress>();
  for (const rows of steps) for (const { account } of rows.of(transactions)) accounts.add(rawAddress(account));
  for (const trace of earlier) {
    if (trace.transactions > MAX_TRANSACTIONS) continue;
    for (const { account } of placesOf(trace)) accounts.add(rawAddress(account));
  }
  return accounts;
}

/** Accounts that got coins without a call, or code: telling of them asks for items and auctions, whatever their code is. */
function lookedAt(steps: readonly GrowingRows[]): Set<RawAddress> {
  const accounts = new Set<RawAddress>();
  for (const rows of steps) {
    for (const { account, transaction } of rows.of(transactions)) {
      const { inMsg, origStatus, endStatus } = transaction;
      const isPaid = inMsg?.kind === 'internal' && NO_CALL.has(inMsg.opcode);
      if (isPaid || (origStatus !== 'active' && endStatus === 'active')) accounts.add(rawAddress(account));
    }
  }
  return accounts;
}

/** The traces of a step's transactions, in the order in which they come up. */
function grow(
  rows: GrowingRows,
  earlier: ReadonlyMap<string, OpenTrace>,
  growing: Map<string, { trace: OpenTrace; here: Map<string, TransactionRow> }>,
): Grown[] {
  const touched = new Map<string, Grown>();
  for (const row of rows.of(transactions)) {
    const key = hashKey(row.traceId);
    const known = growing.get(key);
    const before = known?.trace ?? earlier.get(key);
    const held = known ?? { trace: before ?? beginTrace(row), here: new Map<string, TransactionRow>() };
    if (!known) growing.set(key, held);
    const place = growTraceBy(held.trace, row, before === undefined);
    if (held.trace.transactions <= MAX_TRANSACTIONS) held.here.set(place, row);
    const grown = touched.get(key);
    if (grown) grown.own += place;
    else touched.set(key, { trace: held.trace, rows, own: place, here: held.here });
  }
  return [...touched.values()];
}

async function writeTrace(
  { trace, rows, own, here }: Grown,
  work: Omit<Work, 'doubts'> & { doubts: BatchDoubts },
): Promise<void> {
  const { mcSeqno } = rows;
  const { open, doubts, counters, batch, signal } = work;
  const isComplete = trace.pendingMessages === 0 && trace.state === 'pending';
  if (isComplete) trace.state = 'complete';
  let classification: TraceRow['classification'] = 'unclassified';
  if (isComplete) {
    const all = [...placesOf(trace)];
    writeAccounts(rows, trace, all);
    if (trace.transactions > MAX_TRANSACTIONS) counters.unclassifiedTraces++;
    else {
      const told = await tellTrace(trace, mcSeqno, await transactionsOf(all, here, open, signal), work);
      classification = told.state;
      writeDoubts(rows, trace, told);
      const telling = { trace, rows: writeTelling(rows, trace, told) };
      if (told.unknown.length > 0) {
        doubts.add(told.unknown, telling, mcSeqno, batch.number);
        for (const [key, { payload }] of here) open.putTransaction(key, payload, batch.number);
      }
    }
  }
  rows.add(traces, traceRow(trace, { mcSeqno, classification, places: unpackBytes(own) }));
}

/** The trace as it stands. */
function traceRow(trace: OpenTrace, own: Pick<TraceRow, 'mcSeqno' | 'classification' | 'places'>): TraceRow {
  return {
    traceId: trace.traceId,
    mcSeqno: own.mcSeqno,
    mcSeqnoStart: trace.mcSeqnoStart,
    startLt: trace.startLt,
    startUtime: trace.startUtime,
    endLt: trace.endLt,
    endUtime: trace.endUtime,
    externalHash: trace.externalHash,
    externalHashNorm: trace.externalHashNorm,
    transactions: trace.transactions,
    messages: trace.messages,
    pendingMessages: trace.pendingMessages,
    state: trace.state,
    classification: own.classification,
    places: own.places,
  };
}

/** In the order of the places: those of earlier batches are looked up. */
async function transactionsOf(
  places: readonly TracePlace[],
  here: ReadonlyMap<string, TransactionRow>,
  open: OpenTraces,
  signal: AbortSignal,
): Promise<Transaction[]> {
  const missing = places.filter(({ key }) => !here.has(key));
  const earlier = missing.length === 0 ? [] : await open.transactions(missing, signal);
  return [...earlier, ...places.flatMap(({ key }) => here.get(key)?.transaction ?? [])];
}

function writeAccounts(rows: GrowingRows, trace: OpenTrace, places: readonly TracePlace[]): void {
  const { endLt, endUtime, traceId } = trace;
  const accounts = new Map(places.map(({ account }) => [packBytes(account), account]));
  for (const account of accounts.values()) {
    rows.add(traceAccounts, { account, endLt, traceId, endUtime, mcSeqno: rows.mcSeqno });
  }
}
