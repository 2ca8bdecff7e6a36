/** Measures of the ingester over any chain node; the benchmark puts a recorded one in. */
import { readConfig } from '../src/config.ts';
import type { BlockProver, ChainNode } from '../src/node/chain-node.ts';
import type { BlockSource } from '../streams/envelope.ts';
import { type IngestProgress, ingest } from '../streams/ingest/follow.ts';
import type { StartPoint } from '../streams/ingest/follow-start.ts';
import { ingestOptions } from '../streams/ingest/options.ts';
import type { EventLog } from '../streams/log.ts';
import { topicNames } from '../streams/topics.ts';

export interface Subject {
  log: EventLog;
  node: ChainNode;
  /** Steps wait for their proofs. */
  prover?: BlockProver | null;
  source: BlockSource;
  from: StartPoint;
}

export interface LatencyFigures {
  steps: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Ingests until `enough` says so. */
async function ingestUntil(
  { log, node, prover = null, source, from }: Subject,
  enough: (progress: IngestProgress) => boolean,
): Promise<void> {
  const stop = new AbortController();
  const onProgress = (progress: IngestProgress): void => {
    if (enough(progress)) stop.abort();
  };
  const options = { from, source, ...ingestOptions(readConfig([], {}).config), proofIntervalMs: 0 };
  await ingest({ log, topics: topicNames(), node, prover, options, logger: silent, onProgress }, stop.signal);
}

/**
 * Time from a masterchain block being available to its step being sealed in the log.
 * @param availableAt `performance.now()` of a block's coming; undefined leaves the step out
 * @param last the step to end with
 */
export async function measureLatency(
  subject: Subject,
  availableAt: (seqno: number) => number | undefined,
  last: number,
): Promise<LatencyFigures> {
  const sealedAt = new Map<number, number>();
  let newest: number | null = null;
  await ingestUntil(subject, ({ appendedSeqno, steps }) => {
    const now = performance.now();
    if (appendedSeqno === null || steps === 0) return false;
    // Steps appended together are sealed together.
    for (let seqno = (newest ?? appendedSeqno - steps) + 1; seqno <= appendedSeqno; seqno++) sealedAt.set(seqno, now);
    newest = appendedSeqno;
    return appendedSeqno >= last;
  });
  const latencies = [...sealedAt].flatMap(([seqno, at]) => {
    const since = availableAt(seqno);
    return since === undefined ? [] : [at - since];
  });
  latencies.sort((a, b) => a - b);
  const quantile = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))];
  return { steps: latencies.length, p50Ms: quantile(0.5), p99Ms: quantile(0.99), maxMs: quantile(1) };
}

/**
 * A node's own word of when its masterchain blocks came, by a long poll beside the ingester's. `ended` is fulfilled
 * after the abort and rejects when the node fails.
 */
export async function observeBlocks(
  node: ChainNode,
  signal: AbortSignal,
): Promise<{ availableAt: (seqno: number) => number | undefined; ended: Promise<void> }> {
  const cameAt = new Map<number, number>();
  const { seqno: head } = await node.head(signal);
  const watch = async (): Promise<void> => {
    for (let seqno = head + 1; !signal.aborted; ) {
      const id = await node.waitMasterchainBlock(seqno, 10_000, signal);
      if (id !== null) cameAt.set(seqno++, performance.now());
    }
  };
  const ended = watch().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  return { availableAt: (seqno) => cameAt.get(seqno), ended };
}

/** Blocks and bytes a second while the log is behind. */
export async function measureBackfill(
  subject: Subject,
  last: number,
): Promise<{ blocks: number; bytes: number; seconds: number }> {
  const since = performance.now();
  const done = { blocks: 0, bytes: 0 };
  await ingestUntil(subject, ({ blocks, bytes, appendedSeqno }) => {
    Object.assign(done, { blocks, bytes });
    return (appendedSeqno ?? 0) >= last;
  });
  return { ...done, seconds: (performance.now() - since) / 1000 };
}
