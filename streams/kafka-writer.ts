import { recordBytes } from './framing.ts';
import { brokerErrorType, type KafkaLogger } from './kafka-connection.ts';
import { LogError, type LogRecord, type StoredRecord } from './log.ts';
import { createSeldom } from './seldom.ts';
import { isOfRecord } from './topics.ts';

/** Sends one batch and returns the offset of its first record. */
export interface BatchProducer {
  send(topic: string, records: readonly LogRecord[], timeMs: number): Promise<number>;
  close(): Promise<void>;
}

export interface TopicWriterOptions {
  topic: string;
  /** A producer with a new producer id. */
  openProducer(): Promise<BatchProducer>;
  /** The log's end, and its records from an offset on; to see whether a batch whose answer is lost got in. */
  end(): Promise<number>;
  readFrom(offset: number): AsyncIterable<StoredRecord[]>;
  /** Time of the newest record. */
  lastTime(): Promise<number>;
  maxSendBytes: number;
  /** What the topic has to take: its `max.message.bytes`. */
  maxBatchBytes: number;
  logger: KafkaLogger | undefined;
  onProducerReplaced?: () => void;
}

/** The broker no longer knows where this producer's sequence stands; trying again cannot mend it. */
const SEQUENCE_LOST = new Set(['OUT_OF_ORDER_SEQUENCE_NUMBER', 'UNKNOWN_PRODUCER_ID', 'INVALID_PRODUCER_EPOCH']);
/** The broker takes nothing that is an hour ahead of its clock, by default. */
const AHEAD = 'INVALID_TIMESTAMP';
const TOO_LARGE = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']);
const ATTEMPTS = 3;
const GO_ON = 'start again, to go on from what they have';
/** What a record takes in a batch besides its payload, at most. */
const RECORD_OVERHEAD = 64;

/** Cuts records into batches of at most `maxBytes`, in order; a larger record is a batch of its own. */
export function splitBatches(records: readonly LogRecord[], maxBytes: number): LogRecord[][] {
  const batches: LogRecord[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const record of records) {
    const size = recordBytes(record) + RECORD_OVERHEAD;
    if (bytes + size > maxBytes) {
      batches.push([]);
      bytes = 0;
    }
    batches[batches.length - 1].push(record);
    bytes += size;
  }
  return batches;
}

/**
 * Appends to one topic, one send at a time. The caller queues: a call starts when the one before it has ended.
 *
 * After any failed send the producer is given up, because kafkajs would send the next batch under the sequence
 * number of the failed one, and a broker that did store that one would take the next for a repetition.
 */
export function createTopicWriter(options: TopicWriterOptions) {
  const { topic } = options;
  let producer: BatchProducer | null = null;
  /** Behind all that brokers have acknowledged here. */
  let expected = 0;
  /** Of the newest record. */
  let time: number | null = null;
  const mayTell = createSeldom();

  const giveUp = async (): Promise<void> => {
    const old = producer;
    producer = null;
    options.onProducerReplaced?.();
    await old?.close().catch((error: unknown) => {
      options.logger?.warn({ err: error, topic }, 'closing a failed producer');
    });
  };

  // A topic that this program made takes them all; others have the broker's default, 1 MB.
  const refused = (batch: readonly LogRecord[], cause: unknown): LogError => {
    const bytes = batch.reduce((sum, record) => sum + recordBytes(record), 0);
    const advice = `set its max.message.bytes to ${options.maxBatchBytes} or more`;
    return new LogError('too_large', `topic ${topic} refused a batch of ${bytes} bytes: ${advice}`, { cause });
  };

  /** Brokers may have come back with an older copy of their data, or with none, since the last append. */
  const checkedEnd = async (): Promise<number> => {
    const end = await options.end();
    if (end < expected && isOfRecord(topic)) throw recordsLost(topic, end, expected, GO_ON);
    return end;
  };

  const sendOnce = async (batch: readonly LogRecord[], timeMs: number): Promise<number> => {
    if (producer === null) {
      producer = await options.openProducer();
      expected = await checkedEnd();
    } else if (isOfRecord(topic)) {
      // Brokers that forgot the producer as well take its next batch as the first one of a new one.
      await checkedEnd();
    }
    const first = await producer.send(topic, batch, timeMs);
    // They came back since.
    if (first < expected && isOfRecord(topic)) {
      const hole = `and what was sent since stands at offset ${first}, behind a hole`;
      throw recordsLost(topic, first, expected, `${hole}: begin with a new topic, or restore the brokers' data`);
    }
    expected = first + batch.length;
    return first;
  };

  const send = async (batch: readonly LogRecord[], timeMs: number): Promise<number> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await sendOnce(batch, timeMs);
      } catch (error) {
        const type = brokerErrorType(error) ?? '';
        const hadProducer = producer !== null;
        await giveUp();
        if (error instanceof LogError && error.code === 'corrupt') throw error;
        if (TOO_LARGE.has(type)) throw refused(batch, error);
        if (!SEQUENCE_LOST.has(type) || attempt === ATTEMPTS) {
          const clocks = type === AHEAD ? ': compare the clock of this host with those of the brokers' : '';
          const reason = (error instanceof Error ? `: ${error.message}` : '') + clocks;
          throw new LogError('unavailable', `appending to topic ${topic} failed${reason}`, { cause: error });
        }
        options.logger?.warn({ topic, type }, 'producer replaced');
        expected = Math.min(expected, await checkedEnd());
        const found = hadProducer ? await findBatch(options.readFrom(expected), batch) : null;
        if (found !== null) return found;
      }
    }
  };

  const sendAt = async (batch: readonly LogRecord[], timeMs: number): Promise<number> => {
    const first = await send(batch, timeMs);
    time = timeMs;
    return first;
  };

  /** Not before the newest record, unless that, or this host, is of a time to come for the brokers. */
  const sendInTime = async (batch: readonly LogRecord[], now: number): Promise<number> => {
    const newest = time ?? (await options.lastTime());
    try {
      return await sendAt(batch, Math.max(newest, now));
    } catch (error) {
      if (brokerErrorType(error) !== AHEAD || newest === 0) throw error;
      if (mayTell()) options.logger?.warn({ topic }, 'the clocks of this host and of the brokers disagree by far');
      return sendAt(batch, Math.min(newest, now));
    }
  };

  return {
    async append(records: readonly LogRecord[]): Promise<{ first: number; last: number }> {
      if (records.length === 0) {
        const end = await checkedEnd();
        return { first: end, last: end - 1 };
      }
      const now = Date.now();
      let first: number | null = null;
      let last = -1;
      for (const batch of splitBatches(records, options.maxSendBytes)) {
        const base = await sendInTime(batch, now);
        first ??= base;
        last = base + batch.length - 1;
      }
      return { first: first ?? last + 1, last };
    },
    async close(): Promise<void> {
      await producer?.close();
      producer = null;
    },
  };
}

/** Brokers came back without records whose append they had acknowledged. */
function recordsLost(topic: string, from: number, to: number, advice: string): LogError {
  const what = `the brokers have lost the records ${from} to ${to - 1} of topic ${topic}, which they had acknowledged`;
  return new LogError('corrupt', `${what}: ${advice}`);
}

/** Offset at which the batch stands, whole and in order, or null. A batch is stored whole or not at all. */
async function findBatch(batches: AsyncIterable<StoredRecord[]>, batch: readonly LogRecord[]): Promise<number | null> {
  let matched = 0;
  for await (const records of batches) {
    for (const record of records) {
      if (!sameRecord(record, batch[matched])) matched = 0;
      if (sameRecord(record, batch[matched])) matched++;
      if (matched === batch.length) return record.offset - matched + 1;
    }
  }
  return null;
}

function sameRecord(a: LogRecord, b: LogRecord): boolean {
  return a.key === b.key && a.value.equals(b.value);
}
