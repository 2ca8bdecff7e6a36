import { setMaxListeners } from 'node:events';
import { decodeEnvelope } from '../envelope.ts';
import type { EventLog } from '../log.ts';
import { readSteps, type Step } from '../steps.ts';
import { cutBatches } from './batches.ts';
import { type Counters, newCounters } from './counters.ts';
import type { ProjectorOptions } from './options.ts';
import { createPatientClickHouse } from './patience.ts';
import { type Batch, createPositionStore, type Position, PositionError } from './position.ts';
import { createPublisher } from './publish.ts';
import { restateSteps } from './restate.ts';
import { createBatchWriter } from './writer.ts';

const MAX_REQUESTS = 64;

/**
 * Follows the log and writes its sealed steps into the tables, effectively once: each batch is announced with its
 * bounds, inserted under tokens that name those bounds, then marked done. After a crash the announced batch is
 * repeated as it was, and what is there already stays as it is (design: docs/architecture.md). An outage of ClickHouse
 * is waited for.
 *
 * @throws {PositionError} when the tables are of another version or another log, or a later projector took over
 */
export async function project(options: ProjectorOptions, signal: AbortSignal): Promise<void> {
  const { log, topics, config, logger } = options;
  // One for each request under way: a batch has an insert for each table.
  setMaxListeners(MAX_REQUESTS, signal);
  const counters = newCounters();
  const clickhouse = createPatientClickHouse(options.clickhouse, {
    outageMs: config.outageMs,
    logger,
    signal,
    onRetry: () => {
      counters.retries++;
    },
  });
  const store = createPositionStore(clickhouse);
  await store.claim(signal);
  const position = await store.read(signal);
  await log.ensureTopic(topics.blocks);
  if (position.done) await checkSameChain(log, topics.blocks, position.done);
  const publisher = options.publish ? await createPublisher({ log, topics, logger, ...options.publish }) : null;
  const reading = new AbortController();
  const { done } = position;
  if (publisher && done) await restateSteps({ ...options, clickhouse, publisher, done }, signal);
  const writer = await createBatchWriter({ ...options, clickhouse, store, counters, done, publisher }, signal);
  // A batch that cannot be written ends the wait for more.
  void writer.failed.then(() => reading.abort());
  try {
    const number = await repeatUnfinished(options, position, writer, signal);
    await follow(options, position, { number, writer, counters }, AbortSignal.any([signal, reading.signal]));
    await writer.flush();
  } finally {
    reading.abort();
  }
}

type BatchWriter = Awaited<ReturnType<typeof createBatchWriter>>;

/** Repeats the batch that was announced and not marked done; the number of the last batch there is. */
async function repeatUnfinished(
  options: ProjectorOptions,
  { done, intent }: Position,
  writer: BatchWriter,
  signal: AbortSignal,
): Promise<number> {
  if (!intent) return done?.number ?? 0;
  options.logger.info({ from: intent.firstMcSeqno, to: intent.mcSeqno }, 'repeating the batch that was not finished');
  await writer.add(await readExactly(options, intent, signal), intent.number, intent);
  return intent.number;
}

async function follow(
  { log, topics, config, stopAtEnd = false }: ProjectorOptions,
  { done, intent }: Position,
  { writer, counters, ...last }: { number: number; writer: BatchWriter; counters: Counters },
  signal: AbortSignal,
): Promise<void> {
  const newest = intent ?? done;
  const steps = readSteps(log, topics.blocks, newest?.nextOffset ?? 0, {
    signal,
    stopAtEnd,
    maxBytes: config.batchBytes,
    onDuplicate: () => {
      counters.duplicateRecords++;
    },
    ...(newest ? { network: { globalId: newest.globalId } } : {}),
  });
  const limits = { maxBytes: config.batchBytes, maxSteps: config.batchSteps, maxWaitMs: config.batchMs };
  let number = last.number;
  for await (const batch of cutBatches(steps, limits, signal)) await writer.add(batch, ++number);
}

/** The tables must have been made from this log: its record before the position is the one that was projected. */
async function checkSameChain(log: EventLog, topic: string, done: Batch): Promise<void> {
  const record = await log.get(topic, done.nextOffset - 1);
  if (record === null && (await log.low(topic)) >= done.nextOffset) return;
  const rootHash = record ? decodeEnvelope(record, topic).id.rootHash : null;
  if (rootHash?.equals(done.rootHash)) return;
  throw new PositionError(
    `the tables stand at step ${done.mcSeqno}, offset ${done.nextOffset}, of another log than this one ` +
      `(${rootHash ? 'another block is there' : 'the log ends before it'}): give the log they were made from, or run "tonstream rebuild"`,
  );
}

/** The steps of an announced batch, all of them and no more. */
async function readExactly(options: ProjectorOptions, intent: Batch, signal: AbortSignal): Promise<Step[]> {
  const steps: Step[] = [];
  const reading = readSteps(options.log, options.topics.blocks, intent.firstOffset, {
    signal,
    stopAtEnd: true,
  });
  for await (const group of reading) {
    for (const step of group) if (step.nextOffset <= intent.nextOffset) steps.push(step);
    if (group.at(-1)!.nextOffset >= intent.nextOffset) break;
  }
  signal.throwIfAborted();
  const last = steps.at(-1);
  if (last?.nextOffset !== intent.nextOffset || !last.blocks.at(-1)?.id.rootHash.equals(intent.rootHash)) {
    throw new PositionError(
      `the log has no step ${intent.mcSeqno} up to offset ${intent.nextOffset} as it was announced: give the log the ` +
        'tables were made from, or run "tonstream rebuild"',
    );
  }
  return steps;
}
