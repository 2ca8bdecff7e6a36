/**
 * The topic of projected steps, `<prefix>.steps.v1`: what windows and feeds follow. A step is one or more records,
 * its parts in order; the last one seals it. Steps stand in the order of the log, each names the one before it, and
 * a reader that finds another one there knows that some are missing.
 */

import type { EventLog, LogRecord, ReadOptions, StoredRecord } from './log.ts';
import {
  decodeProjectedStep,
  encodeProjectedStep,
  type ProjectedStep,
  STEP_VERSION,
  StepRecordError,
} from './projected-step.ts';

/** Largest value of one record. Well below what a log takes, so that a reader's batch stays small. */
const PART_BYTES = 2 * 1024 * 1024;

/** What a record says of its step. */
export interface StepPart {
  mcSeqno: number;
  previous: number;
  globalId: number;
  rootHash: Buffer;
  /** From 0. */
  part: number;
  parts: number;
  /** Bytes of all values up to this one, since the topic was begun: tells how far back a number of bytes reaches. */
  sum: number;
}

/** A step with its place in the topic. */
export interface PublishedStep {
  step: ProjectedStep;
  /** Bytes of its records. */
  bytes: number;
  firstOffset: number;
  nextOffset: number;
  /** Unix milliseconds when its last record was appended. */
  time: number;
}

/**
 * The records of a step: key the masterchain seqno.
 * @param sum bytes of the values in the topic before it
 */
export function encodeStepRecords(step: ProjectedStep, sum: number, partBytes = PART_BYTES): LogRecord[] {
  const bytes = encodeProjectedStep(step);
  const parts = Math.max(1, Math.ceil(bytes.length / partBytes));
  return Array.from({ length: parts }, (_, part) => {
    const value = bytes.subarray(part * partBytes, (part + 1) * partBytes);
    return {
      key: String(step.mcSeqno),
      headers: {
        v: String(STEP_VERSION),
        mc: String(step.mcSeqno),
        prev: String(step.previous),
        net: String(step.globalId),
        rh: step.rootHash.toString('hex'),
        part: String(part),
        parts: String(parts),
        sum: String(sum + Math.min(bytes.length, (part + 1) * partBytes)),
      },
      value,
    };
  });
}

/** @throws {StepRecordError} also for a record of another version */
export function decodeStepPart({ headers, offset }: StoredRecord): StepPart {
  const fail = (what: string): never => {
    throw new StepRecordError(`record ${offset} of the steps: ${what}`);
  };
  const integer = (name: string): number => {
    const text = headers[name] ?? '';
    return /^-?\d{1,15}$/.test(text) ? Number(text) : fail(`header ${name} is ${JSON.stringify(text)}`);
  };
  if (headers.v !== String(STEP_VERSION)) fail(`version ${headers.v ?? '(none)'} is not ${STEP_VERSION}`);
  const { rh = '' } = headers;
  if (!/^[0-9a-f]{64}$/.test(rh)) fail('header rh is no hash');
  return {
    mcSeqno: integer('mc'),
    previous: integer('prev'),
    globalId: integer('net'),
    rootHash: Buffer.from(rh, 'hex'),
    part: integer('part'),
    parts: integer('parts'),
    sum: integer('sum'),
  };
}

/**
 * Whole steps from an offset on, as many at a time as a batch of the log completes. Passed over are records of an
 * earlier version, parts without their first one, and a step that was begun and not sealed: its publisher has ended
 * and published it again.
 * @throws {StepRecordError} @throws {LogError}
 */
export async function* readProjectedSteps(
  log: EventLog,
  topic: string,
  from: number,
  options: ReadOptions,
): AsyncGenerator<PublishedStep[]> {
  const collector = createCollector();
  for await (const batch of log.read(topic, from, options)) {
    const steps = batch.flatMap((record) => collector.add(record) ?? []);
    if (steps.length > 0) yield steps;
  }
}

function createCollector() {
  let open: { head: StepPart; firstOffset: number; values: Buffer[] } | null = null;
  return {
    add(record: StoredRecord): PublishedStep | null {
      if (isEarlier(record)) return null;
      const part = decodeStepPart(record);
      if (part.part === 0) open = { head: part, firstOffset: record.offset, values: [] };
      else if (open && !continues(open.head, open.values.length, part)) open = null;
      if (open === null) return null;
      open.values.push(record.value);
      if (open.values.length < part.parts) return null;
      const { firstOffset, values } = open;
      open = null;
      const bytes = values.length === 1 ? values[0] : Buffer.concat(values);
      const step = decodeProjectedStep(bytes);
      return { step, bytes: bytes.length, firstOffset, nextOffset: record.offset + 1, time: record.time };
    },
  };
}

function isEarlier({ headers }: StoredRecord): boolean {
  return /^\d{1,9}$/.test(headers.v ?? '') && Number(headers.v) < STEP_VERSION;
}

function continues(head: StepPart, collected: number, part: StepPart): boolean {
  return (
    part.part === collected &&
    part.parts === head.parts &&
    part.mcSeqno === head.mcSeqno &&
    part.rootHash.equals(head.rootHash)
  );
}

/**
 * The newest sealed step of the topic, without its content, and the bytes of the topic up to its end; null when there
 * is none.
 */
export async function lastProjectedStep(log: EventLog, topic: string): Promise<StepPart | null> {
  const low = await log.low(topic);
  for (let offset = (await log.end(topic)) - 1; offset >= low; offset--) {
    const record = await log.get(topic, offset);
    if (record === null) return null;
    const part = decodeStepPart(record);
    if (part.part === part.parts - 1) return part;
  }
  return null;
}

/**
 * The first record of the first step of which some record passes the test, or the end; what passes must be at the end of
 * the topic. Records of an earlier version never pass.
 */
async function firstPassing(log: EventLog, topic: string, passes: (part: StepPart) => boolean): Promise<number> {
  const partAt = async (offset: number): Promise<StepPart | null> => {
    const record = await log.get(topic, offset);
    return record === null || isEarlier(record) ? null : decodeStepPart(record);
  };
  const end = await log.end(topic);
  let [low, high] = [await log.low(topic), end];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const part = await partAt(middle);
    if (part !== null && passes(part)) high = middle;
    else low = middle + 1;
  }
  if (low === end) return end;
  // The step may begin before the part that passes.
  const part = await partAt(low);
  return part === null ? low : Math.max(await log.low(topic), low - part.part);
}

/** The first record of the newest steps that have about so many bytes, before a step or in all. */
export async function newestSteps(
  log: EventLog,
  topic: string,
  bytes: number,
  before: number = Number.POSITIVE_INFINITY,
): Promise<number> {
  const end = await firstPassing(log, topic, ({ mcSeqno }) => mcSeqno >= before);
  const low = await log.low(topic);
  const last = end > low ? await log.get(topic, end - 1) : null;
  if (last === null || isEarlier(last)) return end;
  const { sum } = decodeStepPart(last);
  return firstPassing(log, topic, (part) => part.sum > sum - bytes);
}
