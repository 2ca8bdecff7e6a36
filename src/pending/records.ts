/** Pending traces in the records that the API shows. */
import { decodeStates } from '../../clickhouse/states.ts';
import { compareDecimal } from '../chain/decimal.ts';
import { hashKey } from '../chain/hash.ts';
import type { Decimal } from '../chain/model.ts';
import type { Finality, PendingActionRecord, PendingTraceRecord, TransactionRecord } from '../chain/records.ts';
import { flagged } from '../emulation/told.ts';
import { leastSure } from './merge.ts';
import { type OpenTrace, rootOf } from './store.ts';

/** By lt, then account, as all transactions of a trace are listed. */
export function transactionRecords(one: OpenTrace): TransactionRecord[] {
  const { trace, nodes } = one;
  const traceId = rootOf(one);
  return nodes
    .map(({ node, transaction }): TransactionRecord => {
      const { block, mcSeqno, finality, states } = node;
      const { externalHash, globalVersion } = trace;
      return {
        transaction: flagged(transaction),
        block,
        mcSeqno,
        traceId,
        externalHash,
        globalVersion,
        finality,
        ...decodeStates(states),
      };
    })
    .sort(({ transaction: a }, { transaction: b }) => compareDecimal(a.lt, b.lt) || a.account.compare(b.account));
}

export function traceRecord(one: OpenTrace): PendingTraceRecord {
  const { trace, nodes } = one;
  const [root] = nodes;
  const { endLt, endUtime } = endOf(one);
  const steps = nodes.map(({ node }) => node.mcSeqno);
  const sentBy = (some: typeof nodes): number => some.reduce((sum, one) => sum + one.transaction.outMsgs.length, 0);
  const emulated = nodes.filter(({ node }) => node.finality === 'pending');
  return {
    traceId: rootOf(one),
    externalHash: trace.externalHash,
    mcSeqnoStart: root.node.mcSeqno,
    mcSeqnoEnd: Math.max(...steps),
    startLt: root.transaction.lt,
    startUtime: root.transaction.now,
    endLt,
    endUtime,
    transactions: nodes.length,
    messages: sentBy(nodes) + 1,
    // Those of what is emulated: the message that begins the trace is its root's.
    pendingMessages: sentBy(emulated) + (root.node.finality === 'pending' ? 1 : 0),
    state: 'pending',
    classification: trace.classification,
    isIncomplete: trace.isIncomplete,
  };
}

export function endOf({ nodes }: OpenTrace): { endLt: Decimal; endUtime: number } {
  let [endLt, endUtime] = ['0', 0];
  for (const { transaction } of nodes) {
    if (compareDecimal(transaction.lt, endLt) > 0) endLt = transaction.lt;
    endUtime = Math.max(endUtime, transaction.now);
  }
  return { endLt, endUtime };
}

/** In the order in which they are stored: by their ends. */
export function actionRecords(one: OpenTrace): PendingActionRecord[] {
  const { trace, nodes } = one;
  const { endLt: traceEndLt, endUtime: traceEndUtime } = endOf(one);
  const { externalHash, hashNorm } = trace;
  const finality = new Map(nodes.map(({ node, transaction }) => [hashKey(transaction.hash), node]));
  const common = {
    traceId: rootOf(one),
    traceEndLt,
    traceEndUtime,
    mcSeqno: Math.max(...nodes.map(({ node }) => node.mcSeqno)),
    externalHash,
    externalHashNorm: hashNorm.equals(externalHash) ? null : hashNorm,
  };
  return trace.actions.map((action, number) => ({
    ...action,
    ...common,
    number,
    finality: finalityOf(action.transactions, finality),
  }));
}

const HASH_BYTES = 32;

/** Of the least sure of its transactions. */
function finalityOf(hashes: Buffer, nodes: ReadonlyMap<string, { finality: Finality }>): Finality {
  const own = Array.from({ length: hashes.length / HASH_BYTES }, (_, i) =>
    nodes.get(hashKey(hashes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES))),
  );
  return leastSure(own.flatMap((node) => node ?? []));
}
