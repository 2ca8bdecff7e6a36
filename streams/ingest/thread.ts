import type { Config } from '../../src/config.ts';
import { startThread, type Thread } from '../../src/thread.ts';
import type { IngestMetrics } from './follow.ts';

/** What the thread is started with. */
export interface IngestThreadData {
  config: Config;
  /** Text of the network's global config. */
  globalConfig: string;
}

/** A call of a metric, made in the thread and repeated where the registry is. */
export type MetricCall = { [K in keyof IngestMetrics]: [K, ...Parameters<IngestMetrics[K]>] }[keyof IngestMetrics];

/** Runs the ingester with its liteserver pool in a worker thread: hashing blocks is work, too. */
export function startIngestThread(data: IngestThreadData, metrics: IngestMetrics): Thread<never> {
  const module = new URL('./worker.ts', import.meta.url);
  return startThread<IngestThreadData, never, MetricCall[]>('ingester', module, data, (calls) => {
    for (const call of calls) repeat(metrics, call);
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
