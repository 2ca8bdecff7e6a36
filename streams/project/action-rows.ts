import { actionAccounts, actions } from '../../clickhouse/tables/actions.ts';
import type { TraceRow } from '../../clickhouse/tables/traces.ts';
import type { Action } from '../../src/chain/actions/action.ts';
import { hashText, traceTransaction } from '../../src/chain/actions/chain-trace.ts';
import { type Classification, classify } from '../../src/chain/actions/classify.ts';
import { compareDecimals, type Trace } from '../../src/chain/actions/trace.ts';
import { parseAddress } from '../../src/chain/address.ts';
import type { Transaction } from '../../src/chain/model.ts';
import type { BatchPlace } from './accounts.ts';
import type { Counters } from './counters.ts';
import type { KnownStore } from './known-contracts.ts';
import type { OpenTrace } from './open-traces.ts';
import type { GrowingRows } from './step-rows.ts';

/** Rounds of looking up what was asked for: a pool tells of a wallet, which tells of a master, and so on. */
const MAX_ROUNDS = 8;

export interface Telling {
  known: KnownStore;
  batch: BatchPlace;
  counters: Counters;
  signal: AbortSignal;
}

/**
 * Tells what a complete trace did, and writes it down.
 * @returns how the trace could be classified
 */
export async function writeActions(
  rows: GrowingRows,
  trace: OpenTrace,
  transactions: readonly Transaction[],
  telling: Telling,
): Promise<TraceRow['classification']> {
  const read: Trace = {
    id: hashText(trace.traceId),
    externalHash: trace.externalHash && hashText(trace.externalHash),
    externalHashNorm: trace.externalHashNorm && hashText(trace.externalHashNorm),
    mcSeqnoEnd: rows.mcSeqno,
    endLt: trace.endLt,
    endUtime: trace.endUtime,
    transactions: transactions.map(traceTransaction),
  };
  const { state, actions: told } = await tell(read, telling);
  if (state === 'failed') telling.counters.failedTraces++;
  if (state === 'unclassified') telling.counters.unclassifiedTraces++;
  const ordered = told.toSorted((a, b) => compareDecimals(a.endLt, b.endLt) || Buffer.compare(idOf(a), idOf(b)));
  for (const [number, action] of ordered.entries()) write(rows, trace, action, number);
  return state;
}

/** Again with more that is known, as long as it asks for contracts that were not looked up. */
async function tell(trace: Trace, { known, batch, signal }: Telling): Promise<Classification> {
  for (let round = 1; ; round++) {
    const { contracts, missing } = known.known();
    const told = classify(trace, contracts);
    if (missing.size === 0 || round === MAX_ROUNDS) return told;
    await known.loadMissing(missing, batch, signal);
  }
}

const idOf = ({ id }: Action): Buffer => Buffer.from(id, 'base64');

function write(rows: GrowingRows, trace: OpenTrace, action: Action, number: number): void {
  const { traceId, externalHash, externalHashNorm, endLt: traceEndLt, endUtime: traceEndUtime } = trace;
  const { startLt, endLt, startUtime, endUtime, type, success, details, accounts } = action;
  const ancestors = [...action.ancestors];
  const { mcSeqno } = rows;
  const place = { traceEndLt, traceId, number, mcSeqno, traceEndUtime, type, ancestors };
  rows.add(actions, {
    ...place,
    actionId: idOf(action),
    startLt,
    endLt,
    startUtime,
    endUtime,
    success,
    externalHash,
    externalHashNorm,
    transactions: Buffer.concat(action.transactions.map((hash) => Buffer.from(hash, 'base64'))),
    content: JSON.stringify([details, accounts]),
  });
  for (const raw of accounts) {
    const account = parseAddress(raw);
    if (account) rows.add(actionAccounts, { ...place, account });
  }
}
