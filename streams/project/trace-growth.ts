/** How a trace grows by the transactions of a step (spec v3 semantics 3.1). */
import type { TransactionRow } from '../../clickhouse/tables/transactions.ts';
import { MAX_TRANSACTIONS } from '../../src/chain/actions/classify.ts';
import { compareDecimal } from '../../src/chain/decimal.ts';
import { firstPlaces, type OpenTrace, packPlace } from './open-traces.ts';
import { startsTrace } from './traces.ts';

/** The trace that a transaction begins. */
export function beginTrace({ traceId, hash, transaction, mcSeqno, externalHash }: TransactionRow): OpenTrace {
  const { inMsg, lt, now } = transaction;
  const norm = inMsg?.hashNorm() ?? null;
  // Its transactions before, if there are any, were never seen.
  const isRoot = traceId.equals(hash);
  return {
    traceId: Buffer.from(traceId),
    mcSeqnoStart: mcSeqno,
    startLt: lt,
    startUtime: now,
    endLt: '0',
    endUtime: 0,
    externalHash: externalHash && Buffer.from(externalHash),
    externalHashNorm: norm === null || inMsg?.hash.equals(norm) ? null : Buffer.from(norm),
    transactions: 0,
    messages: 0,
    pendingMessages: 0,
    state: isRoot && startsTrace(inMsg) ? 'pending' : 'broken',
    places: '',
  };
}

/**
 * @param starts whether it is the first of the trace that is known
 * @returns its place
 */
export function growTraceBy(
  trace: OpenTrace,
  { transaction, account, lt, now }: TransactionRow,
  starts: boolean,
): string {
  const { inMsg, outMsgs } = transaction;
  trace.transactions++;
  const place = packPlace(account, lt);
  trace.places += place;
  if (trace.transactions > MAX_TRANSACTIONS && trace.transactions % MAX_TRANSACTIONS === 0) {
    trace.places = firstPlaces(trace.places);
  }
  if (compareDecimal(lt, trace.endLt) > 0) trace.endLt = lt;
  trace.endUtime = Math.max(trace.endUtime, now);
  if (inMsg !== null) {
    // Where a message came from that began a broken trace is not known, so it counts for nothing.
    if (!starts || trace.state !== 'broken') trace.messages++;
    if (!starts) trace.pendingMessages--;
  }
  for (const { kind } of outMsgs) {
    if (kind === 'external_out') trace.messages++;
    else trace.pendingMessages++;
  }
  return place;
}
