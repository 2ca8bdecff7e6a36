import { createChunks } from '../../clickhouse/chunks.ts';
import { accountData, codes } from '../../clickhouse/tables/accounts.ts';
import { gaps as gapTable } from '../../clickhouse/tables/gaps.ts';
import { tableColumns } from '../../clickhouse/tables/sql.ts';
import type { Table } from '../../clickhouse/tables/table.ts';
import { refuseLostWrites } from '../../clickhouse/write-failures.ts';
import { createMissingWriter } from '../missing.ts';
import type { ProjectedStep } from '../projected-step.ts';
import type { Step } from '../steps.ts';
import { createAccountStore } from './accounts.ts';
import { type AssembledBatch, createAssembler } from './assemble.ts';
import { createCellReader } from './cell-reader.ts';
import { type Counters, countInto } from './counters.ts';
import { BlockError, type DecodedStep, decodeStep } from './decode.ts';
import { createGaps, type Gap } from './gaps.ts';
import { restoreLost } from './lost-inserts.ts';
import type { ProjectorOptions } from './options.ts';
import { createPauses } from './pause.ts';
import { type Batch, type Intent, OWNER_MS, PositionError, type PositionStore, rebuildAdvice } from './position.ts';
import { PROJECTIONS } from './projections.ts';
import type { Publisher } from './publish.ts';
import { createBatchRows, type Insert } from './rows.ts';
import { createSenders } from './senders.ts';
import { createStepRows, projectedSteps } from './step-rows.ts';
import { createOpenMessages } from './traces.ts';

const CACHED_DATA_BYTES = 64 * 1024 * 1024;
const GROUP = 'tonstream-project';
/** Parts of so few rows are read whole and soon merged; the merge makes the indexes, which here cost two files each. */
const SMALL_ROWS = 10_000;
const SMALL_INSERT = { materialize_skip_indexes_on_insert: 0 } as const;
/**
 * What rows are made from that has no history: while the tables have none of a batch's, all its other rows can be made
 * again as they were. So these come when all else is written and published, and that is noted: from then on a repetition
 * makes these alone, from the blocks. An insert is there as a whole or not at all, so what is missing is made as it was.
 */
const LAST: ReadonlySet<Table> = new Set<Table>([accountData, codes]);

export interface BatchWriterOptions extends ProjectorOptions {
  store: PositionStore;
  counters: Counters;
  /** The last batch that is done; null at the beginning of the log. */
  done: Batch | null;
  publisher: Publisher | null;
}

/** A batch of whole steps while it is being decoded, and then. */
export interface DecodedBatch {
  steps: Step[];
  startedAt: number;
  decoding: Promise<{ decoded: DecodedStep[]; failed: Gap[] }>;
}

/** Begins to decode a batch: that one needs nothing of those before it. */
export function decodeBatch(steps: Step[]): DecodedBatch {
  const decoding = decodeAll(steps);
  // Thrown again by whoever waits for it.
  decoding.catch(() => undefined);
  return { steps, startedAt: performance.now(), decoding };
}

/** Assembles a batch while the one before it is being inserted. */
export async function createBatchWriter(options: BatchWriterOptions, signal: AbortSignal) {
  const { log, topics, clickhouse, config, logger, store, counters, publisher, unwritten = new Set() } = options;
  const { cachedAccounts, maxDataBytes } = config;
  const accounts = createAccountStore({ clickhouse, cachedAccounts, cachedDataBytes: CACHED_DATA_BYTES });
  const openMessages = createOpenMessages(config.openMessages, () => {
    counters.droppedOpenMessages++;
  });
  const senders = createSenders(clickhouse, openMessages);
  const metrics = countInto(counters);
  const missing = createMissingWriter(log, topics.missing, (event) => {
    counters[event === 'named' ? 'missingNamed' : 'missingDropped']++;
  });
  const name = options.names ? missing.name : () => undefined;
  const projections = (options.projections ?? PROJECTIONS).map(({ open }) =>
    open({ clickhouse, config, counters, logger, name }),
  );
  const chunks = createChunks();
  const assembler = createAssembler({
    accounts,
    openMessages,
    senders,
    maxDataBytes,
    metrics,
    projections,
    unwritten,
    chunks,
  });
  const cellReader = createCellReader(log, topics.cells, options.done?.nextCell ?? 0);
  const gaps = await createGaps(log, topics, signal);
  let inserting: Promise<void> = Promise.resolve();
  let previous = options.done?.mcSeqno ?? 0;
  /** The step that is announced and not there yet. */
  let ahead: Pick<Intent, 'number' | 'firstOffset'> | null = null;
  let fail: () => void = () => undefined;
  const failed = new Promise<void>((resolve) => {
    fail = resolve;
  });

  async function add(batch: DecodedBatch, number: number, intent: Intent | null = null): Promise<void> {
    try {
      await begin(batch, number, intent);
    } catch (error) {
      fail();
      throw error;
    }
  }

  async function begin({ steps, startedAt, ...rest }: DecodedBatch, number: number, intent: Intent | null) {
    const { decoded, failed: undecoded } = await rest.decoding;
    const cells = await cellReader.take(decoded, signal, intent?.batch?.nextCell);
    const batch = batchOf(steps, number, cellReader.next);
    if (intent?.batch) checkCells(batch, intent.batch);
    const published = (await publisher?.wants(steps)) ?? false;
    const [assembled] = await bothOf(
      assembler.assemble(decoded, batch, signal, { live: published, cells }),
      announce(inserting, batch, { undecoded, intent, alone: steps.length === 1 && intent === null }),
    );
    const live = published ? projectedSteps(steps, assembled.steps, previous) : [];
    previous = batch.mcSeqno;
    if (undecoded.length > 0) assembled.inserts.push(...(await gapRows(undecoded)));
    inserting = insert(batch, { ...assembled, live }, intent).then(async () => {
      accounts.written(number);
      openMessages.written(number);
      for (const projection of projections) projection.written?.(number);
      options.onProgress?.({
        batch,
        counts: assembled.counts,
        tookMs: performance.now() - startedAt,
        genUtime: Math.max(...steps.map((step) => step.blocks.at(-1)?.genUtime ?? 0)),
        counters: { ...counters },
      });
      // While nobody waits: at the head this and the announcement took a third of a step's time on its way.
      await store.checkOwner(signal);
      ahead = { number: number + 1, firstOffset: batch.nextOffset };
    });
    // Thrown again by whoever waits for it: the next batch, or `flush`.
    inserting.catch(fail);
  }

  /**
   * Once the batch before is done; no row goes in until this is.
   * @param alone whether the batch is one step and new: then it is announced already
   */
  async function announce(
    before: Promise<void>,
    batch: Batch,
    { undecoded, intent, alone }: { undecoded: Gap[]; intent: Intent | null; alone: boolean },
  ): Promise<void> {
    await before;
    for (const { step, error } of undecoded) {
      counters.gaps++;
      logger.error({ err: error, step: step.mcSeqno }, 'a step cannot be decoded and is left out');
    }
    await gaps.report(undecoded, signal);
    const known = ahead?.number === batch.number && ahead.firstOffset === batch.firstOffset;
    // Behind that announcement it was asked who writes.
    if (alone && known) return store.checkOwner(signal, OWNER_MS);
    await store.announce(batch, signal, intent?.isWritten);
    // After the announcement: a projector that starts now either sees it or is seen here.
    await store.checkOwner(signal);
  }

  async function insert(
    batch: Batch,
    { inserts, counts, live, count }: Pick<AssembledBatch, 'inserts' | 'counts' | 'count'> & { live: ProjectedStep[] },
    intent: Intent | null,
  ): Promise<void> {
    const name = `${batch.firstOffset}-${batch.nextOffset}`;
    const late = inserts.filter(({ table }) => LAST.has(table));
    if (!intent?.isWritten) {
      const early = inserts.filter(({ table }) => !LAST.has(table));
      await insertAll(batch, early, name, intent !== null);
      await count(signal);
      await checkDisk();
      if (live.length > 0) {
        // Whoever has made the tables anew meanwhile has emptied the topic for what comes of those.
        await store.checkOwner(signal, OWNER_MS);
        await publisher?.publish(live);
      }
      await missing.flush();
      await store.announce(batch, signal, true);
    }
    await insertAll(batch, late, name, intent !== null);
    await checkDisk();
    await store.finish(batch, counts, signal);
    await log.noteProgress(GROUP, topics.blocks, batch.nextOffset);
  }

  /** Before it is noted that rows are there. Servers of one's own tell of what they cannot write. */
  async function checkDisk(): Promise<void> {
    if (config.clickhouseUrl === undefined) await refuseLostWrites(clickhouse, signal);
  }

  async function insertAll(batch: Batch, inserts: Insert[], name: string, repeated: boolean): Promise<void> {
    const retriesBefore = counters.retries;
    const insertInto = (insert: Insert) => insertUnderToken(insert, name);
    await Promise.all(inserts.map(insertInto));
    if (!repeated && counters.retries === retriesBefore) {
      // Of a request that was given up it is not known when its rows are read for the last time.
      for (const insert of inserts) chunks.release(insert.chunks);
      return;
    }
    // In the meantime another projector may have begun, and what seems lost may be what it has made of these rows.
    await store.checkOwner(signal);
    await restoreLost(clickhouse, { batch, inserts }, insertInto, { logger, signal });
  }

  function insertUnderToken({ table, rows, chunks }: Insert, token: string): Promise<void> {
    const label = `inserting into ${table.name}`;
    const settings = rows <= SMALL_ROWS ? SMALL_INSERT : {};
    const dedupToken = `${table.name}/${token}`;
    return clickhouse.insert(table.name, tableColumns(table), chunks, { dedupToken, label, settings, signal });
  }

  return {
    /**
     * Resolves once the batch before this one is in the tables; throws when that failed. A batch that was begun before
     * comes with what was announced of it.
     */
    add,
    /** Resolves once all batches are in the tables. */
    flush: () => inserting,
    /** What projections keep open is closed, whatever has failed. */
    async close(): Promise<void> {
      await Promise.allSettled([inserting]);
      for (const projection of projections) await projection.close?.();
    },
    /** Resolves when a batch could not be written. */
    failed,
  };
}

/** Waits for both even when one fails, so that nothing goes on behind the failure. */
async function bothOf<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second]);
  return Promise.all([first, second]);
}

function batchOf(steps: Step[], number: number, nextCell: number): Batch {
  const last = steps[steps.length - 1];
  return {
    number,
    firstOffset: steps[0].firstOffset,
    nextOffset: last.nextOffset,
    nextCell,
    firstMcSeqno: steps[0].mcSeqno,
    mcSeqno: last.mcSeqno,
    rootHash: last.blocks[last.blocks.length - 1].id.rootHash,
    globalId: last.blocks[0].globalId,
  };
}

function checkCells({ nextCell, mcSeqno }: Batch, intent: Batch): void {
  if (nextCell === intent.nextCell) return;
  throw new PositionError(
    `the log has the cells of step ${mcSeqno} up to offset ${nextCell}, not up to ${intent.nextCell} as it was announced: ` +
      `give the log the tables were made from, or ${rebuildAdvice()}`,
  );
}

/** A step with a block that cannot be read is left out as a whole; the next ones go on. */
async function decodeAll(steps: Step[]): Promise<{ decoded: DecodedStep[]; failed: Gap[] }> {
  const pause = createPauses();
  const decoded: DecodedStep[] = [];
  const failed: Gap[] = [];
  for (const step of steps) {
    await pause();
    try {
      decoded.push(decodeStep(step));
    } catch (error) {
      if (!(error instanceof BlockError)) throw error;
      failed.push({ step, error });
    }
  }
  return { decoded, failed };
}

function gapRows(undecoded: Gap[]): Promise<Insert[]> {
  const all = createBatchRows();
  for (const { step, error } of undecoded) {
    const rows = createStepRows(step.mcSeqno);
    rows.add(gapTable, {
      mcSeqno: step.mcSeqno,
      firstOffset: String(step.firstOffset),
      nextOffset: String(step.nextOffset),
      block: error.block,
      error: error.message,
    });
    all.add(rows);
  }
  return all.inserts(createPauses());
}
