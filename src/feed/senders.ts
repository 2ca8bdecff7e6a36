/** The transactions that sent what others received: of those of the newest steps that were read they are known. */
import { LRUCache } from 'lru-cache';
import { atMost } from '../at-most.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import { hashKey } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';
import type { MessageFilter, MessageRecord, QueryContext, TransactionRecord } from '../chain/records.ts';
import type { PlacedMessage } from './events.ts';
import { together } from './together.ts';

export interface Senders {
  /**
   * Who sent the messages that these transactions received, by the key of the message's hash; those that are not in the
   * index, or from outside, are left out.
   * @param messages of each of them all messages
   */
  of(
    records: readonly TransactionRecord[],
    messages: readonly (readonly PlacedMessage[])[],
    context: QueryContext,
  ): Promise<ReadonlyMap<string, Hash>>;
}

const KEPT = 50_000;

export function createSenders(source: Pick<ChainSource, 'messages'>): Senders {
  /** Keys of hashes both: so much is kept, and nothing of the rows that they came in. */
  const kept = new LRUCache<string, string>(atMost(KEPT));
  const ask = together(
    // Nothing but keys is looked at.
    async (hashes: Hash[], context) =>
      (await source.messages(messagesOf(hashes), { ...context, keysSuffice: true })).rows,
    ({ message }: MessageRecord) => hashKey(message.hash),
  );

  return {
    async of(records, messages, context) {
      for (const [at, { transaction }] of records.entries()) {
        for (const { index, message } of messages[at]) {
          if (index > 0) kept.set(hashKey(message.hash), hashKey(transaction.hash));
        }
      }
      const found = new Map<string, Hash>();
      const missing: Hash[] = [];
      for (const { index, message, hasSource } of messages.flat()) {
        if (index > 0 || !hasSource) continue;
        const { hash } = message;
        const known = kept.get(hashKey(hash));
        if (known === undefined) missing.push(hash);
        else found.set(hashKey(hash), Buffer.from(known, 'latin1'));
      }
      const rows = await ask(missing, context);
      for (const hash of missing) {
        const sender = rows.get(hashKey(hash))?.outTxHash ?? null;
        if (sender !== null) found.set(hashKey(hash), sender);
      }
      return found;
    },
  };
}

function messagesOf(messageHashes: Hash[]): MessageFilter {
  const page = { limit: messageHashes.length, offset: 0 };
  const rest = { utime: {}, ltWindow: {}, excludeExternals: false, onlyExternals: false };
  return { messageHashes, ...rest, sort: 'asc', page };
}
