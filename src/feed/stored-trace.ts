/**
 * Whether a trace that is stored has told a listener that something of it is final: who comes back heard so though the
 * line that he has now did not, and so did whom a step told before anything was said of its traces here.
 */
import type { ChainSource } from '../chain/chain-source.ts';
import { hashKey } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';
import type { QueryContext, TransactionRecord } from '../chain/records.ts';
import { type FeedEvent, messageEvents, messagesOf, transactionEvents } from './events.ts';
import { transactionsOf } from './trace-events.ts';

const ONE = { limit: 1, offset: 0 };

export function createStoredTraces(source: ChainSource, context: QueryContext) {
  const underWay = new Map<string, Promise<TransactionRecord[] | null>>();
  let last: Promise<unknown> = Promise.resolve();

  /** Null when they are too many to be looked at. */
  async function read(hashNorm: Hash): Promise<TransactionRecord[] | null> {
    const asked = { messageHashes: [hashNorm], sort: 'desc' as const, page: ONE };
    const [root] = await source.transactionsByMessage(asked, context);
    if (root === undefined) return [];
    const { traceId } = root;
    if (traceId === null) return [root];
    const filter = { traceIds: [traceId], txHashes: [], messageHashes: [], utime: {}, ltWindow: {} };
    const [trace] = (await source.traces({ ...filter, sort: 'asc', page: ONE }, context)).rows;
    return trace === undefined ? [root] : transactionsOf({ trace, traceId, index: 0 }, [], source, context);
  }

  /** Once for all who ask at the same time, and one trace after the other: many may end at once. */
  function transactions(hashNorm: Hash): Promise<TransactionRecord[] | null> {
    const key = hashKey(hashNorm);
    const known = underWay.get(key);
    if (known !== undefined) return known;
    const made = last.then(() => read(hashNorm)).finally(() => underWay.delete(key));
    underWay.set(key, made);
    last = made.catch(() => undefined);
    return made;
  }

  return {
    /**
     * Whether a step behind this one has told a listener something final of the trace.
     * @param hashNorm of the message that began it
     * @param concerns whether his subscription asks for an event
     */
    async hasTold(hashNorm: Hash, concerns: (event: FeedEvent) => boolean, mcSeqno: number): Promise<boolean> {
      const records = await transactions(hashNorm);
      // Of one too large to be looked at nothing is taken back: it has come.
      return records === null || records.some((record) => record.mcSeqno > mcSeqno && eventsOf(record).some(concerns));
    },
  };
}

function eventsOf(record: TransactionRecord) {
  return [...transactionEvents(0, [record]), ...messageEvents(0, [record], [messagesOf(record)])];
}
