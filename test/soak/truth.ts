/** What the event log says of each step, read beside the service that is asked for the same. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type EventLog, LogError } from '../../streams/log.ts';
import { type DecodedBlock, decodeStep } from '../../streams/project/decode.ts';
import { readSteps } from '../../streams/steps.ts';
import { type PublishedStep, readProjectedSteps } from '../../streams/steps-topic.ts';
import { topicNames } from '../../streams/topics.ts';
import { type ToldStep, toldOf } from './told.ts';

export interface StepTruth {
  mcSeqno: number;
  /** `workchain:shard:seqno` and root hash, with the time of the block. */
  blocks: readonly Shown[];
  /** Hashes in base64, with the time of the transaction. */
  transactions: readonly Shown[];
}

export interface Shown {
  name: string;
  utime: number;
}

export interface Truth {
  /** The newest step of the log. */
  readonly head: number;
  step(mcSeqno: number): StepTruth;
  steps(): readonly StepTruth[];
  /** What the feed is to tell of the steps. */
  told(): readonly ToldStep[];
  /** Waits until the log was read up to the step. */
  until(mcSeqno: number): Promise<void>;
  /** Some of the steps that were published: the newest, and a few older ones; for values to ask for. */
  published(): Promise<readonly PublishedStep[]>;
  close(): Promise<void>;
}

const topics = topicNames();
const NEWEST = 60;
/** One step in so many is remembered, to be asked for when it has long left the window. */
const REMEMBERED_EVERY = 40;
const MOST_REMEMBERED = 60;
const POLL_MS = 20;

/** Reads a log, and closes it when it is closed itself. A log that cannot be read fails `until` and `close`. */
export function followTruth(log: EventLog): Truth {
  const stopping = new AbortController();
  const steps: StepTruth[] = [];
  const told: ToldStep[] = [];
  const reading = read(log, { steps, told }, stopping.signal);
  // Its failure is told by whoever waits for it.
  reading.catch(() => undefined);
  const published = createPublished(log);
  const first = (): number => steps[0]?.mcSeqno ?? 1;
  return {
    get head() {
      return steps.at(-1)?.mcSeqno ?? 0;
    },
    step(mcSeqno) {
      const found = steps[mcSeqno - first()];
      if (found?.mcSeqno !== mcSeqno) throw new Error(`step ${mcSeqno} is not in the log`);
      return found;
    },
    steps: () => steps,
    told: () => told,
    async until(mcSeqno) {
      while ((steps.at(-1)?.mcSeqno ?? 0) < mcSeqno) await Promise.race([sleep(POLL_MS), failed(reading)]);
    },
    published,
    async close() {
      stopping.abort();
      await reading;
      await log.close();
    },
  };
}

async function failed(reading: Promise<void>): Promise<never> {
  await reading;
  return new Promise(() => undefined);
}

/** Fails for a step that does not follow the one before. */
async function read(
  log: EventLog,
  { steps, told }: { steps: StepTruth[]; told: ToldStep[] },
  signal: AbortSignal,
): Promise<void> {
  for await (const some of readSteps(log, topics.blocks, 0, { signal })) {
    for (const step of some) {
      const before = steps.at(-1)?.mcSeqno ?? step.mcSeqno - 1;
      if (step.mcSeqno !== before + 1) throw new Error(`step ${step.mcSeqno} is behind step ${before} in the log`);
      const { blocks } = decodeStep(step);
      told.push(toldOf(step.mcSeqno, blocks));
      steps.push(truthOf(step.mcSeqno, blocks));
    }
  }
}

function truthOf(mcSeqno: number, blocks: readonly DecodedBlock[]): StepTruth {
  return {
    mcSeqno,
    blocks: blocks.map(({ record: { header } }) => ({
      name: `${header.workchain}:${header.shard.toUpperCase()}:${header.seqno} ${header.rootHash.toString('base64')}`,
      utime: header.genUtime,
    })),
    transactions: blocks.flatMap(({ transactions }) =>
      transactions.map(({ hash, now }) => ({ name: hash.toString('base64'), utime: now })),
    ),
  };
}

function createPublished(log: EventLog): Truth['published'] {
  let next = 0;
  let newest: PublishedStep[] = [];
  const older: PublishedStep[] = [];

  async function readOn(): Promise<void> {
    const signal = new AbortController().signal;
    next = Math.max(next, await log.low(topics.steps));
    for await (const some of readProjectedSteps(log, topics.steps, next, { signal, stopAtEnd: true })) {
      for (const step of some) {
        if (step.step.mcSeqno % REMEMBERED_EVERY === 0) older.push(step);
        next = step.nextOffset;
      }
      newest = [...newest, ...some].slice(-NEWEST);
    }
    while (older.length > MOST_REMEMBERED) older.splice(Math.floor(Math.random() * older.length), 1);
  }

  async function read(): Promise<readonly PublishedStep[]> {
    try {
      await readOn();
    } catch (error) {
      // It was trimmed between the two questions; the next call reads from its new beginning.
      if (!(error instanceof LogError && error.code === 'trimmed')) throw error;
    }
    return [...older, ...newest];
  }

  // One after the other: each reads on from where the one before was.
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    const done = last.then(read);
    last = done.catch(() => undefined);
    return done;
  };
}
