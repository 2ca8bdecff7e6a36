/**
 * Traces that were told without knowing what a contract is are told again in the step that shows it: in that place of the
 * log, by what is known at its end, so it comes to the same rows however the log is projected.
 */

import { rawAddress } from '../../src/chain/address.ts';
import { hashKey } from '../../src/chain/hash.ts';
import type { Address, Transaction } from '../../src/chain/model.ts';
import { type Asked, saysTheSame, tellingRows, tellTrace, writeDoubts, writeTelling } from './action-rows.ts';
import { type BatchDoubts, type DoubtfulTrace, newestFirst, TRACES_OF_CONTRACT } from './doubts.ts';
import { type OpenTrace, type OpenTraces, placesOf } from './open-traces.ts';
import { createPauses } from './pause.ts';
import type { GrowingRows } from './step-rows.ts';

/** The newest of those that a step could tell again; what was learned of one master may concern any number. */
const TRACES_OF_STEP = 5_000;
/** Traces of which the transactions are read together. */
const READ_AT_ONCE = 100;

interface Retelling extends Asked {
  open: OpenTraces;
  doubts: BatchDoubts;
}

/** @param learned the contracts that the step shows for the first time as what they are */
export async function retellTraces(rows: GrowingRows, learned: readonly Address[], work: Retelling): Promise<void> {
  const doubtful = doubtfulTraces(rows, learned, work);
  const pause = createPauses();
  for (let at = 0; at < doubtful.length; at += READ_AT_ONCE) {
    const some = doubtful.slice(at, at + READ_AT_ONCE);
    const before = await work.doubts.toldBefore(some);
    const traces = await wholeTraces(some, before, work);
    const transactions = await transactionsOf(traces, work);
    const all = new Set(traces.flatMap((trace) => [...placesOf(trace)].map(({ account }) => rawAddress(account))));
    await work.known.begin({ all, likely: new Map(), looked: all }, work.batch, work.signal);
    for (const [i, trace] of traces.entries()) {
      await pause();
      await retell(rows, trace, transactions[i], before.get(hashKey(trace.traceId))?.rows ?? [], work);
    }
  }
}

/** Those that asked for one of the contracts before this step, newest first. */
function doubtfulTraces(
  { mcSeqno }: GrowingRows,
  learned: readonly Address[],
  { doubts, counters }: Retelling,
): DoubtfulTrace[] {
  const found = new Map<string, DoubtfulTrace>();
  for (const contract of learned) {
    const own = doubts.of(contract, mcSeqno).filter((trace) => trace.mcSeqno < mcSeqno);
    if (own.length > TRACES_OF_CONTRACT) counters.unretoldTraces += own.length - TRACES_OF_CONTRACT;
    for (const trace of own.slice(0, TRACES_OF_CONTRACT)) found.set(hashKey(trace.traceId), trace);
  }
  const all = [...found.values()].sort(newestFirst);
  counters.unretoldTraces += Math.max(0, all.length - TRACES_OF_STEP);
  return all.slice(0, TRACES_OF_STEP);
}

/** As they stood when they were complete. */
async function wholeTraces(
  doubtful: readonly DoubtfulTrace[],
  before: Awaited<ReturnType<BatchDoubts['toldBefore']>>,
  { open, batch, signal }: Retelling,
): Promise<OpenTrace[]> {
  const held = (id: Buffer): OpenTrace | null => {
    const telling = before.get(hashKey(id));
    return telling && 'trace' in telling ? telling.trace : null;
  };
  const missing = doubtful.flatMap(({ traceId }) => (held(traceId) ? [] : [traceId]));
  const read = await open.find(missing, batch, signal);
  return doubtful.map(({ traceId }) => {
    const trace = held(traceId) ?? read.get(hashKey(traceId));
    if (trace) return trace;
    throw new Error(`trace ${traceId.toString('hex')}, which was told, is not in the tables`);
  });
}

async function transactionsOf(
  traces: readonly OpenTrace[],
  { open, signal }: Retelling,
): Promise<readonly Transaction[][]> {
  const places = traces.map((trace) => [...placesOf(trace)]);
  const all = await open.transactions(places.flat(), signal);
  let at = 0;
  return places.map(({ length }) => {
    at += length;
    return all.slice(at - length, at);
  });
}

async function retell(
  rows: GrowingRows,
  trace: OpenTrace,
  transactions: readonly Transaction[],
  before: Parameters<typeof saysTheSame>[1],
  work: Retelling,
): Promise<void> {
  const { mcSeqno } = rows;
  // One of which nothing was told had no message that could ask.
  const endMcSeqno = before[0]?.endMcSeqno ?? mcSeqno;
  const told = await tellTrace(trace, endMcSeqno, transactions, work);
  // What was told of it before is more than that it failed.
  if (told.state !== 'ok') return;
  writeDoubts(rows, trace, told);
  const says = tellingRows(trace, told, { mcSeqno, endMcSeqno });
  const same = saysTheSame(says, before);
  if (!same) work.counters.retoldTraces++;
  const written = same ? before : writeTelling(rows, trace, told, before);
  work.doubts.add(told.unknown, { trace, rows: written }, mcSeqno, work.batch.number);
}
