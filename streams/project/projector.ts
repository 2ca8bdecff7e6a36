import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { isTransient } from '../../clickhouse/query-error.ts';
import type { Config } from '../../src/config.ts';
import { decodeEnvelope } from '../envelope.ts';
import type { EventLog } from '../log.ts';
import { readSteps, type Step } from '../steps.ts';
import type { TopicNames } from '../topics.ts';
import { createAccountStore } from './accounts.ts';
import { type AssembledBatch, createAssembler } from './assemble.ts';
import { cutBatches } from './batches.ts';
import { BlockError, type DecodedStep, decodeStep } from './decode.ts';
import { createGaps, type Gap } from './gaps.ts';
import { type Batch, type BatchCounts, createPositionStore, PositionError } from './position.ts';
import { createBatchRows } from './rows.ts';
import { createSentMessages } from './sent.ts';
import { createOpenMessages } from './traces.ts';

/** What the projector tells after each batch that is in the tables. */
export interface Progress {
  batch: Batch;
  counts: BatchCounts;
  /** Milliseconds from the read of its first step. */
  tookMs: number;
  /** Newest generation time in the batch, Unix seconds. */
  genUtime: number;
  counters: Counters;
}

/** Running totals since the start of the process. */
export interface Counters {
  brokenTraces: number;
  missingCode: number;
  missingData: number;
  oversized: number;
  droppedOpenMessages: number;
  duplicateRecords: number;
  gaps: number;
  insertRetries: number;
}

export interface ProjectorOptions {
  log: EventLog;
  topics: TopicNames;
  clickhouse: ClickHouse;
  config: Pick<
    Config,
    'batchBytes' | 'batchSteps' | 'batchMs' | 'cachedAccounts' | 'openMessages' | 'maxDataBytes' | 'outageMs'
  >;
  logger: Logger;
  onProgress?: (progress: Progress) => void;
  /** End at the log's present end instead of following it. */
  stopAtEnd?: boolean;
}

const CACHED_DATA_BYTES = 64 * 1024 * 1024;
const GROUP = 'tonstream-project';

/**
 * Follows the log and writes its sealed steps into the tables, effectively once: each batch is announced with its
 * bounds, inserted under tokens that name those bounds, then marked done. After a crash the announced batch is
 * repeated as it was, and what is there already stays as it is (design: docs/architecture.md).
 */
export async function project(options: ProjectorOptions, signal: AbortSignal): Promise<void> {
  const { log, topics, clickhouse, config } = options;
  const counters = newCounters();
  const store = createPositionStore(clickhouse);
  const { done, intent } = await store.read(signal);
  await log.ensureTopic(topics.blocks);
  if (done) await checkSameChain(log, topics.blocks, done);
  const writer = await createBatchWriter(options, store, counters, signal);

  let next = done?.nextOffset ?? 0;
  if (intent) {
    options.logger.info({ from: intent.firstMcSeqno, to: intent.mcSeqno }, 'repeating the batch that was not finished');
    await writer.add(await readExactly(options, intent), intent.number);
    next = intent.nextOffset;
  }
  let number = (intent ?? done)?.number ?? 0;
  const steps = readSteps(log, topics.blocks, next, {
    signal,
    stopAtEnd: options.stopAtEnd ?? false,
    maxBytes: config.batchBytes,
    onDuplicate: () => {
      counters.duplicateRecords++;
    },
    ...((intent ?? done) ? { network: { globalId: (intent ?? done)!.globalId } } : {}),
  });
  const limits = { maxBytes: config.batchBytes, maxSteps: config.batchSteps, maxWaitMs: config.batchMs };
  for await (const batch of cutBatches(steps, limits)) {
    number++;
    await writer.add(batch, number);
  }
  await writer.flush();
}

/** The tables must have been made from this log: its record before the position is the one that was projected. */
async function checkSameChain(log: EventLog, topic: string, done: Batch): Promise<void> {
  const record = await log.get(topic, done.nextOffset - 1);
  const rootHash = record ? decodeEnvelope(record, topic).id.rootHash : null;
  if (rootHash?.equals(done.rootHash)) return;
  throw new PositionError(
    `the tables stand at step ${done.mcSeqno}, offset ${done.nextOffset}, of another log than this one ` +
      `(${rootHash ? 'another block is there' : 'the log ends before it'}): give the log they were made from, or run "tonstream rebuild"`,
  );
}

/** The steps of an announced batch, all of them and no more. */
async function readExactly(options: ProjectorOptions, intent: Batch): Promise<Step[]> {
  const ended = new AbortController();
  const steps: Step[] = [];
  const reading = readSteps(options.log, options.topics.blocks, intent.firstOffset, {
    signal: ended.signal,
    stopAtEnd: true,
  });
  for await (const group of reading) {
    for (const step of group) if (step.nextOffset <= intent.nextOffset) steps.push(step);
    if (group.at(-1)!.nextOffset >= intent.nextOffset) break;
  }
  if (steps.at(-1)?.nextOffset !== intent.nextOffset) {
    throw new PositionError(
      `the log has no step that ends at offset ${intent.nextOffset}, where a batch was announced`,
    );
  }
  return steps;
}

/** Decodes and assembles a batch while the one before it is being inserted. */
async function createBatchWriter(
  options: ProjectorOptions,
  store: ReturnType<typeof createPositionStore>,
  counters: Counters,
  signal: AbortSignal,
) {
  const { log, topics, clickhouse, config, logger } = options;
  const accounts = createAccountStore({
    clickhouse,
    cachedAccounts: config.cachedAccounts,
    cachedDataBytes: CACHED_DATA_BYTES,
  });
  const assembler = createAssembler({
    accounts,
    openMessages: createOpenMessages(config.openMessages, () => {
      counters.droppedOpenMessages++;
    }),
    sent: createSentMessages(clickhouse),
    maxDataBytes: config.maxDataBytes,
    metrics: {
      brokenTrace: () => {
        counters.brokenTraces++;
      },
      missingCells: (kind) => {
        counters[kind === 'code' ? 'missingCode' : 'missingData']++;
      },
      oversized: () => {
        counters.oversized++;
      },
    },
  });
  const gaps = await createGaps(log, topics, signal);
  let inserting: Promise<void> = Promise.resolve();

  async function add(steps: Step[], number: number): Promise<void> {
    const startedAt = performance.now();
    const { decoded, failed } = decodeAll(steps);
    const batch = batchOf(steps, number);
    const assembled = await assembler.assemble(decoded, number, batch.firstMcSeqno, signal);
    if (failed.length > 0) addGaps(assembled, failed, counters, logger);
    await inserting;
    inserting = insert(batch, assembled, failed).then(() => {
      accounts.written(number);
      options.onProgress?.({
        batch,
        counts: assembled.counts,
        tookMs: performance.now() - startedAt,
        genUtime: Math.max(...steps.map((step) => step.blocks.at(-1)!.genUtime)),
        counters: { ...counters },
      });
    });
    // Awaited with the next batch; until then a failure must not count as unhandled.
    inserting.catch(() => undefined);
  }

  async function insert(batch: Batch, { inserts, counts }: AssembledBatch, failed: Gap[]): Promise<void> {
    await gaps.report(failed, signal);
    await persist('announcing a batch', () => store.refuseRival(batch, signal));
    await persist('announcing a batch', () =>
      store.write(batch, false, { blocks: 0, transactions: 0, messages: 0 }, signal),
    );
    await Promise.all(
      inserts.map(({ table, columns, chunks }) =>
        persist(`inserting into ${table}`, () =>
          clickhouse.insert(table, columns, chunks, {
            dedupToken: `${table}/${batch.firstOffset}-${batch.nextOffset}`,
            label: 'inserting a batch',
            signal,
          }),
        ),
      ),
    );
    await persist('marking a batch done', () => store.write(batch, true, counts, signal));
    await log.noteProgress(GROUP, topics.blocks, batch.nextOffset);
  }

  /** Repeats what failed for want of a server, up to the longest outage that is waited for. */
  async function persist(doing: string, write: () => Promise<void>): Promise<void> {
    const giveUpAt = Date.now() + config.outageMs;
    for (let waitMs = 100; ; waitMs = Math.min(waitMs * 2, 5_000)) {
      try {
        return await write();
      } catch (error) {
        if (signal.aborted || !isTransient(error) || Date.now() > giveUpAt) throw error;
        counters.insertRetries++;
        logger.warn({ err: error, waitMs }, `${doing} failed, trying again`);
        await sleep(waitMs, undefined, { signal });
      }
    }
  }

  return { add, flush: () => inserting };
}

function batchOf(steps: Step[], number: number): Batch {
  const last = steps[steps.length - 1];
  return {
    number,
    firstOffset: steps[0].firstOffset,
    nextOffset: last.nextOffset,
    firstMcSeqno: steps[0].mcSeqno,
    mcSeqno: last.mcSeqno,
    rootHash: last.blocks[last.blocks.length - 1].id.rootHash,
    globalId: last.blocks[0].globalId,
  };
}

/** A step with a block that cannot be read is left out as a whole; the next ones go on. */
function decodeAll(steps: Step[]): { decoded: DecodedStep[]; failed: Gap[] } {
  const decoded: DecodedStep[] = [];
  const failed: Gap[] = [];
  for (const step of steps) {
    try {
      decoded.push(decodeStep(step));
    } catch (error) {
      if (!(error instanceof BlockError)) throw error;
      failed.push({ step, error });
    }
  }
  return { decoded, failed };
}

function addGaps(assembled: AssembledBatch, failed: Gap[], counters: Counters, logger: Logger): void {
  const rows = createBatchRows();
  for (const { step, error } of failed) {
    counters.gaps++;
    logger.error({ err: error, step: step.mcSeqno }, 'a step cannot be decoded and is left out');
    rows.gap(step.mcSeqno, step.firstOffset, step.nextOffset, error.block, error.message);
  }
  assembled.inserts.push(...rows.inserts());
}

function newCounters(): Counters {
  return {
    brokenTraces: 0,
    missingCode: 0,
    missingData: 0,
    oversized: 0,
    droppedOpenMessages: 0,
    duplicateRecords: 0,
    gaps: 0,
    insertRetries: 0,
  };
}
