import { address, bytes, hash, hashOrNone, oneOf, u32, u64 } from './columns.ts';
import { type Row, table } from './table.ts';

/**
 * Traces: a row for each step in which one grew, as it stood at the end of that step. Of the rows of a trace up to a
 * step that of the newest step counts. A trace is complete once and for all: then nothing is on its way any more.
 */
export const traces = table({
  name: 'traces',
  columns: {
    /** Hash of the root transaction. */
    traceId: hash,
    /** Step of the newest transaction. */
    mcSeqno: u32,
    mcSeqnoStart: u32,
    /** Of the root transaction. */
    startLt: u64,
    startUtime: u32,
    /** Greatest of all transactions. */
    endLt: u64,
    endUtime: u32,
    /** Hash of the root's in-message; null when it has none. */
    externalHash: hashOrNone,
    /** Normalised hash of an external in-message of the root; null where it is `externalHash` itself. */
    externalHashNorm: hashOrNone,
    transactions: u32,
    /** Messages that were received or left the chain. */
    messages: u32,
    /** Messages on their way. */
    pendingMessages: u32,
    /** `broken`: the message that began it was sent before the log begins. */
    state: oneOf('pending', 'complete', 'broken'),
    classification: oneOf('unclassified', 'ok', 'failed'),
    /** Of the step's transactions of the trace, in their order (trace-places.ts). */
    places: bytes,
  },
  kind: 'fact',
  key: ['traceId', 'mcSeqno'],
  indexes: [{ name: 'traces_by_lt', key: ['endLt', 'traceId', 'mcSeqno'], also: ['endUtime', 'state'] }],
  inStatus: true,
});

export type TraceRow = Row<typeof traces>;

/** The accounts of complete traces. */
export const traceAccounts = table({
  name: 'trace_accounts',
  columns: { account: address, endLt: u64, traceId: hash, endUtime: u32, mcSeqno: u32 },
  kind: 'fact',
  key: ['account', 'endLt', 'traceId'],
});
