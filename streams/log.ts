/**
 * The event log: append-only topics with one partition each. Two implementations, `embedded.ts` (a folder) and
 * `kafka.ts` (a broker); one conformance suite holds both to this text. Nothing else may talk to a broker.
 */
import { isOfRecord } from './topics.ts';

export interface LogRecord {
  key: string;
  /** ASCII names and values. */
  headers: Record<string, string>;
  value: Buffer;
}

export interface StoredRecord extends LogRecord {
  offset: number;
  /** Unix milliseconds of the append. */
  time: number;
}

export interface ReadOptions {
  /** Upper bound of the sum of values in one batch; a single larger record still comes alone. */
  maxBytes?: number;
  signal: AbortSignal;
  /** End the iteration at the log's present end instead of waiting there. */
  stopAtEnd?: boolean;
}

export interface EventLog {
  /** Makes the topic if it is not there. */
  ensureTopic(topic: string): Promise<void>;
  /**
   * Appends in order; durable when the promise resolves. One writer a topic: the embedded log refuses a second
   * process with a LogError `writer_busy` naming the holder; calls of one process are queued.
   */
  append(topic: string, records: readonly LogRecord[]): Promise<{ first: number; last: number }>;
  /**
   * Contiguous batches from an offset on. The consumer pulls, so its pace is the back-pressure. Waits at the end
   * of the log (new records are seen within 250 ms), ends without an error when the signal aborts.
   */
  read(topic: string, from: number, options: ReadOptions): AsyncIterable<StoredRecord[]>;
  /** One record, or null when the offset is not in the log. */
  get(topic: string, offset: number): Promise<StoredRecord | null>;
  /** The newest n records, oldest first. */
  last(topic: string, n: number): Promise<StoredRecord[]>;
  /** The offset the next record will have: 0 for an empty or missing topic. */
  end(topic: string): Promise<number>;
  /** The oldest offset still kept. */
  low(topic: string): Promise<number>;
  /** First offset with `time >= unixMs`, or the end. */
  offsetAt(topic: string, unixMs: number): Promise<number>;
  /** Drops every record below the offset. */
  trim(topic: string, before: number): Promise<void>;
  /** For lag tools only; never read back. */
  noteProgress(group: string, topic: string, nextOffset: number): Promise<void>;
  /** Flushes, then releases. */
  close(): Promise<void>;
}

export type LogErrorCode =
  /** Another process writes the topic. */
  | 'writer_busy'
  /** What is stored is damaged, lost or of another shape, or a record has headers that cannot be stored. */
  | 'corrupt'
  /** The log does not answer, or refuses for now: the same may be tried again. The only code of which that is so. */
  | 'unavailable'
  /** A record, or a batch of them, is larger than the log takes. */
  | 'too_large'
  /** The topic has no offsets left for these records, whatever is trimmed. */
  | 'full'
  /** No topic can have this name. */
  | 'topic_name'
  /** Reading was to begin, or goes on, below what is kept. */
  | 'trimmed'
  /** The log was closed, or is being closed while brokers do not answer. */
  | 'closed';

export class LogError extends Error {
  constructor(
    readonly code: LogErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'LogError';
  }
}

/** Reading was to begin behind the end of a topic: what was read before is there no more. Who follows a feed begins anew. */
export function endsBefore(topic: string, end: number, from: number): LogError {
  const advice = isOfRecord(topic)
    ? 'give back the log that was read, or make anew what was made of it ("tonstream rebuild" for the tables)'
    : 'it was made anew, and is read from its beginning';
  return new LogError('corrupt', `topic ${topic} ends at offset ${end}, and was read up to ${from} before: ${advice}`);
}

/** Reading was to begin, or goes on, below what is kept. Of the log of record that is more than any retention should take. */
export function beginsBehind(topic: string, low: number, from: number): LogError {
  const advice = isOfRecord(topic)
    ? ': bring back a copy of the log that has it, for nothing can be projected, verified or made anew without it'
    : '';
  return new LogError('trimmed', `topic ${topic} starts at offset ${low}, ${from} is gone${advice}`);
}
