import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { BlockIdExt } from '../../src/chain/model.ts';
import { type BlockProver, NodeError, type ProvenBlock } from '../../src/node/chain-node.ts';
import { createSeldom } from '../seldom.ts';
import { IngestError, sameHashes } from './check.ts';
import type { Patience } from './follow-patience.ts';
import type { FetchedStep, StepPipeline } from './follow-steps.ts';

/** Steps that may go into the log. */
export interface ProvenSteps extends Pick<StepPipeline, 'next' | 'takeReady'> {
  /** A masterchain block was seen at the head: its proof may begin before the block is here. */
  seen(id: BlockIdExt): void;
}

export interface ProvenStepsOptions {
  pipeline: Pick<StepPipeline, 'next' | 'takeReady'>;
  prover: BlockProver;
  patience: Patience;
  /** First step of the pipeline. */
  first: number;
  /** Newest masterchain seqno that servers show. */
  headSeqno: () => number;
  /** Shortest time between the beginnings of two proofs. */
  intervalMs: number;
  logger: Pick<Logger, 'warn'>;
  onProven?: ((proven: ProvenBlock) => void) | undefined;
  signal: AbortSignal;
}

/** Answers of "nobody can" after which what was fetched is thrown away. */
const TRIES = 6;

/** Age of the head above which something is wrong, with the servers, the chain or the clock here. */
const OLD_HEAD_S = 300;
const OLD_LINE_MS = 60_000;

/**
 * Proves a masterchain block, in several tries.
 * @throws IngestError `unproven` when nobody can
 */
export function proveOrLeave(
  { seqno }: BlockIdExt,
  patience: Patience,
  prove: () => Promise<ProvenBlock>,
): Promise<ProvenBlock> {
  return patience.untilDone(`proving masterchain block ${seqno}`, async (attempt) => {
    try {
      return await prove();
    } catch (error) {
      const nobody = error instanceof NodeError && error.code === 'not_found';
      if (!nobody || attempt + 1 < TRIES) throw error;
      const what = `nobody can prove masterchain block ${seqno} (${error.message})`;
      throw new IngestError('unproven', null, `${what}: left out`, { cause: error });
    }
  });
}

/**
 * Holds steps back until a proof covers them. The masterchain blocks of the pipeline follow each other by their
 * references, so the proof of one is the proof of all before it: one proof at a time, of the newest block there is;
 * while the log is far behind, one covers thousands.
 *
 * `next` throws IngestError `unproven` when nobody can prove what servers gave: what is held may be a lie from its
 * first block on, and has to be fetched anew.
 */
export function createProvenSteps(options: ProvenStepsOptions): ProvenSteps {
  const { pipeline, prover, patience, intervalMs, signal } = options;
  const held: FetchedStep[] = [];
  const mayTellOld = createSeldom(OLD_LINE_MS);
  /** Newest seqno that is covered. */
  let covered = options.first - 1;
  let given = options.first - 1;
  let startedAtMs = Number.NEGATIVE_INFINITY;
  /** A proof that began at the word of the head. */
  let early: { id: BlockIdExt; proof: Promise<ProvenBlock> } | null = null;

  async function prove(id: BlockIdExt): Promise<ProvenBlock> {
    startedAtMs = performance.now();
    const proven = await prover.prove(id, signal);
    const age = Date.now() / 1000 - (proven.genUtime ?? 0);
    // Blocks before the head, which are fetched while the log is behind, are old for that.
    const isHead = proven === prover.newest && id.seqno >= options.headSeqno();
    if (isHead && age > OLD_HEAD_S && mayTellOld()) {
      const what = `the newest block that servers prove is ${Math.round(age)} s old`;
      const why = 'they replay an old head, the chain stands still, or the clock of this host is ahead';
      options.logger.warn({ seqno: id.seqno }, `${what}: ${why}`);
    }
    options.onProven?.(proven);
    return proven;
  }

  /** The held steps up to a proven block may go, if that is the block that is held. */
  function release({ id }: ProvenBlock): void {
    const step = held.find(({ mcSeqno }) => mcSeqno === id.seqno);
    if (step !== undefined && sameHashes(step.master.id, id)) covered = id.seqno;
  }

  function gather(): void {
    for (let step = pipeline.takeReady(); step !== null; step = pipeline.takeReady()) held.push(step);
  }

  async function proveNewest(): Promise<void> {
    const pauseMs = startedAtMs + intervalMs - performance.now();
    if (pauseMs > 0) await sleep(pauseMs, undefined, { signal });
    gather();
    const { id } = held[held.length - 1].master;
    release(await proveOrLeave(id, patience, () => prove(id)));
  }

  async function settleEarly(): Promise<void> {
    if (early === null) return;
    const { proof } = early;
    early = null;
    // What went wrong is met again when the step is here.
    const proven = await proof.catch(() => null);
    signal.throwIfAborted();
    if (proven !== null) release(proven);
  }

  function take(): FetchedStep | null {
    if (held.length === 0 || held[0].mcSeqno > covered) return null;
    given = held[0].mcSeqno;
    return held.shift() ?? null;
  }

  return {
    seen(id) {
      const isNext = held.length === 0 && id.seqno === given + 1;
      if (!isNext || early !== null || performance.now() - startedAtMs < intervalMs) return;
      const proof = prove(id);
      proof.catch(() => undefined);
      early = { id, proof };
    },
    async next() {
      for (;;) {
        signal.throwIfAborted();
        const step = take();
        if (step !== null) return step;
        if (held.length === 0) held.push(await pipeline.next());
        if (early !== null) await settleEarly();
        if (held[0].mcSeqno > covered) await proveNewest();
      }
    },
    takeReady: take,
  };
}
