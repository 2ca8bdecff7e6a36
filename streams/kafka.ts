import { setMaxListeners } from 'node:events';
import { CompressionTypes } from 'kafkajs';
import { checkRecords, MAX_META_BYTES, MAX_VALUE_BYTES } from './framing.ts';
import { brokerErrorType, createKafka, type KafkaConnectionOptions, PATIENT_RETRY } from './kafka-connection.ts';
import { untilEnding } from './kafka-ending.ts';
import { createQueries, type KafkaSession, type Queries, readBatches } from './kafka-reader.ts';
import { ensureTopic } from './kafka-topic.ts';
import { type BatchProducer, createTopicWriter } from './kafka-writer.ts';
import { type EventLog, LogError, type StoredRecord } from './log.ts';
import { isTopicName } from './topics.ts';

export interface KafkaLogOptions extends KafkaConnectionOptions {
  /** Of whole batches, by the producer. Blocks shrink by a quarter to a third. Default `gzip`. */
  compression?: 'gzip' | 'none';
  /** Largest value of a record. */
  maxRecordBytes?: number;
  /** Payload of one produce request. */
  maxSendBytes?: number;
  /** For topics that `ensureTopic` makes. Default 1. */
  replicationFactor?: number;
  /** How long a broker may hold a fetch at the end of the log. */
  maxWaitMs?: number;
  /** How long a call keeps trying while no broker answers. */
  patienceMs?: number;
  /** From its abort on nobody waits long for brokers that do not answer; what they answer is done as before. */
  ending?: AbortSignal;
  /** Told when a reader replaced its connection, or a writer its producer, after a failure. */
  onRecreated?: (part: 'reader' | 'producer', topic: string) => void;
}

const SEND_BYTES = 8 * 1024 * 1024;
const POINT_BYTES = 64 * 1024;
const MAX_WAIT_MS = 200;
const PATIENCE_MS = 120_000;
/** A batch of one record is a little larger than its payload, more so when gzip finds nothing to save. */
const BATCH_OVERHEAD = 64 * 1024;

/** The largest batch, one of a single record, as it is sent. */
function maxBatchBytes({ maxRecordBytes = MAX_VALUE_BYTES }: KafkaLogOptions): number {
  return maxRecordBytes + MAX_META_BYTES + BATCH_OVERHEAD;
}

/**
 * The event log on a Kafka cluster: one partition a topic, idempotent producer, one send at a time. Several writers
 * are not kept apart (readSteps drops what they write twice); use one ingester a topic.
 */
export function openKafkaLog(options: KafkaLogOptions): EventLog {
  const closing = new AbortController();
  const ending = new AbortController();
  const end = (): void => ending.abort();
  // One for each question under way.
  setMaxListeners(0, ending.signal);
  if (options.ending?.aborted) end();
  options.ending?.addEventListener('abort', end, { once: true });
  const session: KafkaSession = {
    kafka: createKafka(options),
    connection: options,
    maxWaitMs: options.maxWaitMs ?? MAX_WAIT_MS,
    patienceMs: options.patienceMs ?? PATIENCE_MS,
    ending: ending.signal,
    onRecreated: options.onRecreated,
  };
  const queries = createQueries(session);
  const writers = createWriters(options, session, queries);

  const checked = (topic: string): string => {
    if (closing.signal.aborted) throw new LogError('closed', 'the log is closed');
    if (!isTopicName(topic)) throw new LogError('topic_name', `${JSON.stringify(topic)} is not a topic name`);
    return topic;
  };

  return {
    ensureTopic: async (topic) =>
      ensureTopic(checked(topic), queries, () => session.kafka.admin(), {
        replicationFactor: options.replicationFactor ?? 1,
        maxBatchBytes: maxBatchBytes(options),
      }),
    async append(topic, records) {
      checked(topic);
      checkRecords(topic, records, options.maxRecordBytes ?? MAX_VALUE_BYTES);
      return writers.append(topic, records);
    },
    read: (topic, from, readOptions) =>
      readBatches(session, checked(topic), from, {
        ...readOptions,
        signal: AbortSignal.any([readOptions.signal, closing.signal]),
      }),
    get: async (topic, offset) => getRecord(queries, checked(topic), offset),
    last: async (topic, n) => lastRecords(session, queries, checked(topic), n),
    end: async (topic) => (await queries.run((link) => link.bounds(checked(topic))))?.end ?? 0,
    low: async (topic) => (await queries.run((link) => link.bounds(checked(topic))))?.low ?? 0,
    async offsetAt(topic, unixMs) {
      checked(topic);
      const found = await queries.run((link) => link.offsetAt(topic, unixMs));
      return found ?? (await queries.run((link) => link.bounds(topic)))?.end ?? 0;
    },
    trim: async (topic, before) => trimTopic(queries, checked(topic), before),
    async noteProgress(group, topic, nextOffset) {
      checked(topic);
      await queries.run((link) => link.commit(group, topic, nextOffset));
    },
    async close() {
      if (closing.signal.aborted) return;
      closing.abort();
      options.ending?.removeEventListener('abort', end);
      end();
      // Of what is given up the readers learn at their next start.
      const closed = writers.close().then(() => queries.close());
      await untilEnding(closed, ending.signal).catch((error: unknown) => {
        options.logger?.warn({ err: error }, 'connections to Kafka are left open');
      });
    },
  };
}

function createWriters(options: KafkaLogOptions, session: KafkaSession, queries: Queries) {
  const writers = new Map<string, ReturnType<typeof createTopicWriter>>();
  const queues = new Map<string, Promise<unknown>>();
  const writerOf = (topic: string) => {
    let writer = writers.get(topic);
    if (writer === undefined) {
      writer = createTopicWriter({
        topic,
        openProducer: () => openProducer(options, session),
        end: async () => (await queries.run((link) => link.bounds(topic)))?.end ?? 0,
        readFrom: (offset) =>
          readBatches(session, topic, offset, { signal: new AbortController().signal, stopAtEnd: true }),
        lastTime: async () => (await lastRecords(session, queries, topic, 1)).at(0)?.time ?? 0,
        maxSendBytes: options.maxSendBytes ?? SEND_BYTES,
        maxBatchBytes: maxBatchBytes(options),
        logger: options.logger,
        onProducerReplaced: () => options.onRecreated?.('producer', topic),
      });
      writers.set(topic, writer);
    }
    return writer;
  };
  return {
    append(topic: string, records: Parameters<EventLog['append']>[1]) {
      const result = (queues.get(topic) ?? Promise.resolve()).then(() => writerOf(topic).append(records));
      queues.set(
        topic,
        result.catch(() => undefined),
      );
      return untilEnding(result, session.ending);
    },
    async close(): Promise<void> {
      await Promise.all(queues.values());
      await Promise.all([...writers.values()].map((writer) => writer.close()));
    },
  };
}

async function openProducer(options: KafkaLogOptions, session: KafkaSession): Promise<BatchProducer> {
  const producer = session.kafka.producer({
    idempotent: true,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    createPartitioner: () => () => 0,
    retry: PATIENT_RETRY,
  });
  await producer.connect();
  const compression = options.compression === 'none' ? CompressionTypes.None : CompressionTypes.GZIP;
  return {
    async send(topic, records, timeMs) {
      const timestamp = String(timeMs);
      const messages = records.map(({ key, headers, value }) => ({ key, headers, value, timestamp, partition: 0 }));
      const [answer] = await producer.send({ topic, messages, acks: -1, compression });
      if (answer?.baseOffset === undefined) throw new LogError('unavailable', `no offset for a batch of ${topic}`);
      return Number(answer.baseOffset);
    },
    close: () => producer.disconnect(),
  };
}

async function trimTopic(queries: Queries, topic: string, before: number): Promise<void> {
  const bounds = await queries.run((link) => link.bounds(topic));
  if (bounds === null || before <= bounds.low) return;
  await queries.run((link) => link.deleteBefore(topic, Math.min(before, bounds.end)));
}

async function getRecord(queries: Queries, topic: string, offset: number): Promise<StoredRecord | null> {
  if (!Number.isSafeInteger(offset) || offset < 0) return null;
  try {
    const answer = await queries.run((link) => link.fetch(topic, offset, POINT_BYTES, 0));
    return answer?.records.at(0)?.offset === offset ? answer.records[0] : null;
  } catch (error) {
    if (brokerErrorType(error) === 'OFFSET_OUT_OF_RANGE') return null;
    throw error;
  }
}

async function lastRecords(session: KafkaSession, queries: Queries, topic: string, n: number): Promise<StoredRecord[]> {
  const bounds = await queries.run((link) => link.bounds(topic));
  if (bounds === null || n <= 0) return [];
  const records: StoredRecord[] = [];
  const options = { signal: new AbortController().signal, stopAtEnd: true };
  for await (const batch of readBatches(session, topic, Math.max(bounds.low, bounds.end - n), options)) {
    records.push(...batch);
  }
  return records.slice(-n);
}
