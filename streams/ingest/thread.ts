import type { Config } from '../../src/config.ts';
import type { ServerStatus } from '../../src/node/lite-pool.ts';
import { startThread, type Thread } from '../../src/thread.ts';
import type { IngestMetrics, IngestProgress } from './follow.ts';

/** What the thread is started with. */
export interface IngestThreadData {
  config: Config;
  /** Text of the network's global config. */
  globalConfig: string;
}

/** A call of a metric, made in the thread and repeated where the registry is. */
export type MetricCall = { [K in keyof IngestMetrics]: [K, ...Parameters<IngestMetrics[K]>] }[keyof IngestMetrics];

/** What happened since the report before; sent twice a second, and at the end. */
export interface IngestReport {
  progress: IngestProgress | null;
  servers: ServerStatus[];
  /** The first thousands of them. */
  calls: MetricCall[];
}

export interface IngestThreadOptions {
  metrics: IngestMetrics;
  onReport?: (report: IngestReport) => void;
}

/** Runs the ingester with its liteserver pool in a worker thread: hashing blocks is work, too. */
export function startIngestThread(data: IngestThreadData, { metrics, onReport }: IngestThreadOptions): Thread<never> {
  const module = new URL('./worker.ts', import.meta.url);
  return startThread<IngestThreadData, never, IngestReport>('ingester', module, data, (report) => {
    for (const call of report.calls) repeat(metrics, call);
    onReport?.(report);
  });
}

function repeat(metrics: IngestMetrics, call: MetricCall): void {
  switch (call[0]) {
    case 'head':
      metrics.head(call[1]);
      break;
    case 'appended':
      metrics.appended(call[1], call[2], call[3]);
      break;
    case 'fetched':
      metrics.fetched(call[1], call[2]);
      break;
    case 'stepLatency':
      metrics.stepLatency(call[1]);
      break;
    case 'refetched':
      metrics.refetched(call[1]);
      break;
    case 'cells':
      metrics.cells(call[1]);
      break;
  }
}
