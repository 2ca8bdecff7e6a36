import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { InvalidationReason } from '../../streams/pending-trace.ts';
import type { Comparison } from './compare.ts';

export interface PendingMetrics {
  /**
   * What became of a sent message, or of a further attempt: told, known, late, full, lost, rate, refused, included,
   * failed.
   */
  message(outcome: string): void;
  /** Milliseconds from a message to its trace in the topic. */
  took(ms: number): void;
  compared(comparison: Pick<Comparison, 'likeness' | 'raced'>): void;
  invalidated(reason: InvalidationReason): void;
  tailFailed(): void;
  /** A trace was emulated as far as the limits of transactions, bytes or depth let. */
  cutOff(): void;
  /** A trace grew too large to be told of as a whole. */
  tooLarge(): void;
  /** What a trace does could not be told, or not in time. */
  unclassified(): void;
}

export function createPendingMetrics(registry: Registry, size: () => number): PendingMetrics {
  const registers = [registry];
  const messages = new Counter({
    name: 'tonstream_pending_messages_total',
    help: 'Sent messages and further attempts, by what was told of them: told, known, late, full (its end alone), lost (nothing), rate, refused, included, failed',
    labelNames: ['outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'tonstream_pending_seconds',
    help: 'From reading a sent message to its pending trace in the topic',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers,
  });
  const compared = new Counter({
    name: 'tonstream_pending_compared_total',
    help: 'Traces that came true, by whether they did as they were emulated (same, near: values apart by some storage, other) and whether an account of them did something else meanwhile',
    labelNames: ['result', 'raced'],
    registers,
  });
  const invalidated = new Counter({
    name: 'tonstream_pending_invalidated_total',
    help: 'Pending traces that were invalidated, by the reason',
    labelNames: ['reason'],
    registers,
  });
  const tails = new Counter({
    name: 'tonstream_pending_tail_failures_total',
    help: 'Traces that are real in part and whose rest could not be emulated',
    registers,
  });
  const cut = new Counter({
    name: 'tonstream_pending_cut_off_total',
    help: 'Emulated traces that were cut off at 256 transactions, 4 MB or a depth of 32',
    registers,
  });
  const large = new Counter({
    name: 'tonstream_pending_too_large_total',
    help: 'Traces that are told of no more because they have grown above 4,096 transactions or 4 MB: their steps tell them',
    registers,
  });
  const unclassified = new Counter({
    name: 'tonstream_pending_unclassified_total',
    help: 'Times that the actions of a pending trace, or the wallets that it leaves, could not be told, or not within two seconds',
    registers,
  });
  new Gauge({
    name: 'tonstream_pending_traces',
    help: 'Pending traces that this process tells of',
    registers,
    collect() {
      this.set(size());
    },
  });
  return {
    message: (outcome) => messages.inc({ outcome }),
    took: (ms) => seconds.observe(ms / 1000),
    compared: ({ likeness, raced }) => compared.inc({ result: likeness, raced: String(raced) }),
    invalidated: (reason) => invalidated.inc({ reason }),
    tailFailed: () => tails.inc(),
    cutOff: () => cut.inc(),
    tooLarge: () => large.inc(),
    unclassified: () => unclassified.inc(),
  };
}
