import type { BlockIdExt } from '../../src/chain/model.ts';
import { blockKey } from '../envelope.ts';
import { assembleStep, ForkError } from './assembly.ts';
import { IngestError } from './check.ts';
import type { BlockFetcher, FetchedBlock, FetchedMaster, MasterLink } from './follow-fetch.ts';
import type { ChainHead } from './follow-head.ts';

/** A whole step as it goes into the log. */
export interface FetchedStep {
  mcSeqno: number;
  /** In canonical order, the masterchain block last. */
  blocks: FetchedBlock[];
  bytes: number;
  master: FetchedMaster;
  /** `performance.now()` when the masterchain block was seen at the head; null for one that had been there before. */
  seenAtMs: number | null;
}

/** Bounds on what is fetched ahead of the log's end. */
export interface AheadLimits {
  steps: number;
  /** Of blocks held in memory; the step at the log's end is fetched beside that. */
  bytes: number;
  /** Of the blocks of one step. */
  stepBytes: number;
}

/** Steps in order, fetched ahead of their turn. */
export interface StepPipeline {
  /** The next step. Rejects when it cannot be had, or with the signal's reason. */
  next(): Promise<FetchedStep>;
  /** The next step when it is complete already. */
  takeReady(): FetchedStep | null;
  /** To be called when the head advances. */
  fill(): void;
  /** To be called when the bytes of steps are let go. */
  released(bytes: number): void;
}

export interface PipelineOptions {
  /** First step to fetch. */
  first: number;
  before: MasterLink;
  head: ChainHead;
  fetcher: BlockFetcher;
  limits: AheadLimits;
  signal: AbortSignal;
}

interface Started {
  promise: Promise<FetchedStep>;
  done: FetchedStep | null;
}

/** Shard blocks of a step that are fetched before its masterchain block is proven: it may commit any number of them. */
const BELIEVED_BLOCKS = 256;
/** What is kept of a block beside its bytes counts as so many. */
const BLOCK_OVERHEAD = 1_024;
/** A first guess at a step, before any was seen. */
const USUAL_STEP_BYTES = 50_000;

/**
 * Fetches many steps at a time. A step needs nothing but the masterchain block before its own, so steps do not wait
 * for each other, and the next masterchain block is fetched while shard blocks of this step are on their way.
 */
export function createStepPipeline(options: PipelineOptions): StepPipeline {
  const { head, fetcher, limits, signal } = options;
  const started: Started[] = [];
  let nextSeqno = options.first;
  let link: Promise<MasterLink> = Promise.resolve(options.before);
  let heldBytes = 0;
  let unfinished = 0;
  let meanBytes = USUAL_STEP_BYTES;
  let wake: (() => void) | null = null;

  function start(mcSeqno: number): void {
    const seen = head.seen(mcSeqno);
    const before = link;
    const master = fetcher.master(mcSeqno, seen?.id ?? null, before);
    link = master;
    const entry: Started = { promise: complete(mcSeqno), done: null };
    // A failure is met when the step's turn comes; until then it must not count as unhandled.
    entry.promise.catch(() => undefined);
    started.push(entry);
    unfinished++;

    async function complete(seqno: number): Promise<FetchedStep> {
      const step = await assemble(fetcher, seqno, await master, await before, limits.stepBytes);
      unfinished--;
      heldBytes += step.bytes;
      meanBytes += (step.bytes - meanBytes) / 16;
      const ready = { ...step, seenAtMs: seen?.atMs ?? null };
      entry.done = ready;
      // Its size is known now and may leave room for more than was guessed.
      fill();
      return ready;
    }
  }

  function fill(): void {
    if (signal.aborted) return;
    while (
      nextSeqno <= head.seqno &&
      started.length < limits.steps &&
      (started.length === 0 || heldBytes + unfinished * meanBytes < limits.bytes)
    ) {
      start(nextSeqno++);
    }
    wake?.();
  }

  const somethingStarted = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const stop = (): void => reject(signal.reason);
      signal.addEventListener('abort', stop, { once: true });
      wake = () => {
        if (started.length === 0) return;
        wake = null;
        signal.removeEventListener('abort', stop);
        resolve();
      };
    });

  return {
    fill,
    async next() {
      signal.throwIfAborted();
      fill();
      if (started.length === 0) await somethingStarted();
      const step = await started[0].promise;
      started.shift();
      return step;
    },
    takeReady() {
      const ready = started.at(0)?.done ?? null;
      if (ready !== null) started.shift();
      return ready;
    },
    released(bytes) {
      heldBytes -= bytes;
      fill();
    },
  };
}

type AssembledStep = Omit<FetchedStep, 'seenAtMs'>;

/** Fetches the shard blocks that a masterchain block commits, and puts the step in order. */
async function assemble(
  fetcher: BlockFetcher,
  mcSeqno: number,
  master: FetchedMaster,
  before: MasterLink,
  mostBytes: number,
): Promise<AssembledStep> {
  const committed = before.tops;
  const tops = new Set(master.tops.map(blockKey));
  const asked = new Map<string, Promise<FetchedBlock | null>>();
  let proof: Promise<void> | null = null;
  let held = master.boc.length;
  const weigh = async (block: FetchedBlock): Promise<FetchedBlock> => {
    held += block.boc.length + BLOCK_OVERHEAD;
    if (held <= mostBytes) return block;
    await fetcher.confirm(master);
    const what = `step ${mcSeqno} has more than ${mostBytes} bytes of blocks`;
    throw new IngestError('too_large', null, `${what}; where that is right, raise --max-step-bytes`);
  };
  const fetch = async (id: BlockIdExt): Promise<FetchedBlock | null> => {
    if (asked.size >= BELIEVED_BLOCKS) {
      proof ??= fetcher.confirm(master);
      await proof;
    }
    if (committed !== null || tops.has(blockKey(id))) return weigh(await fetcher.shard(id, master));
    // Where the block before is not to be had: no earlier masterchain block can commit what was built on it. What
    // was built before may be of an earlier step and stays out.
    const block = await fetcher.oldShard(id, mcSeqno);
    return block !== null && (block.masterRefSeqno ?? 0) >= mcSeqno - 1 ? weigh(block) : null;
  };
  // After a split both halves refer to the same block.
  const find = (id: BlockIdExt): Promise<FetchedBlock | null> => {
    const key = `${blockKey(id)} ${id.rootHash.toString('hex')}`;
    const known = asked.get(key) ?? fetch(id);
    asked.set(key, known);
    return known;
  };
  try {
    const shards = await assembleStep({ mcSeqno, tops: master.tops, committed }, find);
    const blocks = [...shards, master];
    return { mcSeqno, blocks, master, bytes: blocks.reduce((sum, { boc }) => sum + boc.length, 0) };
  } catch (error) {
    if (!(error instanceof ForkError)) throw error;
    await fetcher.confirm(master);
    throw new IngestError('conflict', null, error.message, { cause: error });
  }
}
