import { DAMAGED_ADVICE, type Environment, openEnvironment } from './environment.ts';
import { checkRecords, decodeFrame, encodeFrame, frameTime } from './framing.ts';
import {
  beginsBehind,
  type EventLog,
  endsBefore,
  LogError,
  type LogRecord,
  type ReadOptions,
  type StoredRecord,
} from './log.ts';
import { isTopicName } from './topics.ts';

export interface EmbeddedLogOptions {
  /** Made when it is not there. On a local disk: lmdb maps its file into memory. */
  folder: string;
  /** Largest size of the file in bytes; by default it grows as needed. */
  mapSize?: number;
  /** How often a reader at the end looks for records of another process. */
  pollMs?: number;
}

const DEFAULT_POLL_MS = 20;
const DEFAULT_BATCH_BYTES = 8 * 1024 * 1024;
/** Records in one batch of `read`, however small, so that a batch does not hold the event loop for long. */
const BATCH_RECORDS = 10_000;
/** Records deleted in one write transaction of `trim`. */
const TRIM_RECORDS = 2_000;
const MAX_OFFSET = 0xffff_ffff;

/**
 * The event log in a folder, for one host: any number of processes and threads may read, one process a topic may
 * write. An acknowledged append is on the disk and survives `kill -9`. While a process is stopped (not killed) inside
 * an append, opening the folder waits: lmdb opens a database in a write transaction.
 * @throws {LogError} `unavailable` when the folder cannot be opened, `corrupt` when its file is no log or was cut off
 */
export function openEmbeddedLog(options: EmbeddedLogOptions): EventLog {
  const environment = openEnvironment(options.folder, options.mapSize);
  const pollMs = options.pollMs ?? DEFAULT_POLL_MS;
  const closing = new AbortController();
  const queues = new Map<string, Promise<unknown>>();

  const use = (topic: string): Environment => {
    if (closing.signal.aborted) throw new LogError('closed', 'the log is closed');
    if (!isTopicName(topic)) throw new LogError('topic_name', `${JSON.stringify(topic)} is not a topic name`);
    return environment;
  };
  const queued = <T>(topic: string, task: () => Promise<T>): Promise<T> => {
    const result = (queues.get(topic) ?? Promise.resolve()).then(task);
    queues.set(
      topic,
      result.catch(() => undefined),
    );
    return result;
  };

  return {
    async ensureTopic(topic) {
      await use(topic).create(topic);
    },
    async append(topic, records) {
      use(topic).lock(topic);
      checkRecords(topic, records);
      return queued(topic, () => appendFrames(environment, topic, records));
    },
    read: (topic, from, readOptions) =>
      readBatches(use(topic), topic, from, pollMs, {
        ...readOptions,
        signal: AbortSignal.any([readOptions.signal, closing.signal]),
      }),
    async get(topic, offset) {
      const { next, low } = use(topic).state(topic);
      return offset < low || offset >= next || !Number.isInteger(offset) ? null : load(environment, topic, offset);
    },
    async last(topic, n) {
      const { next, low } = use(topic).state(topic);
      const records: StoredRecord[] = [];
      for (let offset = Math.max(low, next - n); offset < next; offset++) {
        records.push(load(environment, topic, offset));
      }
      return records;
    },
    end: async (topic) => use(topic).state(topic).next,
    low: async (topic) => use(topic).state(topic).low,
    offsetAt: async (topic, unixMs) => searchTime(use(topic), topic, unixMs),
    trim: (topic, before) => trimFrames(use(topic), topic, before),
    noteProgress: (group, topic, nextOffset) => use(topic).note(group, topic, nextOffset),
    async close() {
      if (closing.signal.aborted) return;
      closing.abort();
      await Promise.all(queues.values());
      await environment.release();
    },
  };
}

async function appendFrames(environment: Environment, topic: string, records: readonly LogRecord[]) {
  return environment.change(topic, (state, frames) => {
    if (state.next + records.length > MAX_OFFSET) {
      throw new LogError('full', `topic ${topic} is full: offsets end at ${MAX_OFFSET}`);
    }
    const time = Math.max(state.time, Date.now());
    let next = state.next;
    for (const record of records) frames.putSync(next++, encodeFrame(record, time));
    return [
      { ...state, next, time },
      { first: state.next, last: next - 1 },
    ];
  });
}

function load(environment: Environment, topic: string, offset: number): StoredRecord {
  const frame = environment.frame(topic, offset);
  if (frame === undefined) throw missing(environment, topic, offset);
  try {
    return decodeFrame(frame, topic, offset);
  } catch (error) {
    throw error instanceof LogError ? damaged(environment, error.message) : error;
  }
}

function missing(environment: Environment, topic: string, offset: number): LogError {
  return damaged(environment, `topic ${topic}, offset ${offset}: record is missing`);
}

function damaged({ path }: Environment, what: string): LogError {
  return new LogError('corrupt', `the log in ${path} is damaged: ${what}; ${DAMAGED_ADVICE}`);
}

/** What a reader may keep of the file in memory. */
const MAPPED_BYTES = 64 * 1024 * 1024;

async function* readBatches(
  environment: Environment,
  topic: string,
  from: number,
  pollMs: number,
  options: ReadOptions,
): AsyncGenerator<StoredRecord[]> {
  const maxBytes = options.maxBytes ?? DEFAULT_BATCH_BYTES;
  let offset = from;
  let bytesPassed = 0;
  while (!options.signal.aborted) {
    environment.refresh();
    const { next, low } = environment.state(topic);
    if (offset < low) throw beginsBehind(topic, low, offset);
    if (offset > next) throw endsBefore(topic, next, offset);
    if (offset < next) {
      const batch = loadBatch(environment, topic, offset, next, maxBytes);
      offset += batch.length;
      for (const { value } of batch) bytesPassed += value.length;
      if (bytesPassed > MAPPED_BYTES) {
        environment.releasePages();
        bytesPassed = 0;
      }
      yield batch;
    } else if (options.stopAtEnd === true) {
      return;
    } else {
      await environment.changed(topic, pollMs, options.signal);
    }
  }
}

function loadBatch(environment: Environment, topic: string, from: number, end: number, maxBytes: number) {
  const batch: StoredRecord[] = [];
  let bytes = 0;
  for (let offset = from; offset < end && batch.length < BATCH_RECORDS; offset++) {
    const record = load(environment, topic, offset);
    bytes += record.value.length;
    if (bytes > maxBytes && batch.length > 0) break;
    batch.push(record);
  }
  return batch;
}

function searchTime(environment: Environment, topic: string, unixMs: number): number {
  const { low, next } = environment.state(topic);
  let before = low;
  let after = next;
  while (before < after) {
    const middle = Math.floor((before + after) / 2);
    const frame = environment.frame(topic, middle);
    if (frame === undefined) throw missing(environment, topic, middle);
    if (frameTime(frame) >= unixMs) after = middle;
    else before = middle + 1;
  }
  return before;
}

async function trimFrames(environment: Environment, topic: string, before: number): Promise<void> {
  for (;;) {
    const done = await environment.change(topic, (state, frames) => {
      const target = Math.min(before, state.next);
      const low = Math.max(state.low, Math.min(target, state.low + TRIM_RECORDS));
      for (let offset = state.low; offset < low; offset++) frames.removeSync(offset);
      return [{ ...state, low }, low >= target];
    });
    if (done) return;
  }
}
