/**
 * The live ingester: follows a chain's head and writes whole steps into the log.
 *
 * The log is one ordered topic, so a backfill is not a second stream beside the live one: while the log is behind,
 * many steps from its end on are fetched in parallel, put into order and appended together; meanwhile one long poll
 * keeps waiting at the head. When the log's end reaches the head, the same loop appends step by step: the poll's
 * answer starts the step at once, nothing sleeps in between.
 *
 * Every block is checked against the hashes of the block that refers to it, the masterchain blocks against their
 * predecessors, and nothing goes into the log before signatures of validators cover it (follow-proof.ts). What is in the
 * log is the position: after any kind of death the next run goes on behind the last sealed step and completes a
 * half-written one.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { BlockProver, ChainNode, ProvenBlock } from '../../src/node/chain-node.ts';
import type { FaultKind } from '../../src/node/lite-faults.ts';
import type { BlockSource } from '../envelope.ts';
import { type EventLog, LogError } from '../log.ts';
import { createSeldom } from '../seldom.ts';
import type { TopicNames } from '../topics.ts';
import { type CellEvent, type Cells, createCells, type SetCellLimits } from './cells.ts';
import { IngestError } from './check.ts';
import { createStepWriter, type StepWriter } from './follow-append.ts';
import { createFetcher, type FetcherOptions } from './follow-fetch.ts';
import { type ChainHead, createHead } from './follow-head.ts';
import { createPatience, type Patience, type Pauses, type RefetchReason } from './follow-patience.ts';
import { type Position, readPosition } from './follow-position.ts';
import { createProvenSteps, type ProvenSteps, type ProvenStepsOptions, proveOrLeave } from './follow-proof.ts';
import type { StartPoint } from './follow-start.ts';
import { type AheadLimits, createStepPipeline, type FetchedStep, type StepPipeline } from './follow-steps.ts';
import { followMissing } from './missing.ts';

export interface IngestOptions {
  /** Where an empty log begins; a log with steps goes on behind them. */
  from: StartPoint;
  source: BlockSource;
  /** Wait for another ingester of the log to end, instead of failing with the log's `writer_busy`. */
  standBy?: boolean;
  /** Requests to the node at the same time. */
  concurrency?: number;
  ahead: Pick<AheadLimits, 'stepBytes'> & Partial<AheadLimits>;
  /** Blocks of one append. */
  batchBytes?: number;
  /** Null asks for no cells. */
  cells: SetCellLimits | null;
  /** The log wakes its readers itself (a broker does). */
  continuous?: boolean;
  pauses?: Partial<Pauses>;
  /** How long the next masterchain block is waited for before the head is asked for again. Default 10 s. */
  pollMs?: number;
  /** Shortest time between two proofs, which bounds the traffic for them. */
  proofIntervalMs: number;
}

export interface IngestMetrics {
  /** Newest masterchain seqno of the chain. */
  head(seqno: number): void;
  /** Newest step in the log, and what the append brought. */
  appended(seqno: number, blocks: number, bytes: number): void;
  /** Duration of fetching one block, milliseconds. */
  fetched(ms: number, bytes: number): void;
  /** From the node's word of a masterchain block to its step being sealed in the log; of steps at the head. */
  stepLatency(ms: number): void;
  refetched(reason: RefetchReason): void;
  cells(event: CellEvent): void;
  /** Newest masterchain block that signatures have proven, and its generation time in Unix seconds. */
  proven(seqno: number, genUtime: number): void;
  /** What was fetched was thrown away: nobody could prove it, or the head that it was fetched for is none. */
  unproven(): void;
  /** A liteserver did something wrong. */
  serverFault(kind: FaultKind): void;
}

export interface IngestProgress {
  headSeqno: number;
  /** Newest step in the log; null before the first. */
  appendedSeqno: number | null;
  /** First step that this run appends. */
  firstSeqno: number;
  /** Appended by this run. */
  steps: number;
  blocks: number;
  bytes: number;
  /** Generation time of the newest step, Unix seconds. */
  genUtime: number | null;
}

export interface IngestParts {
  log: EventLog;
  topics: TopicNames;
  node: ChainNode;
  /** Steps wait until it has proven them; without it the word of the node is believed. */
  prover?: BlockProver | null;
  options: IngestOptions;
  logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  metrics?: IngestMetrics;
  onProgress?: (progress: IngestProgress) => void;
}

const CONCURRENCY = 32;
const AHEAD = { steps: 512, bytes: 64 * 1024 * 1024 };
const BATCH_BYTES = 8 * 1024 * 1024;
const STAND_BY_MS = 500;
const LOG_AWAY_MS = 1_000;
const POLL_MS = 10_000;
/** First and longest pause after blocks that nobody could prove. */
const UNPROVEN_MS = 50;
const LONGEST_UNPROVEN_MS = 5_000;
/** Blocks that nobody can prove for so long are an error line. */
const STUCK_MS = 30_000;

/**
 * Ingests until the signal aborts; then it resolves behind the append that is being written. A log that is away is
 * waited for.
 * @throws {IngestError} `network` when node and log are of different networks, `order` when the log cannot be continued,
 * `too_large` when a step is larger than may be
 * @throws {LogError} `writer_busy` @throws {EnvelopeError}
 */
export async function ingest(parts: IngestParts, signal: AbortSignal): Promise<void> {
  const doubt = createDoubt(parts, signal);
  while (!signal.aborted) {
    try {
      await takeLog(parts, signal);
      await run(parts, doubt.trusted, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof IngestError && error.code === 'unproven') {
        await doubt.pause(error);
        continue;
      }
      if (!(error instanceof LogError && error.code === 'unavailable')) throw error;
      // What was acknowledged is not known any more: the next turn reads it from the log.
      parts.logger.warn({ err: error }, 'the log cannot be written, trying again');
      await sleep(LOG_AWAY_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** What follows from blocks that nobody can prove: nothing of them is in the log, so the next run fetches them anew. */
function createDoubt({ logger, metrics }: IngestParts, signal: AbortSignal) {
  let since: number | null = null;
  let times = 0;
  return {
    /** Something was proven. */
    trusted(): void {
      since = null;
      times = 0;
    },
    async pause(error: IngestError): Promise<void> {
      metrics?.unproven();
      since ??= performance.now();
      const seconds = Math.round((performance.now() - since) / 1000);
      if (seconds * 1000 >= STUCK_MS)
        logger.error({ err: error }, `${error.message}; this has been so for ${seconds} s`);
      else logger.warn({ err: error }, error.message);
      const ms = Math.min(LONGEST_UNPROVEN_MS, UNPROVEN_MS * 2 ** Math.min(times++, 16));
      await sleep(ms, undefined, { signal }).catch(() => undefined);
    },
  };
}

/** From here on nobody else moves the end of an embedded log. */
async function takeLog({ log, topics, options, logger }: IngestParts, signal: AbortSignal): Promise<void> {
  for (let tries = 0; ; tries++) {
    signal.throwIfAborted();
    try {
      await log.ensureTopic(topics.blocks);
      await log.ensureTopic(topics.cells);
      // An empty append takes the writer's lock.
      await log.append(topics.blocks, []);
      await log.append(topics.cells, []);
      if (tries > 0) logger.info('taking over');
      return;
    } catch (error) {
      const busy = error instanceof LogError && error.code === 'writer_busy';
      if (!busy || options.standBy !== true) throw error;
      if (tries === 0) logger.info(`standing by: ${error.message}`);
      await sleep(STAND_BY_MS, undefined, { signal });
    }
  }
}

/** One run over a log that is ours, until the signal aborts or something fails. */
async function run(parts: IngestParts, onTrusted: () => void, outer: AbortSignal): Promise<void> {
  const { node, options, logger, metrics } = parts;
  const failed = new AbortController();
  const ended = new AbortController();
  const signal = AbortSignal.any([outer, failed.signal, ended.signal]);
  // Every request in flight listens to it.
  setMaxListeners(0, signal);
  const patience = createPatience({
    logger,
    signal,
    ...(options.pauses === undefined ? {} : { pauses: options.pauses }),
    onRefetch: (reason) => metrics?.refetched(reason),
  });
  try {
    const first = await patience.untilDone('asking for the head', () => node.head(signal));
    const position = await readPosition({ ...parts, patience, head: first, signal });
    const fetcher = createFetcher({
      node,
      patience,
      concurrency: options.concurrency ?? CONCURRENCY,
      globalId: position.globalId,
      onConflict: position.checkNetwork,
      confirm: openConfirm(parts, patience, signal),
      onFetched: (ms, bytes) => metrics?.fetched(ms, bytes),
      signal,
    });
    const onAdvance = (seqno: number): void => {
      metrics?.head(seqno);
      journal.progress();
      pipeline.fill();
      const seen = head.seen(seqno);
      if (seen !== null) proven?.seen(seen.id);
    };
    const pollMs = options.pollMs ?? POLL_MS;
    const head = createHead({ node, patience, first, onAdvance, pollMs, signal });
    const before = await position.before(fetcher);
    const limits = { ...AHEAD, ...options.ahead };
    const pipeline = createStepPipeline({ first: position.next, before, head, fetcher, limits, signal });
    const proven = openProof(parts, {
      pipeline,
      first: position.next,
      headSeqno: () => head.seqno,
      patience,
      onTrusted,
      signal,
    });
    const writer = openWriter(parts, position);
    const cells = openCells(parts, { writer, patience, signal, onError: (error) => failed.abort(error) });
    await cells?.recall();
    const journal = createJournal(parts, position, head);
    metrics?.head(head.seqno);
    const work = [
      head.follow(),
      appendSteps({ parts, pipeline, steps: proven ?? pipeline, writer, cells, head, journal, signal }),
      ...askForMissing(parts, cells, signal),
    ];
    await Promise.race(work).finally(async () => {
      ended.abort();
      await Promise.allSettled(work);
    });
  } catch (error) {
    // What was interrupted by a failure elsewhere may have wrapped it.
    throw failed.signal.aborted ? failed.signal.reason : error;
  }
}

function openProof(
  { prover, options, logger, metrics }: IngestParts,
  shared: Pick<ProvenStepsOptions, 'pipeline' | 'first' | 'headSeqno' | 'patience' | 'signal'> & {
    onTrusted: () => void;
  },
): ProvenSteps | null {
  if (prover === undefined || prover === null) return null;
  const onProven = ({ id, genUtime }: ProvenBlock): void => {
    shared.onTrusted();
    metrics?.proven(id.seqno, genUtime ?? 0);
  };
  const intervalMs = options.proofIntervalMs;
  return createProvenSteps({ ...shared, prover, intervalMs, logger, onProven });
}

/** Whether a masterchain block is true; without a prover all are believed. */
function openConfirm({ prover }: IngestParts, patience: Patience, signal: AbortSignal): FetcherOptions['confirm'] {
  if (prover === undefined || prover === null) return null;
  return (id) => proveOrLeave(id, patience, () => prover.prove(id, signal));
}

/**
 * Brokers keep no second writer away. Readers drop what comes twice, but what is learned counts from the own end of the
 * log.
 */
function openWriter({ log, topics, options, logger }: IngestParts, position: Position): StepWriter {
  const mayTell = createSeldom();
  const what = `another ingester writes to topic ${topics.blocks}, too, which makes it twice as large: end one of them`;
  return createStepWriter({
    onForeign(from, to) {
      if (mayTell()) logger.error({ from, to }, what);
    },
    log,
    topic: topics.blocks,
    nextOffset: position.nextOffset,
    tail: position.tail,
    zeroState: position.zeroState,
    source: options.source,
    batchBytes: options.batchBytes ?? BATCH_BYTES,
  });
}

function openCells(
  { node, log, topics, options, logger, metrics }: IngestParts,
  shared: Pick<Parameters<typeof createCells>[0], 'writer' | 'patience' | 'signal' | 'onError'>,
): Cells | null {
  if (options.cells === null) return null;
  const onEvent = (event: CellEvent): void => metrics?.cells(event);
  return createCells({ node, log, topic: topics.cells, limits: options.cells, logger, onEvent, ...shared });
}

/** What the projector lacks, people name and answers mention, asked beside all else. */
function askForMissing({ log, topics, options, logger }: IngestParts, cells: Cells | null, signal: AbortSignal) {
  if (cells === null || options.cells === null) return [];
  const { perSecond, mentionedPerSecond } = options.cells;
  const shared = { log, cells, continuous: options.continuous ?? false, logger, signal };
  return [
    { topics: [topics.missing, topics.wishes], perSecond },
    { topics: [topics.mentions], perSecond: mentionedPerSecond },
  ].flatMap((one) => (one.perSecond === 0 ? [] : [followMissing({ ...shared, ...one })]));
}

interface Appending {
  parts: IngestParts;
  pipeline: StepPipeline;
  /** Those of the pipeline that may go into the log. */
  steps: Pick<StepPipeline, 'next' | 'takeReady'>;
  writer: StepWriter;
  cells: Cells | null;
  head: ChainHead;
  journal: ReturnType<typeof createJournal>;
  signal: AbortSignal;
}

async function appendSteps(appending: Appending): Promise<never> {
  const { parts, pipeline, steps: source, writer, cells, head, journal, signal } = appending;
  const batchBytes = parts.options.batchBytes ?? BATCH_BYTES;
  for (;;) {
    signal.throwIfAborted();
    const steps = [await source.next()];
    let bytes = steps[0].bytes;
    while (bytes < batchBytes) {
      const more = source.takeReady();
      if (more === null) break;
      steps.push(more);
      bytes += more.bytes;
    }
    await writer.append(steps);
    journal.appended(steps, bytes);
    await cells?.look(steps, head.seqno);
    pipeline.released(bytes);
  }
}

/** What the run tells of itself. */
function createJournal({ metrics, onProgress }: IngestParts, position: Position, head: ChainHead) {
  const done = { steps: 0, blocks: 0, bytes: 0, genUtime: null as number | null };
  let appendedSeqno = position.sealedSeqno;
  const progress = (): void =>
    onProgress?.({ ...done, headSeqno: head.seqno, appendedSeqno, firstSeqno: position.next });
  return {
    progress,
    appended(steps: readonly FetchedStep[], bytes: number): void {
      const blocks = steps.reduce((sum, step) => sum + step.blocks.length, 0);
      const last = steps[steps.length - 1];
      appendedSeqno = last.mcSeqno;
      done.steps += steps.length;
      done.blocks += blocks;
      done.bytes += bytes;
      done.genUtime = last.master.genUtime;
      metrics?.appended(last.mcSeqno, blocks, bytes);
      const now = performance.now();
      for (const { seenAtMs } of steps) if (seenAtMs !== null) metrics?.stepLatency(now - seenAtMs);
      progress();
    },
  };
}
