/**
 * External messages that hosts of ours have sent within the last hour, by their hashes: read from the topic `pending`
 * when asked for.
 */
import { LRUCache } from 'lru-cache';
import type { EventLog } from '../../streams/log.ts';
import { readPendingKeys } from '../../streams/pending-record.ts';
import { topicRetentionMs } from '../../streams/topics.ts';
import { atMost } from '../at-most.ts';
import { hashKey } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';

export interface SentMessages {
  /**
   * When a message was sent first, in Unix milliseconds; null when no host of ours sent it, or longer ago than the topic
   * keeps messages.
   * @param hash of the message as it was sent, or of its normal form
   * @throws {LogError} when the topic cannot be read; the signal's reason when it aborts
   */
  sentAt(hash: Hash, signal: AbortSignal): Promise<number | null>;
  /**
   * Hash of the normal form of a message, by the hash that it was sent with; null when no host of ours sent it in this
   * encoding, or it is the same.
   * @throws as `sentAt`
   */
  normOf(hash: Hash, signal: AbortSignal): Promise<Hash | null>;
}

export interface SentMessagesOptions {
  log: EventLog;
  /** The topic of pending messages. */
  topic: string;
  /** Most messages that are remembered, the newest; some 400 bytes each. As many as the topic keeps by default. */
  maxMessages?: number;
  /** Longest time to read what is new in the topic. */
  timeoutMs?: number;
}

/** For where nobody sends. */
export const noSentMessages: SentMessages = { sentAt: async () => null, normOf: async () => null };

const MAX_MESSAGES = 65_536;
const TIMEOUT_MS = 10_000;
/** Between two turns of the event loop. */
const BATCH_BYTES = 256 * 1024;

export function createSentMessages(options: SentMessagesOptions): SentMessages {
  const { log, topic, maxMessages = MAX_MESSAGES, timeoutMs = TIMEOUT_MS } = options;
  const retentionMs = topicRetentionMs(topic);
  // A message has two hashes.
  const times = new LRUCache<string, number>(atMost(2 * maxMessages));
  /** By the hash that a message was sent with, where its normal form has another one. */
  const norms = new LRUCache<string, string>(atMost(maxMessages));
  let next = 0;
  let reading: Promise<void> | null = null;

  function forget(): void {
    times.clear();
    norms.clear();
  }

  function timeOf(key: string): number | null {
    const time = times.get(key);
    return time !== undefined && time >= Date.now() - retentionMs ? time : null;
  }

  async function catchUp(): Promise<void> {
    const end = await log.end(topic);
    // A topic that ends before is another one.
    if (end < next) forget();
    let from = Math.max(end < next ? 0 : next, await log.low(topic));
    const signal = AbortSignal.timeout(timeoutMs);
    while (from < end) {
      const before = from;
      for await (const records of log.read(topic, from, { signal, stopAtEnd: true, maxBytes: BATCH_BYTES })) {
        for (const record of records) {
          const [own, norm] = readPendingKeys(record, topic).map(hashKey);
          // What is sent again was sent before, as far back as the topic goes.
          for (const key of [own, norm]) if (timeOf(key) === null) times.set(key, record.time);
          if (own !== norm) norms.set(own, norm);
          from = record.offset + 1;
        }
        next = from;
        await new Promise(setImmediate);
      }
      if (from === before) throw new Error(`the topic ${topic} cannot be read in ${timeoutMs} ms`);
    }
    next = from;
  }

  /** All that is on the topic by now is known then. */
  async function upToDate(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    // One that has begun may have looked for the end before.
    await reading?.catch(() => undefined);
    signal.throwIfAborted();
    reading ??= catchUp().finally(() => {
      reading = null;
    });
    await reading;
    signal.throwIfAborted();
  }

  return {
    async sentAt(hash, signal) {
      await upToDate(signal);
      return timeOf(hashKey(hash));
    },
    async normOf(hash, signal) {
      const key = hashKey(hash);
      // What is known of a message stays so: for one that waits to be final it is asked again and again.
      if (timeOf(key) === null) await upToDate(signal);
      const norm = norms.get(key);
      return norm === undefined || timeOf(key) === null ? null : Buffer.from(norm, 'latin1');
    },
  };
}
