/** What is emulated as the API shows it: transactions as records, actions as they are stored. */
import type { Action } from '../chain/actions/action.ts';
import { storedAction } from '../chain/actions/stored-action.ts';
import type { Trace } from '../chain/actions/trace.ts';
import type { Hash, Transaction } from '../chain/model.ts';
import type { Finality, PendingActionRecord, TransactionRecord } from '../chain/records.ts';
import type { EmulatedTransaction } from './trace.ts';

/** Of the trace that they are of. */
export interface Whose {
  /** Hash of the root transaction; null while that is emulated. */
  traceId: Hash | null;
  /** Hash of the message that begins it, as it was sent. */
  externalHash: Hash;
  /** The normalised hash, where it differs. */
  externalHashNorm: Hash | null;
  mcSeqno: number;
  globalVersion: number;
}

/** What is not final has these flags whatever it is (spec v3 semantics 2.1). */
export function flagged(transaction: Transaction): Transaction {
  const description = { ...transaction.description, isTock: false, installed: false };
  // The hash of a decoded one is no field of its own.
  return { ...transaction, hash: transaction.hash, description };
}

export function emulatedRecord(one: EmulatedTransaction, whose: Whose): TransactionRecord {
  const { block, before, after } = one;
  const { traceId, externalHash, mcSeqno, globalVersion } = whose;
  const transaction = flagged(one.transaction);
  return { transaction, block, mcSeqno, traceId, externalHash, globalVersion, before, after, finality: 'pending' };
}

/** In the order of their ends, as stored ones. */
export function actionRecords(
  actions: readonly Action[],
  { endLt: traceEndLt, endUtime: traceEndUtime }: Pick<Trace, 'endLt' | 'endUtime'>,
  { traceId, externalHash, externalHashNorm, mcSeqno }: Whose,
  finalityOf: (action: Action) => Finality,
): PendingActionRecord[] {
  return actions.map((action, number) => ({
    ...storedAction(action),
    traceId,
    traceEndLt,
    traceEndUtime,
    mcSeqno,
    number,
    externalHash,
    externalHashNorm,
    finality: finalityOf(action),
  }));
}

/** Whether a client is shown an action: it knows the type, and no action that this one is a part of. */
export function isTold(
  { type, ancestors }: Pick<PendingActionRecord, 'type' | 'ancestors'>,
  known: ReadonlySet<string>,
) {
  return known.has(type) && !ancestors.some((one) => known.has(one));
}
