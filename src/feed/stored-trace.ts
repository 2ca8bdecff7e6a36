/**
 * Whether a trace that is stored has told a listener that something of it is final: who comes back heard so though the
 * line that he has now did not, and so did whom a step told before anything was said of its traces here.
 */
import type { ChainSource } from '../chain/chain-source.ts';
import { hashKey } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';
import type { QueryContext, TraceRecord, TransactionRecord } from '../chain/records.ts';
import { type FeedEvent, messageEvents, messagesOf, transactionEvents } from './events.ts';
import { actionsEvent, actionsOf, type EndedTrace, groupEvent, traceEvent, transactionsOf } from './trace-events.ts';

const ONE = { limit: 1, offset: 0 };

interface Stored {
  records: readonly TransactionRecord[];
  /** Null for one that began before the log. */
  trace: TraceRecord | null;
}

export type StoredTraces = ReturnType<typeof createStoredTraces>;

export function createStoredTraces(source: ChainSource, context: QueryContext) {
  const underWay = new Map<string, Promise<Stored | null>>();
  let last: Promise<unknown> = Promise.resolve();

  /** Null when they are too many to be looked at. */
  async function read(hashNorm: Hash): Promise<Stored | null> {
    const asked = { messageHashes: [hashNorm], sort: 'desc' as const, page: ONE };
    const [root] = await source.transactionsByMessage(asked, context);
    if (root === undefined) return { records: [], trace: null };
    const { traceId } = root;
    if (traceId === null) return { records: [root], trace: null };
    const filter = { traceIds: [traceId], txHashes: [], messageHashes: [], utime: {}, ltWindow: {} };
    const [trace] = (await source.traces({ ...filter, sort: 'asc', page: ONE }, context)).rows;
    if (trace === undefined) return { records: [root], trace: null };
    const records = await transactionsOf({ trace, traceId, index: 0 }, [], source, context);
    return records && { records, trace };
  }

  /** Once for all who ask at the same time, and one trace after the other: many may end at once. */
  function stored(hashNorm: Hash): Promise<Stored | null> {
    const key = hashKey(hashNorm);
    const known = underWay.get(key);
    if (known !== undefined) return known;
    const made = last.then(() => read(hashNorm)).finally(() => underWay.delete(key));
    underWay.set(key, made);
    last = made.catch(() => undefined);
    return made;
  }

  /** Whether the step with which a trace was complete has told him what it tells of the whole. */
  async function hasToldWhole(
    ended: EndedTrace,
    records: readonly TransactionRecord[],
    hashNorm: Hash,
    concerns: (event: FeedEvent) => boolean,
  ): Promise<boolean> {
    const { mcSeqnoEnd } = ended.trace;
    if (concerns(groupEvent(mcSeqnoEnd, ended, records, records))) return true;
    if (concerns(traceEvent(mcSeqnoEnd, ended, hashNorm.toString('base64'), records, []))) return true;
    const actions = await actionsOf(mcSeqnoEnd, [ended], source, context);
    return concerns(actionsEvent(mcSeqnoEnd, ended, actions.get(hashKey(ended.traceId)) ?? []));
  }

  return {
    /**
     * Whether a step behind this one has told a listener something final of the trace.
     * @param hashNorm of the message that began it
     * @param concerns whether his subscription asks for an event
     */
    async hasTold(hashNorm: Hash, concerns: (event: FeedEvent) => boolean, mcSeqno: number): Promise<boolean> {
      const found = await stored(hashNorm);
      // Of one too large to be looked at nothing is taken back: it has come.
      if (found === null) return true;
      const { records, trace } = found;
      if (records.some((record) => record.mcSeqno > mcSeqno && eventsOf(record).some(concerns))) return true;
      if (trace?.state !== 'complete' || trace.mcSeqnoEnd <= mcSeqno) return false;
      return hasToldWhole({ trace, traceId: trace.traceId, index: 0 }, records, hashNorm, concerns);
    },
  };
}

/** Those of which it is known without the rest of its trace. */
function eventsOf(record: TransactionRecord): FeedEvent[] {
  return [...transactionEvents(0, [record]), ...messageEvents(0, [record], [messagesOf(record)])];
}
