import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ViewMetrics } from './state/view.ts';
import type { TvmMetrics } from './tvm/pool.ts';

/** What the threads do that run contracts. */
export function createTvmMetrics(registry: Registry): TvmMetrics {
  const registers = [registry];
  const running = new Gauge({ name: 'tonstream_tvm_running', help: 'Runs of contracts under way', registers });
  const queued = new Gauge({
    name: 'tonstream_tvm_queued',
    help: 'Runs of contracts that wait for a thread',
    registers,
  });
  const seconds = new Histogram({
    name: 'tonstream_tvm_seconds',
    help: 'Duration of runs of contracts',
    labelNames: ['kind', 'outcome'],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers,
  });
  const rejected = new Counter({
    name: 'tonstream_tvm_rejected_total',
    help: 'Runs of contracts refused because the queue was full (answered 429)',
    registers,
  });
  const replaced = new Counter({
    name: 'tonstream_tvm_replaced_total',
    help: 'Threads or executors that were replaced after a run that hung or broke them',
    registers,
  });
  return {
    depth(nowRunning, nowQueued) {
      running.set(nowRunning);
      queued.set(nowQueued);
    },
    finished: (kind, outcome, ms) => seconds.observe({ kind, outcome }, ms / 1000),
    rejected: () => rejected.inc(),
    replaced: () => replaced.inc(),
  };
}

export function createViewMetrics(registry: Registry): ViewMetrics {
  const unknown = new Counter({
    name: 'tonstream_tvm_unknown_blocks_total',
    help: 'Steps whose previous blocks nobody could tell: contracts that ask for them get none',
    registers: [registry],
  });
  return { unknownBlocks: () => unknown.inc() };
}
