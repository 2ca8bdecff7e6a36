/** Puts sent messages on the topic of pending ones, and keeps that topic small. */
import { LRUCache } from 'lru-cache';
import { atMost } from '../src/at-most.ts';
import type { EventLog } from './log.ts';
import { encodePendingRecord, type PendingMessage } from './pending-record.ts';
import { topicRetentionMs } from './topics.ts';

export type NoteOutcome = 'noted' | 'known' | 'late' | 'failed';

export interface PendingWriter {
  /**
   * Resolves when the message is on the topic, or when it is not waited for any more: it was sent either way. One that
   * came within the last minute is there already.
   */
  note(message: PendingMessage): Promise<NoteOutcome>;
  close(): void;
}

export interface PendingWriterOptions {
  log: EventLog;
  topic: string;
  /** Sees why a message is not on the topic. */
  report(error: unknown): void;
  /** Milliseconds that a sender waits for the log. */
  patienceMs?: number;
  /** Most records the topic keeps, whatever their age. */
  maxRecords?: number;
  trimEveryMs?: number;
}

/** Messages that are known to be on the topic, and for how long: those who send again do so within seconds. */
const KNOWN = 8192;
const KNOWN_MS = 60_000;

export function createPendingWriter(options: PendingWriterOptions): PendingWriter {
  const { log, topic, report, patienceMs = 2_000, maxRecords = 65_536, trimEveryMs = 60_000 } = options;
  const known = new LRUCache<string, true>({ ...atMost(KNOWN), ttl: KNOWN_MS });
  let ready: Promise<void> | null = null;
  let trimming = false;

  async function append(message: PendingMessage, key: string): Promise<NoteOutcome> {
    try {
      ready ??= log.ensureTopic(topic);
      await ready;
      await log.append(topic, [encodePendingRecord(message)]);
      return 'noted';
    } catch (error) {
      ready = null;
      known.delete(key);
      report(error);
      return 'failed';
    }
  }

  /** By age and by number. Kafka keeps the age by itself; trimming what is gone changes nothing. */
  async function trim(): Promise<void> {
    if (trimming || known.size === 0) return;
    trimming = true;
    try {
      const [end, old] = await Promise.all([log.end(topic), log.offsetAt(topic, Date.now() - topicRetentionMs(topic))]);
      await log.trim(topic, Math.max(old, end - maxRecords));
    } catch (error) {
      report(error);
    } finally {
      trimming = false;
    }
  }
  const timer = setInterval(() => void trim(), trimEveryMs);
  timer.unref();

  return {
    async note(message) {
      const key = message.hash.toString('latin1');
      if (known.has(key)) return 'known';
      known.set(key, true);
      let giveUp: NodeJS.Timeout | undefined;
      const late = new Promise<NoteOutcome>((resolve) => {
        giveUp = setTimeout(() => resolve('late'), patienceMs);
      });
      const outcome = await Promise.race([append(message, key), late]);
      clearTimeout(giveUp);
      return outcome;
    },
    close: () => clearInterval(timer),
  };
}
