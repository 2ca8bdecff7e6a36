import { createLogger } from '../../src/logger.ts';
import { parseGlobalConfig } from '../../src/node/global-config.ts';
import { createLitePool, type LitePool } from '../../src/node/lite-pool.ts';
import { runInThread } from '../../src/thread.ts';
import { openLog } from '../open.ts';
import { topicNames } from '../topics.ts';
import { type IngestMetrics, ingest } from './follow.ts';
import { startPoint } from './follow-start.ts';
import type { IngestReport, IngestThreadData, MetricCall } from './thread.ts';

const REPORT_MS = 500;
/** Of one report; more are left out. */
const MOST_CALLS = 10_000;

/** The ingester's thread: follows the network into the log until it is told to stop. */
await runInThread<IngestThreadData, never, IngestReport>(async ({ data: { config, globalConfig }, signal, send }) => {
  const logger = createLogger(config.logLevel).child({ part: 'ingest' });
  const reports = createReports();
  const node = createLitePool(parseGlobalConfig(JSON.parse(globalConfig)), { logger });
  const log = openLog(config, logger);
  const timer = setInterval(() => send(reports.take(node)), REPORT_MS);
  try {
    const topics = topicNames(config.topicPrefix);
    const options = {
      from: startPoint(config),
      source: config.network === 'devnet' ? 'devnet' : 'lite',
      cells: { maxBytes: config.maxDataBytes },
    } as const;
    const { metrics, onProgress } = reports;
    await ingest({ log, topics, node, options, logger, metrics, onProgress }, signal);
  } finally {
    clearInterval(timer);
    send(reports.take(node));
    await node.close();
    await log.close();
  }
});

function createReports() {
  let progress: IngestReport['progress'] = null;
  let calls: MetricCall[] = [];
  const note = (call: MetricCall): void => {
    if (calls.length < MOST_CALLS) calls.push(call);
  };
  const metrics: IngestMetrics = {
    head: (seqno) => note(['head', seqno]),
    appended: (seqno, blocks, bytes) => note(['appended', seqno, blocks, bytes]),
    fetched: (ms, bytes) => note(['fetched', ms, bytes]),
    stepLatency: (ms) => note(['stepLatency', ms]),
    refetched: (reason) => note(['refetched', reason]),
    cells: (event) => note(['cells', event]),
  };
  return {
    metrics,
    onProgress(now: NonNullable<IngestReport['progress']>): void {
      progress = now;
    },
    take(node: LitePool): IngestReport {
      const report = { progress, calls, servers: node.servers() };
      calls = [];
      return report;
    },
  };
}
