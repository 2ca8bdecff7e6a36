import { callOffSwap } from '../../clickhouse/swap.ts';
import { decodeEnvelope } from '../envelope.ts';
import type { EventLog } from '../log.ts';
import { readSteps, type Step } from '../steps.ts';
import { cutBatches } from './batches.ts';
import { type Counters, newCounters } from './counters.ts';
import { type DocumentsOptions, followDocuments, projectDocuments } from './documents.ts';
import { noteTokens } from './lost-inserts.ts';
import type { ProjectorOptions } from './options.ts';
import { createPatientClickHouse } from './patience.ts';
import {
  type Batch,
  createPositionStore,
  type Intent,
  OWNER_MS,
  type Position,
  PositionError,
  PROJECTORS,
  rebuildAdvice,
} from './position.ts';
import { PROJECTIONS } from './projections.ts';
import { createPublisher } from './publish.ts';
import { holdVersions } from './versions.ts';
import { type BatchWriterOptions, createBatchWriter, decodeBatch } from './writer.ts';

/**
 * Follows the log and writes its sealed steps into the tables, effectively once: each batch is announced with its
 * bounds, inserted under tokens that name those bounds, then marked done. After a crash the announced batch is
 * repeated as it was, and what is there already stays as it is (design: docs/design/projection.md). An outage of ClickHouse
 * is waited for.
 *
 * @throws {PositionError} when the tables are of another version or another log, or a later projector took over
 * @throws {LogError} `writer_busy` where another process publishes into an embedded log
 */
export async function project(options: ProjectorOptions, signal: AbortSignal): Promise<void> {
  const { log, topics, config, logger } = options;
  const counters = newCounters();
  const clickhouse = createPatientClickHouse(options.clickhouse, {
    outageMs: config.outageMs,
    logger,
    signal,
    onRetry: () => {
      counters.retries++;
    },
    // In the meantime another projector may have begun, or a rebuild have put other tables in their place: rows that came
    // late would be there twice, and a position would be that of the former tables. An outage may outlast what the
    // tables remember of tokens.
    async mayInsert(table, again) {
      if (table !== PROJECTORS) await store.checkOwner(signal, again ? 0 : OWNER_MS);
    },
  });
  const store = options.claimed ?? createPositionStore(clickhouse);
  // What may refuse this one comes before the claim: it would have stopped the other for nothing.
  if (options.publish) {
    await log.ensureTopic(topics.steps);
    // An empty append takes the writer's lock of an embedded log.
    await log.append(topics.steps, []);
  }
  const projections = options.projections ?? PROJECTIONS;
  if (!options.claimed) {
    const found = await store.read(signal);
    if (found.done || found.intent) await holdVersions(clickhouse, projections, found, signal, options.remade);
    if (found.done) await checkSameChain(log, topics.blocks, found.done);
    await store.claim(signal);
    if (!(await callOffSwap(clickhouse, signal)))
      throw new PositionError('a rebuild puts its tables in the place of these: start again');
  }
  await noteTokens(clickhouse, signal);
  const position = await store.read(signal);
  await holdVersions(clickhouse, projections, position, signal, options.remade);
  await log.ensureTopic(topics.blocks);
  if (position.done) await checkSameChain(log, topics.blocks, position.done);
  const tablesAreNew = position.done === null && position.intent === null;
  const publisher = options.publish
    ? await createPublisher({ log, topics, logger, tablesAreNew, ...options.publish })
    : null;
  const reading = new AbortController();
  const writing = { ...options, clickhouse, store, counters, publisher };
  const done = await repeatUnfinished(writing, position, signal);
  const writer = await createBatchWriter({ ...writing, done }, signal);
  let beside: Promise<void> | null = null;
  // A batch that cannot be written ends the wait for more.
  void writer.failed.then(() => reading.abort());
  try {
    const continuous = config.kafkaBrokers !== undefined;
    const parts = { log, topic: topics.documents, clickhouse, continuous, ...documentReports(options) };
    if (options.stopAtEnd) await projectDocuments(parts, signal);
    else {
      beside = followDocuments(parts, AbortSignal.any([signal, reading.signal]));
      // Thrown again below: what ends it ends the reading of steps as well.
      beside.catch(() => reading.abort());
    }
    await follow(options, done, { writer, counters }, AbortSignal.any([signal, reading.signal]));
    await writer.flush();
  } finally {
    reading.abort();
    await Promise.allSettled([beside]);
    await writer.close();
  }
  await beside;
}

function documentReports({ logger }: ProjectorOptions): Pick<DocumentsOptions, 'onTrouble' | 'onUnreadable'> {
  return {
    onTrouble: (err) => logger.warn({ err }, 'documents of tokens cannot be brought into their table, trying again'),
    onUnreadable: (err) => logger.warn({ err }, 'a document of a token cannot be read and is left out'),
  };
}

type BatchWriter = Awaited<ReturnType<typeof createBatchWriter>>;

/**
 * Repeats the batch that was announced and not marked done, by a writer of its own: what its memory made of a batch that
 * the tables had in part is worth less than the tables. Of one that is written only what goes in last is made again.
 *
 * @returns the last batch that is done
 */
async function repeatUnfinished(
  options: Omit<BatchWriterOptions, 'done'>,
  { done, intent }: Position,
  signal: AbortSignal,
): Promise<Batch | null> {
  const steps = intent && (await stepsOf(options, intent, signal));
  if (!intent || !steps) return done;
  const [from, to] = [steps[0].mcSeqno, steps[steps.length - 1].mcSeqno];
  options.logger.info({ from, to }, 'repeating the batch that was not finished');
  const writer = await createBatchWriter(
    { ...options, done, ...(intent.isWritten ? { projections: [] } : {}) },
    signal,
  );
  try {
    await writer.add(decodeBatch(steps), intent.number, intent);
    await writer.flush();
  } finally {
    await writer.close();
  }
  return (await options.store.read(signal)).done;
}

/** The steps of what was announced; null when it was announced before it was there and never came. */
async function stepsOf(options: ProjectorOptions, intent: Intent, signal: AbortSignal): Promise<Step[] | null> {
  if (intent.batch) return readExactly(options, intent.batch, signal);
  const { log, topics } = options;
  for await (const [step] of readSteps(log, topics.blocks, intent.firstOffset, { signal, stopAtEnd: true })) {
    return step.firstOffset === intent.firstOffset ? [step] : null;
  }
  signal.throwIfAborted();
  return null;
}

async function follow(
  { log, topics, config, stopAtEnd = false, endOffset = Number.POSITIVE_INFINITY }: ProjectorOptions,
  done: Batch | null,
  { writer, counters }: { writer: BatchWriter; counters: Counters },
  signal: AbortSignal,
): Promise<void> {
  const steps = readSteps(log, topics.blocks, done?.nextOffset ?? 0, {
    signal,
    stopAtEnd,
    maxBytes: config.batchBytes,
    onDuplicate: () => {
      counters.duplicateRecords++;
    },
    ...(done ? { network: { globalId: done.globalId } } : {}),
  });
  const limits = { maxBytes: config.batchBytes, maxSteps: config.batchSteps, maxWaitMs: config.batchMs };
  let number = done?.number ?? 0;
  const wanted = stepsUpTo(steps, endOffset);
  // The next batch is decoded while this one waits for the tables to answer what it asks.
  let adding: Promise<void> = Promise.resolve();
  try {
    for await (const steps of cutBatches(wanted, limits, signal)) {
      const batch = decodeBatch(steps);
      await adding;
      adding = writer.add(batch, ++number);
      // Thrown again below: a batch that fails also ends the reading.
      adding.catch(() => undefined);
    }
  } finally {
    await Promise.allSettled([adding]);
  }
  await adding;
}

/** Those that end at this offset of the log or before. */
async function* stepsUpTo(steps: AsyncIterable<Step[]>, endOffset: number): AsyncGenerator<Step[]> {
  for await (const some of steps) {
    const wanted = some.filter(({ nextOffset }) => nextOffset <= endOffset);
    if (wanted.length > 0) yield wanted;
    if (wanted.length < some.length) return;
  }
}

/**
 * The tables must have been made from this log: its record before the position is the one that was projected.
 * @throws {PositionError} where it is not
 */
export async function checkSameChain(log: EventLog, topic: string, done: Batch): Promise<void> {
  const record = await log.get(topic, done.nextOffset - 1);
  if (record === null && (await log.low(topic)) >= done.nextOffset) return;
  const rootHash = record ? decodeEnvelope(record, topic).id.rootHash : null;
  if (rootHash?.equals(done.rootHash)) return;
  throw new PositionError(
    `the tables stand at step ${done.mcSeqno}, offset ${done.nextOffset}, of another log than this one ` +
      `(${rootHash ? 'another block is there' : 'the log ends before it'}): give the log they were made from, or ${rebuildAdvice()}`,
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
        `tables were made from, or ${rebuildAdvice()}`,
    );
  }
  return steps;
}
