import { tmpdir } from 'node:os';
import { encodeBlockRecord } from '../envelope.ts';
import type { EventLog, LogRecord } from '../log.ts';
import type { TopicNames } from '../topics.ts';
import { listBlockFiles } from './block-files.ts';
import { type BlockIndex, collectBlocks } from './block-index.ts';
import { markLogged, readLoggedEnd } from './logged.ts';
import { firstStepToCompare, type ImportPlan, type PlannedStep, planImport } from './plan.ts';
import { createSpool } from './spool.ts';

export interface ImportProgress {
  /** `check` reads the files, `append` writes the log. */
  phase: 'check' | 'append';
  blocks: number;
  /** Bytes of files read, or of blocks appended; and how many there are. */
  bytes: number;
  totalBytes: number;
}

export interface ImportOptions {
  /** Accept holes: shard blocks without their masterchain block, masterchain blocks that do not follow each other. */
  loose?: boolean;
  signal?: AbortSignal;
  onProgress?: (progress: ImportProgress) => void;
  /** Where blocks are put aside that do not fit into memory. */
  spoolFolder?: string;
  spoolMemoryBytes?: number;
  /** Blocks of one append. Steps are kept whole unless one alone is larger. */
  batchBytes?: number;
}

export interface ImportSummary {
  /** What was appended. */
  steps: number;
  blocks: number;
  /** Bytes of blocks. */
  bytes: number;
  firstMcSeqno: number | null;
  lastMcSeqno: number | null;
  /** Blocks the log had already. */
  skipped: number;
  /** Blocks that came more than once in the files. */
  repeated: number;
  /** Shard blocks that no masterchain block commits yet. */
  leftOut: number;
  /** Stopped by the signal before everything was appended. */
  stopped: boolean;
}

const SPOOL_MEMORY_BYTES = 64 * 1024 * 1024;
const BATCH_BYTES = 8 * 1024 * 1024;

/**
 * Imports block files, sequences and folders of them into the log, in two passes: every block is checked and the
 * whole run put into steps before the first append, so bad input changes nothing. Memory: 64 MiB of blocks (further
 * ones go to a nameless file in `spoolFolder`) and about 1.3 KB a block for the index. Blocks the log has already are
 * compared by their hashes and skipped, a half-written step is completed; so a run can be repeated at any time.
 *
 * @throws {IngestError} naming file and line @throws {LogError} `writer_busy` @throws {EnvelopeError}
 */
export async function importFiles(
  log: EventLog,
  topics: TopicNames,
  paths: readonly string[],
  options: ImportOptions = {},
): Promise<ImportSummary> {
  const signal = options.signal ?? new AbortController().signal;
  const topic = topics.blocks;
  const files = await listBlockFiles(paths);
  await log.ensureTopic(topic);
  // An empty append takes the writer's lock: from here on nobody else moves the end of the log.
  await log.append(topic, []);
  const end = await readLoggedEnd(log, topic);
  const folder = options.spoolFolder ?? tmpdir();
  const spool = createSpool({ folder, memoryBytes: options.spoolMemoryBytes ?? SPOOL_MEMORY_BYTES });
  try {
    const totalBytes = files.reduce((sum, { size }) => sum + size, 0);
    const done: ImportProgress = { phase: 'check', blocks: 0, bytes: 0, totalBytes };
    const index = await collectBlocks(files, spool, {
      globalId: end.globalId,
      signal,
      onBytes: (count) => {
        done.bytes += count;
      },
      onBlock: () => {
        done.blocks++;
        options.onProgress?.(done);
      },
    });
    const loose = options.loose === true;
    await markLogged(log, topic, end, index, firstStepToCompare(index, loose), signal);
    const plan = await planImport(index, end, loose);
    return await appendPlan(log, topic, index, plan, options, signal);
  } catch (error) {
    if (!signal.aborted || !isAbort(error, signal)) throw error;
    return { ...nothing(), stopped: true };
  } finally {
    await spool.close();
  }
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  return error === signal.reason || (error instanceof Error && error.name === 'AbortError');
}

function nothing(): ImportSummary {
  return {
    steps: 0,
    blocks: 0,
    bytes: 0,
    firstMcSeqno: null,
    lastMcSeqno: null,
    skipped: 0,
    repeated: 0,
    leftOut: 0,
    stopped: false,
  };
}

async function appendPlan(
  log: EventLog,
  topic: string,
  index: BlockIndex,
  plan: ImportPlan,
  options: ImportOptions,
  signal: AbortSignal,
): Promise<ImportSummary> {
  const summary = nothing();
  const written = plan.steps.reduce((sum, step) => sum + step.written, 0);
  summary.skipped = written + [...index.blocks.values()].filter(({ loggedIn }) => loggedIn !== null).length;
  summary.repeated = index.repeated;
  summary.leftOut = plan.leftOut.length;
  const totalBytes = plan.steps.reduce((sum, step) => sum + stepBytes(step), 0);
  for (const batch of batches(plan.steps, options.batchBytes ?? BATCH_BYTES)) {
    if (signal.aborted) {
      summary.stopped = true;
      break;
    }
    await appendSteps(log, topic, index, batch, options.batchBytes ?? BATCH_BYTES);
    summary.steps += batch.length;
    summary.firstMcSeqno ??= batch[0].mcSeqno;
    summary.lastMcSeqno = batch[batch.length - 1].mcSeqno;
    for (const step of batch) {
      summary.blocks += step.blocks.length - step.written;
      summary.bytes += stepBytes(step);
    }
    options.onProgress?.({ phase: 'append', blocks: summary.blocks, bytes: summary.bytes, totalBytes });
  }
  return summary;
}

/** What is still to be appended of a step. */
function stepBytes(step: PlannedStep): number {
  return step.blocks.slice(step.written).reduce((sum, { spot }) => sum + spot.length, 0);
}

/** Neighbouring steps of up to `maxBytes` together; a larger step comes alone. */
function* batches(steps: readonly PlannedStep[], maxBytes: number): Generator<PlannedStep[]> {
  let batch: PlannedStep[] = [];
  let bytes = 0;
  for (const step of steps) {
    const size = stepBytes(step);
    if (batch.length > 0 && bytes + size > maxBytes) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(step);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** In one append, or several when a single step is larger than `maxBytes`. */
async function appendSteps(
  log: EventLog,
  topic: string,
  index: BlockIndex,
  steps: readonly PlannedStep[],
  maxBytes: number,
): Promise<void> {
  let records: LogRecord[] = [];
  let bytes = 0;
  for (const { mcSeqno, blocks, written } of steps) {
    for (let at = written; at < blocks.length; at++) {
      const block = blocks[at];
      if (records.length > 0 && bytes + block.spot.length > maxBytes) {
        await log.append(topic, records);
        records = [];
        bytes = 0;
      }
      const { id, globalId, globalVersion, genUtime, spot } = block;
      const boc = await index.bytes(block);
      const seal = at === blocks.length - 1 ? blocks.length : null;
      const receivedAtMs = Date.now();
      const meta = { id, globalId, globalVersion, genUtime, mcSeqno, seal, receivedAtMs, source: 'file' as const };
      records.push(encodeBlockRecord({ ...meta, boc }));
      bytes += spot.length;
    }
  }
  await log.append(topic, records);
}
