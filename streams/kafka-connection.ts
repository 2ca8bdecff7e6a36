import { connect as connectPlain, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type ISocketFactory, Kafka, type LogEntry, logLevel } from 'kafkajs';
import Cluster from 'kafkajs/src/cluster/index.js';
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js';
import { LogError, type StoredRecord } from './log.ts';
import { createSeldom } from './seldom.ts';

/** What a pino logger offers and this file uses. */
export interface KafkaLogger {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  info(fields: object, message: string): void;
  debug(fields: object, message: string): void;
}

export type KafkaSasl =
  | { mechanism: 'plain'; username: string; password: string }
  | { mechanism: 'scram-sha-256'; username: string; password: string }
  | { mechanism: 'scram-sha-512'; username: string; password: string };

export interface KafkaConnectionOptions {
  /** `host:port` of some brokers of the cluster. */
  brokers: string[];
  clientId: string;
  ssl?: boolean | { ca?: string; cert?: string; key?: string; rejectUnauthorized?: boolean; servername?: string };
  sasl?: KafkaSasl;
  logger?: KafkaLogger;
  connectionTimeoutMs?: number;
  requestTimeoutMs?: number;
}

/** Outlasts the restart of a broker; kafkajs' default of 5 tries ends after some seconds. */
export const PATIENT_RETRY = { retries: 60, initialRetryTime: 100, maxRetryTime: 2_000 };
const CONNECTION_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 30_000;
const METADATA_MAX_AGE_MS = 60_000;
const READ_COMMITTED = 1;
const CONSUMER = -1;

/** The first broker error code in a chain of causes, e.g. `OFFSET_OUT_OF_RANGE`. */
export function brokerErrorType(error: unknown): string | null {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('type' in at && typeof at.type === 'string') return at.type;
  }
  return null;
}

const UNKNOWN_TOPIC = 'This server does not host this topic-partition';
/** Without a reason, and also where another process was faster. Who makes the topic tells what it was (kafka-topic.ts). */
const NOT_MADE = 'Topic creation errors';
/** Said of each idempotent producer whose tries have an end. One that fails is not used again (kafka-writer.ts). */
const TRIES_END = 'Limiting retries for the idempotent producer may invalidate EoS guarantees';

// kafkajs looks every millisecond for what waits to be sent, from the first answer of a connection on and also where
// nothing waits: one or two hundredths of a core each, and a warning of Node 24, as the delay is negative (its issues
// 1704, 1751). What comes to wait later sets the timer itself.
const { scheduleCheckPendingRequests } = RequestQueue.prototype;
RequestQueue.prototype.scheduleCheckPendingRequests = function (): void {
  if (this.pending.length > 0) scheduleCheckPendingRequests.call(this);
};

export function createKafka(options: KafkaConnectionOptions): Kafka {
  return new Kafka({
    brokers: options.brokers,
    clientId: options.clientId,
    ...(options.ssl === undefined ? {} : { ssl: options.ssl }),
    ...(options.sasl === undefined ? {} : { sasl: options.sasl }),
    connectionTimeout: options.connectionTimeoutMs ?? CONNECTION_TIMEOUT_MS,
    requestTimeout: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
    socketFactory,
    retry: PATIENT_RETRY,
    logLevel: logLevel.INFO,
    logCreator: () => createLogSink(options),
  });
}

/**
 * What kafkajs has to say, all of it at debug level. It calls every retry an error, several a second while a broker is
 * away: of those one warning in half a minute goes through. What it cannot mend reaches the caller as an exception.
 */
function createLogSink({ brokers, logger }: KafkaConnectionOptions) {
  const mayWarn = createSeldom();
  return ({ namespace, level, log }: LogEntry): void => {
    const { message, timestamp: _, logger: __, ...rest } = log;
    logger?.debug({ ...rest, part: `kafkajs ${namespace}`.trim() }, message);
    // Whether a topic is there is asked before it is made.
    if (rest.error === UNKNOWN_TOPIC || rest.error === NOT_MADE || message === TRIES_END) return;
    if (level > logLevel.WARN || !mayWarn()) return;
    logger?.warn({ brokers }, `Kafka: ${message}${typeof rest.error === 'string' ? `: ${rest.error}` : ''}`);
  };
}

const socketFactory: ISocketFactory = ({ host, port, ssl, onConnect }) => {
  const name = isIP(host) === 0 ? { servername: host } : {};
  const socket = ssl ? connectTls({ host, port, ...name, ...ssl }, onConnect) : connectPlain({ host, port }, onConnect);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, 60_000);
  return socket;
};

export interface Fetched {
  records: StoredRecord[];
  /** Where to go on. */
  next: number;
}

/**
 * Reads partition 0 of topics by offset, straight from its leader. A kafkajs consumer would have to join a group
 * first (3 s with a broker's default `group.initial.rebalance.delay.ms`), fetch ahead of its caller and be seeked
 * back; here each fetch is one question with one answer, so the caller's pace is the back-pressure.
 */
export interface KafkaConnection {
  /** Records from an offset on, in one fetch that waits up to `waitMs` for the first one; null without the topic. */
  fetch(topic: string, from: number, maxBytes: number, waitMs: number): Promise<Fetched | null>;
  /** Null when the topic does not exist. */
  bounds(topic: string): Promise<{ low: number; end: number } | null>;
  /** First offset with that time or a later one, null when there is none. */
  offsetAt(topic: string, unixMs: number): Promise<number | null>;
  partitions(topic: string): Promise<number>;
  deleteBefore(topic: string, offset: number): Promise<void>;
  commit(group: string, topic: string, nextOffset: number): Promise<void>;
  close(): Promise<void>;
}

/** Opens connections as needed. Errors are kafkajs' own: the caller decides what to try again. */
export function createKafkaConnection(kafka: Kafka, options: KafkaConnectionOptions): KafkaConnection {
  const cluster = new Cluster({
    brokers: options.brokers,
    clientId: options.clientId,
    ...(options.ssl === undefined ? {} : { ssl: options.ssl === true ? {} : options.ssl }),
    ...(options.sasl === undefined ? {} : { sasl: options.sasl }),
    logger: kafka.logger(),
    socketFactory,
    retry: { retries: 2, initialRetryTime: 100, maxRetryTime: 500 },
    connectionTimeout: options.connectionTimeoutMs ?? CONNECTION_TIMEOUT_MS,
    // An answer that does not come is an error here, so a fetch cannot stall, as kafkajs consumers can.
    requestTimeout: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
    enforceRequestTimeout: true,
    metadataMaxAge: METADATA_MAX_AGE_MS,
    allowAutoTopicCreation: false,
    maxInFlightRequests: null,
    isolationLevel: READ_COMMITTED,
  });
  let connected: Promise<void> | null = null;

  const isKnown = async (topic: string): Promise<boolean> => {
    const asked = await cluster.brokerPool.findConnectedBroker();
    try {
      await asked.metadata([topic]);
      return true;
    } catch (error) {
      if (brokerErrorType(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return false;
      throw error;
    }
  };
  const locate = async (topic: string): Promise<boolean> => {
    connected ??= cluster.connect();
    await connected;
    try {
      await cluster.addTargetTopic(topic);
      await cluster.refreshMetadataIfNecessary();
    } catch (error) {
      if (brokerErrorType(error) !== 'UNKNOWN_TOPIC_OR_PARTITION') throw error;
      if (!(await isKnown(topic))) return false;
      // Brokers are asked for all topics at once, and which one is not there they do not say: one that was deleted since
      // would stand for all others. A new connection knows nothing of it.
      throw error;
    }
    return true;
  };
  const leader = async (topic: string) => {
    const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [0]));
    if (nodeId === undefined) throw new LogError('unavailable', `topic ${topic} has no leader`);
    return cluster.findBroker({ nodeId });
  };
  const listOffset = async (topic: string, at: { fromBeginning?: boolean; fromTimestamp?: number }) => {
    const answers = await cluster.fetchTopicsOffset([{ topic, partitions: [{ partition: 0 }], ...at }]);
    return Number(answers[0].partitions[0].offset);
  };

  return {
    async fetch(topic, from, maxBytes, waitMs) {
      if (!(await locate(topic))) return null;
      const broker = await leader(topic);
      const { responses } = await broker.fetch({
        replicaId: CONSUMER,
        isolationLevel: READ_COMMITTED,
        maxWaitTime: waitMs,
        minBytes: 1,
        maxBytes,
        topics: [{ topic, partitions: [{ partition: 0, fetchOffset: String(from), maxBytes }] }],
      });
      const messages = responses.at(0)?.partitions.at(0)?.messages ?? [];
      const records: StoredRecord[] = [];
      for (const message of messages) {
        // A batch is sent whole, so it can begin before the offset asked for.
        if (Number(message.offset) < from || message.isControlRecord === true) continue;
        records.push(toRecord(message));
      }
      const last = messages.at(-1);
      return { records, next: Math.max(from, last === undefined ? from : Number(last.offset) + 1) };
    },
    async bounds(topic) {
      if (!(await locate(topic))) return null;
      const low = await listOffset(topic, { fromBeginning: true });
      return { low, end: await listOffset(topic, { fromBeginning: false }) };
    },
    async offsetAt(topic, unixMs) {
      if (!(await locate(topic))) return null;
      const offset = await listOffset(topic, { fromTimestamp: unixMs });
      return offset < 0 ? null : offset;
    },
    async partitions(topic) {
      return (await locate(topic)) ? cluster.findTopicPartitionMetadata(topic).length : 0;
    },
    async deleteBefore(topic, offset) {
      if (!(await locate(topic))) return;
      const broker = await leader(topic);
      await broker.deleteRecords({ topics: [{ topic, partitions: [{ partition: 0, offset: String(offset) }] }] });
    },
    async commit(group, topic, nextOffset) {
      await locate(topic);
      const coordinator = await cluster.findGroupCoordinator({ groupId: group });
      // Generation -1 without a member: the commit of a group that nobody has joined.
      await coordinator.offsetCommit({
        groupId: group,
        groupGenerationId: -1,
        memberId: '',
        topics: [{ topic, partitions: [{ partition: 0, offset: String(nextOffset) }] }],
      });
    },
    async close() {
      await cluster.disconnect();
    },
  };
}

type KafkaMessage = Pick<StoredMessage, 'key' | 'value' | 'timestamp' | 'offset' | 'headers'>;
interface StoredMessage {
  key: Buffer | null;
  value: Buffer | null;
  timestamp: string;
  offset: string;
  headers?: Record<string, Buffer | string | (Buffer | string)[] | undefined>;
}

function toRecord(message: KafkaMessage): StoredRecord {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(message.headers ?? {})) {
    const one = Array.isArray(value) ? value.at(-1) : value;
    if (one !== undefined) headers[name] = one.toString('latin1');
  }
  return {
    offset: Number(message.offset),
    time: Number(message.timestamp),
    key: message.key?.toString('utf8') ?? '',
    headers,
    value: message.value ?? Buffer.alloc(0),
  };
}
