import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { IngestMetrics } from '../streams/ingest/follow.ts';
import type { ServerStates } from '../streams/ingest/pool.ts';

/** The instruments of the ingester, in the service's registry. */
export function createIngestMetrics(registry: Registry): IngestMetrics {
  const registers = [registry];
  const gauge = (name: string, help: string) => new Gauge({ name: `tonstream_${name}`, help, registers });
  const counter = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
    new Counter<L>({ name: `tonstream_${name}`, help, labelNames, registers });
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name: `tonstream_${name}`, help, buckets, registers });
  const headSeqno = gauge('chain_head_mc_seqno', 'Newest masterchain seqno that the servers show');
  const appendedSeqno = gauge('ingested_mc_seqno', 'Newest masterchain step in the event log');
  const lag = gauge('ingest_lag_steps', 'Masterchain steps between the head and the event log');
  const blocks = counter('ingested_blocks_total', 'Blocks appended since the start');
  const bytes = counter('ingested_bytes_total', 'Bytes of blocks appended since the start');
  const fetchSeconds = histogram(
    'block_fetch_seconds',
    'Duration of fetching one block',
    [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  );
  const stepSeconds = histogram(
    'ingest_step_seconds',
    'From the word of a masterchain block at the head to its step being sealed in the event log',
    [0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  );
  const refetches = counter('block_refetches_total', 'Requests made again, by reason', ['reason']);
  const cells = counter('ingest_cells_total', 'Cells that no block shows: asked for, answered and not', ['event']);
  const faults = counter('liteserver_faults_total', 'What liteservers did wrong, by kind', ['kind']);
  const provenSeqno = gauge('proven_mc_seqno', 'Newest masterchain seqno proven by signatures of validators');
  const provenUtime = gauge('proven_utime_seconds', 'Generation time of that block, Unix seconds');
  const unproven = counter(
    'unproven_total',
    'Times that blocks were left out because nobody could prove them, or that the head went back',
  );
  let head = 0;
  let appended: number | null = null;
  const showLag = (): void => lag.set(appended === null ? 0 : Math.max(0, head - appended));
  return {
    head(seqno) {
      head = seqno;
      headSeqno.set(seqno);
      showLag();
    },
    appended(seqno, count, size) {
      appended = seqno;
      appendedSeqno.set(seqno);
      blocks.inc(count);
      bytes.inc(size);
      showLag();
    },
    fetched: (ms) => fetchSeconds.observe(ms / 1000),
    stepLatency: (ms) => stepSeconds.observe(ms / 1000),
    refetched: (reason) => refetches.inc({ reason }),
    cells: (event) => cells.inc({ event }),
    proven(seqno, genUtime) {
      provenSeqno.set(seqno);
      provenUtime.set(genUtime);
    },
    unproven: () => unproven.inc(),
    serverFault: (kind) => faults.inc({ kind }),
  };
}

/** Shows how many liteservers are in which state, read when the metrics are. */
export function watchServers(registry: Registry, states: () => ServerStates): void {
  new Gauge({
    name: 'tonstream_liteservers',
    help: 'Liteservers of the network by state',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [state, count] of Object.entries(states())) this.set({ state }, count);
    },
  });
}
