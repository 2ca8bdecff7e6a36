import type { Logger } from 'pino';
import type { Config } from '../../src/config.ts';
import { type EventLog, LogError, type LogRecord } from '../log.ts';
import { type ProjectedStep, StepRecordError } from '../projected-step.ts';
import type { Step } from '../steps.ts';
import { encodeStepRecords, lastProjectedStep, type StepPart } from '../steps-topic.ts';
import type { TopicNames } from '../topics.ts';

export interface PublisherOptions {
  log: EventLog;
  topics: TopicNames;
  /** Bytes of steps the topic keeps; what is farther from the end of the log than this is not published at all. */
  retainBytes: number;
  /** Milliseconds a step is kept; 0 keeps it as long as the bytes allow. */
  retainMs: number;
  /** The tables are empty: steps that the topic has are of others, which were there before. Default: they are not. */
  tablesAreNew?: boolean;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** Told after steps were appended, with the newest of them. */
  onPublished?: (mcSeqno: number) => void;
}

const HOUR_MS = 3_600_000;

export function publishSettings(config: Pick<Config, 'stepsBytes' | 'stepsHours'>) {
  return { retainBytes: config.stepsBytes, retainMs: config.stepsHours * HOUR_MS };
}

/** What the publisher looks at of a step of the log. */
export interface Weighed extends Pick<Step, 'mcSeqno' | 'nextOffset'> {
  blocks: readonly { boc: Buffer }[];
}

export interface Publisher {
  /**
   * Whether these steps are to be published: they are behind those in the topic, and near enough to the end of the
   * log to be still in the topic when the projector has reached it. So a long history is not written to the log twice.
   */
  wants(steps: readonly Weighed[]): Promise<boolean>;
  /** Appends what the topic does not have yet, in order. To be called when the tables have the rows of these steps. */
  publish(steps: readonly ProjectedStep[]): Promise<void>;
}

/** Values in one append. */
const APPEND_BYTES = 8 * 1024 * 1024;
/** The topic is trimmed each time this share of what it keeps has been added. */
const TRIM_SHARE = 1 / 16;
const TRIM_EVERY_MS = 60_000;

/**
 * Writes the topic of projected steps. The steps in it follow one another without a hole: where some were left out,
 * because the projector was far behind, the topic is emptied and begun anew behind the hole. Publishing goes before
 * the batch is marked done, so a crash between the two repeats the batch and finds its steps there already.
 */
export async function createPublisher(options: PublisherOptions): Promise<Publisher> {
  const { log, topics, retainBytes, logger } = options;
  const topic = topics.steps;
  await log.ensureTopic(topic);
  let last = await readLast(options);
  let publishing = false;
  let trimmedAt = { sum: last?.sum ?? 0, ms: performance.now() };

  async function append(steps: readonly ProjectedStep[]): Promise<void> {
    let records: LogRecord[] = [];
    let bytes = 0;
    let sum = last?.sum ?? 0;
    const flush = async (): Promise<void> => {
      if (records.length > 0) await log.append(topic, records);
      records = [];
      bytes = 0;
    };
    for (const step of steps) {
      const added = encodeStepRecords(step, sum);
      const size = added.reduce((total, { value }) => total + value.length, 0);
      if (bytes + size > APPEND_BYTES) await flush();
      records.push(...added);
      bytes += size;
      sum += size;
      if (bytes > APPEND_BYTES) await flush();
      last = { ...step, part: added.length - 1, parts: added.length, sum };
    }
    await flush();
  }

  async function trim(): Promise<void> {
    const sum = last?.sum ?? 0;
    const due = sum - trimmedAt.sum > retainBytes * TRIM_SHARE || performance.now() - trimmedAt.ms > TRIM_EVERY_MS;
    if (!due) return;
    trimmedAt = { sum, ms: performance.now() };
    const before = await firstKept(options, sum);
    if (before > (await log.low(topic))) await log.trim(topic, before);
  }

  return {
    async wants(steps) {
      const newest = steps[steps.length - 1];
      if (last && newest.mcSeqno <= last.mcSeqno) return false;
      const blocks = steps.flatMap((step) => step.blocks);
      const bytes = blocks.reduce((total, { boc }) => total + boc.length, 0);
      const ahead = Math.max(0, (await log.end(topics.blocks)) - newest.nextOffset);
      // Twice as far once it has begun: a single long batch is no reason for a hole.
      publishing = ahead * (bytes / Math.max(1, blocks.length)) <= retainBytes * (publishing ? 2 : 1);
      return publishing;
    },
    async publish(steps) {
      const fresh = steps.filter(({ mcSeqno }) => last === null || mcSeqno > last.mcSeqno);
      const [first] = fresh;
      if (!first) return;
      const same = last && steps.find(({ mcSeqno }) => mcSeqno === last?.mcSeqno);
      const isOther = same && last && !same.rootHash.equals(last.rootHash);
      const follows = first.previous === last?.mcSeqno && !isOther;
      if (!follows && last !== null) {
        logger.info({ from: first.mcSeqno, had: last?.mcSeqno }, 'the topic of steps is begun anew behind a hole');
        await log.trim(topic, await log.end(topic));
      }
      // Whoever has other steps before it, of another chain or of tables made anew since, finds that these do not follow.
      await append(follows ? fresh : [{ ...first, previous: 0 }, ...fresh.slice(1)]);
      await trim();
      options.onPublished?.(fresh[fresh.length - 1].mcSeqno);
    },
  };
}

/** Where the topic ends. What another version has written is dropped, and what is of other tables. */
async function readLast({ log, topics, logger, tablesAreNew = false }: PublisherOptions): Promise<StepPart | null> {
  try {
    if (!tablesAreNew) return await lastProjectedStep(log, topics.steps);
  } catch (error) {
    if (!(error instanceof StepRecordError)) throw error;
    logger.warn({ err: error }, 'the topic of steps cannot be read and is begun anew');
  }
  await log.trim(topics.steps, await log.end(topics.steps));
  return null;
}

/** The first offset that is kept: by bytes, counted in the records themselves, and by time. */
async function firstKept(options: PublisherOptions, sum: number): Promise<number> {
  const { log, topics, retainBytes, retainMs } = options;
  const topic = topics.steps;
  const end = await log.end(topic);
  let low = await log.low(topic);
  let high = end;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((await sumAt(log, topic, middle)) > sum - retainBytes) high = middle;
    else low = middle + 1;
  }
  const byTime = retainMs > 0 ? await log.offsetAt(topic, Date.now() - retainMs) : 0;
  // The newest step stays, so that the next publisher knows where the topic ends.
  const kept = Math.min(Math.max(low, byTime), end - 1);
  return firstPartAt(log, topic, kept);
}

async function sumAt(log: EventLog, topic: string, offset: number): Promise<number> {
  const record = await log.get(topic, offset);
  if (record === null) throw new LogError('corrupt', `topic ${topic}, offset ${offset}: record is missing`);
  return Number(record.headers.sum);
}

/** The first record of the step that a record belongs to. */
async function firstPartAt(log: EventLog, topic: string, offset: number): Promise<number> {
  const record = await log.get(topic, offset);
  return record === null ? offset : Math.max(0, offset - Number(record.headers.part));
}
