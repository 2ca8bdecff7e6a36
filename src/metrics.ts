import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ClickHouseMetrics } from '../clickhouse/client.ts';
import type { QueryGateMetrics } from '../clickhouse/gate.ts';
import type { Counters } from '../streams/project/counters.ts';
import type { Progress } from '../streams/project/options.ts';
import { createIngestMetrics } from './ingest-metrics.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** The instruments of the service, in one registry; durations of API requests are added by the API itself. */
export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const gauge = (name: string, help: string) => new Gauge({ name: `tonstream_${name}`, help, registers });
  const projectedSeqno = gauge('projected_mc_seqno', 'Masterchain seqno up to which the tables are complete');
  const projectedOffset = gauge('projection_offset', 'Offset in the blocks topic up to which the tables are complete');
  let newestUtime: number | null = null;
  new Gauge({
    name: 'tonstream_projection_lag_seconds',
    help: 'Now minus the generation time of the newest projected step',
    registers,
    // Told when it is asked for: while nothing is projected it grows.
    collect() {
      if (newestUtime !== null) this.set(Date.now() / 1000 - newestUtime);
    },
  });
  const gaps = gauge(
    'gaps',
    'Steps that are not in the tables because a block of theirs cannot be decoded (at most 100)',
  );
  const batchSeconds = new Histogram({
    name: 'tonstream_projection_batch_seconds',
    help: 'Time from decoding a batch to its rows being in every table',
    buckets: [0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const projected = new Counter({
    name: 'tonstream_projected_total',
    help: 'Projected since the start, by kind',
    labelNames: ['kind'],
    registers,
  });
  const projectorEvents = new Gauge({
    name: 'tonstream_projector_events',
    help: 'Events of the projector since its start: broken traces, cells not seen, retries, gaps and the like',
    labelNames: ['event'],
    registers,
  });
  const requests = new Histogram({
    name: 'tonstream_clickhouse_seconds',
    help: 'Duration of ClickHouse requests',
    labelNames: ['operation', 'label', 'outcome'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const running = gauge('queries_running', 'ClickHouse queries of the API that are running');
  const queued = gauge('queries_queued', 'ClickHouse queries of the API that wait for their turn');
  const rejected = new Counter({
    name: 'tonstream_queries_rejected_total',
    help: 'Queries refused because the queue was full (answered 429)',
    registers,
  });
  const ingest = createIngestMetrics(registry);
  const restarts = gauge('clickhouse_restarts', 'Restarts of the embedded ClickHouse server');

  return {
    registry,
    clickhouse: {
      finished: (operation, label, outcome, ms) => requests.observe({ operation, label, outcome }, ms / 1000),
    } satisfies ClickHouseMetrics,
    gate: {
      depth(nowRunning: number, nowQueued: number) {
        running.set(nowRunning);
        queued.set(nowQueued);
      },
      rejected: () => rejected.inc(),
      waited: () => undefined,
    } satisfies QueryGateMetrics,
    /** The tables are complete up to there, as a process sees that does not project. */
    completeTo: (mcSeqno: number) => projectedSeqno.set(mcSeqno),
    projected({ batch, counts, tookMs, genUtime, counters }: Progress): void {
      projectedSeqno.set(batch.mcSeqno);
      projectedOffset.set(batch.nextOffset);
      newestUtime = genUtime;
      batchSeconds.observe(tookMs / 1000);
      for (const kind of ['blocks', 'transactions', 'messages'] as const) projected.inc({ kind }, counts[kind]);
      for (const event of Object.keys(counters) as (keyof Counters)[]) projectorEvents.set({ event }, counters[event]);
    },
    ingest,
    gaps: (count: number) => gaps.set(count),
    clickhouseRestarts: (count: number) => restarts.set(count),
  };
}
