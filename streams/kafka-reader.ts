import { setTimeout as sleep } from 'node:timers/promises';
import type { Kafka } from 'kafkajs';
import {
  brokerErrorType,
  createKafkaConnection,
  type Fetched,
  type KafkaConnection,
  type KafkaConnectionOptions,
  PATIENT_RETRY,
} from './kafka-connection.ts';
import { untilEnding } from './kafka-ending.ts';
import { beginsBehind, endsBefore, LogError, type ReadOptions, type StoredRecord } from './log.ts';

const BATCH_BYTES = 8 * 1024 * 1024;
/** After a change of leader its high watermark may lag behind what a reader has seen. */
const WATERMARK_GRACE_MS = 5_000;

export interface KafkaSession {
  kafka: Kafka;
  connection: KafkaConnectionOptions;
  maxWaitMs: number;
  patienceMs: number;
  /** From its abort on what fails is not tried again, and what is not answered soon is given up. */
  ending: AbortSignal;
  onRecreated: ((part: 'reader' | 'producer', topic: string) => void) | undefined;
}

export type Queries = ReturnType<typeof createQueries>;

/** Runs short questions over one shared connection, replaced when it fails, until one is answered or patience ends. */
export function createQueries(session: KafkaSession) {
  let link: KafkaConnection | null = null;
  let closed = false;
  const untilAnswered = async <T>(question: (link: KafkaConnection) => Promise<T>): Promise<T> => {
    const giveUpAt = performance.now() + session.patienceMs;
    for (let waitMs = PATIENT_RETRY.initialRetryTime; ; waitMs = Math.min(2 * waitMs, PATIENT_RETRY.maxRetryTime)) {
      if (closed) throw new LogError('closed', 'the log is closed');
      link ??= createKafkaConnection(session.kafka, session.connection);
      const mine = link;
      try {
        return await question(mine);
      } catch (error) {
        if (brokerErrorType(error) === 'OFFSET_OUT_OF_RANGE' || error instanceof LogError) throw error;
        // Others that it failed have closed it already.
        if (link === mine) {
          link = null;
          await closeQuietly(mine, session);
        }
        if (performance.now() > giveUpAt || session.ending.aborted) throw noAnswer(session, error);
      }
      await sleep(waitMs, undefined, { signal: session.ending }).catch(() => undefined);
    }
  };
  return {
    run: <T>(question: (link: KafkaConnection) => Promise<T>): Promise<T> =>
      untilEnding(untilAnswered(question), session.ending),
    close: async (): Promise<void> => {
      closed = true;
      if (link !== null) await closeQuietly(link, session);
    },
  };
}

function noAnswer({ connection: { brokers }, patienceMs }: KafkaSession, cause: unknown, doing = ''): LogError {
  const reason = cause instanceof Error ? `: ${cause.message}` : '';
  const message = `${doing}no answer from the Kafka brokers ${brokers.join(', ')} within ${patienceMs / 1000} s${reason}`;
  return new LogError('unavailable', `${message}. Check that they run and that KAFKA_BROKERS names them`, { cause });
}

async function closeQuietly(link: KafkaConnection, session: KafkaSession): Promise<void> {
  await link.close().catch((error: unknown) => {
    session.connection.logger?.debug({ err: error }, 'closing a connection to Kafka');
  });
}

export async function* readBatches(
  session: KafkaSession,
  topic: string,
  from: number,
  options: ReadOptions,
): AsyncGenerator<StoredRecord[]> {
  const maxBytes = options.maxBytes ?? BATCH_BYTES;
  const reader = createReader(session, topic, options.signal);
  try {
    const stopAt = options.stopAtEnd === true ? await reader.checkedEnd(from) : Number.POSITIVE_INFINITY;
    let offset = from;
    while (offset < stopAt && !options.signal.aborted) {
      const { records, next } = await reader.fetch(offset, maxBytes);
      for (const batch of cut(records, maxBytes, stopAt)) {
        if (options.signal.aborted) return;
        yield batch;
      }
      offset = next;
    }
  } finally {
    await reader.close();
  }
}

/** One fetch can bring more than was asked for: batches are sent whole and unpack to more. */
function* cut(records: StoredRecord[], maxBytes: number, stopAt: number): Generator<StoredRecord[]> {
  let batch: StoredRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    if (record.offset >= stopAt) break;
    if (batch.length > 0 && bytes + record.value.length > maxBytes) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(record);
    bytes += record.value.length;
  }
  if (batch.length > 0) yield batch;
}

/** Fetches over a connection of its own, so that one that waits at the end holds nobody up. */
function createReader(session: KafkaSession, topic: string, signal: AbortSignal) {
  let link: KafkaConnection | null = null;
  let waitMs = PATIENT_RETRY.initialRetryTime;
  /** Since when the brokers know of no such topic. */
  let missingSince: number | null = null;

  const failed = async (error: unknown, giveUpAt: number): Promise<void> => {
    if (error instanceof LogError && error.code !== 'unavailable') throw error;
    if (performance.now() > giveUpAt || session.ending.aborted) {
      throw noAnswer(session, error, `reading topic ${topic} failed: `);
    }
    if (link !== null) {
      session.onRecreated?.('reader', topic);
      await closeQuietly(link, session);
      link = null;
    }
    await sleep(waitMs, undefined, { signal: AbortSignal.any([signal, session.ending]) }).catch(() => undefined);
    waitMs = Math.min(2 * waitMs, PATIENT_RETRY.maxRetryTime);
  };
  /** Patience begins with the question: between two of them the reader may be kept waiting by what it read. */
  const ask = async <T>(question: (link: KafkaConnection) => Promise<T>, aborted: T): Promise<T> => {
    const giveUpAt = performance.now() + session.patienceMs;
    while (!signal.aborted) {
      try {
        link ??= createKafkaConnection(session.kafka, session.connection);
        const answer = await untilEnding(untilEnding(question(link), signal, 0), session.ending);
        waitMs = PATIENT_RETRY.initialRetryTime;
        return answer;
      } catch (error) {
        if (!signal.aborted) await failed(error, giveUpAt);
      }
    }
    return aborted;
  };
  // An abort must not wait for a broker that is gone.
  const hangUp = (): void => {
    if (link !== null) closeQuietly(link, session).catch(() => undefined);
  };
  signal.addEventListener('abort', hangUp);

  const bounds = () => ask((link) => link.bounds(topic), null);
  const outOfRange = async (offset: number): Promise<void> => {
    const { low, end } = (await bounds()) ?? { low: 0, end: 0 };
    if (offset < low) throw beginsBehind(topic, low, offset);
    if (offset > end) throw endsBefore(topic, end, offset);
  };

  return {
    /** The log's end; refuses an offset that is not in the log. */
    async checkedEnd(offset: number): Promise<number> {
      const found = await bounds();
      await outOfRange(offset);
      return found?.end ?? 0;
    },
    async fetch(offset: number, maxBytes: number): Promise<Fetched> {
      const since = performance.now();
      const nothing: Fetched = { records: [], next: offset };
      return ask(async (link) => {
        try {
          const fetched = await link.fetch(topic, offset, maxBytes, session.maxWaitMs);
          if (fetched !== null) {
            missingSince = null;
            return fetched;
          }
          missingSince ??= performance.now();
          // It was there, and nobody may ever make it again.
          if (offset > 0 && performance.now() - missingSince > session.patienceMs) throw endsBefore(topic, 0, offset);
          // No such topic yet, so no broker to hold the question back.
          await sleep(session.maxWaitMs, undefined, { signal });
          return nothing;
        } catch (error) {
          if (brokerErrorType(error) !== 'OFFSET_OUT_OF_RANGE') throw error;
          const found = (await link.bounds(topic)) ?? { low: 0, end: 0 };
          if (offset < found.low || performance.now() - since > WATERMARK_GRACE_MS) await outOfRange(offset);
          throw error;
        }
      }, nothing);
    },
    async close(): Promise<void> {
      signal.removeEventListener('abort', hangUp);
      // Closing one waits for what it was asked.
      const closing = link === null ? null : closeQuietly(link, session);
      if (!signal.aborted && !session.ending.aborted) await closing;
    },
  };
}
