import type { Config } from '../../src/config.ts';
import { createLogger } from '../../src/logger.ts';
import { parseGlobalConfig } from '../../src/node/global-config.ts';
import { createLitePool, type LitePool } from '../../src/node/lite-pool.ts';
import { findGlobalConfig } from '../../src/node/network.ts';
import { runInThread } from '../../src/thread.ts';
import { openLog } from '../open.ts';
import { topicNames } from '../topics.ts';
import { type IngestMetrics, ingest } from './follow.ts';
import { parseStart } from './follow-start.ts';
import type { IngestReport, IngestThreadData } from './thread.ts';

const REPORT_MS = 500;
/** Of one report; more are left out. */
const MOST_LATENCIES = 1_000;

/** The ingester's thread: follows the network into the log until it is told to stop. */
await runInThread<IngestThreadData, never, IngestReport>(async ({ data: { config, globalConfig }, signal, send }) => {
  const logger = createLogger(config.logLevel).child({ part: 'ingest' });
  const network =
    globalConfig === null
      ? await findGlobalConfig({ ...config, source: config.globalConfig, logger, signal })
      : parseGlobalConfig(JSON.parse(globalConfig));
  const reports = createReports();
  const node = createLitePool(network, {
    logger,
    metrics: { fault: (_server, kind) => reports.count(`fault_${kind}`) },
  });
  const log = openLog(config, logger);
  const timer = setInterval(() => send(reports.take(node)), REPORT_MS);
  try {
    const topics = topicNames(config.topicPrefix);
    const options = { from: startOf(config), source: config.network === 'devnet' ? 'devnet' : 'lite' } as const;
    const { metrics, onProgress } = reports;
    await ingest({ log, topics, node, options, logger, metrics, onProgress }, signal);
  } finally {
    clearInterval(timer);
    send(reports.take(node));
    await node.close();
    await log.close();
  }
});

function startOf({ from, network }: Config): ReturnType<typeof parseStart> {
  return parseStart(from ?? (network === 'devnet' ? 'genesis' : 'head'));
}

function createReports() {
  let report = emptyReport();
  const count = (event: string): void => {
    report.events[event] = (report.events[event] ?? 0) + 1;
  };
  const metrics: IngestMetrics = {
    head: () => undefined,
    appended: () => undefined,
    fetched(ms, bytes) {
      report.fetched.blocks++;
      report.fetched.bytes += bytes;
      report.fetched.ms += ms;
    },
    stepLatency(ms) {
      if (report.stepLatencies.length < MOST_LATENCIES) report.stepLatencies.push(ms);
    },
    refetched: (reason) => count(`refetched_${reason}`),
    cells: (event) => count(`cells_${event}`),
  };
  return {
    metrics,
    count,
    onProgress(progress: NonNullable<IngestReport['progress']>): void {
      report.progress = progress;
    },
    take(node: LitePool): IngestReport {
      const taken = { ...report, servers: node.servers() };
      report = emptyReport();
      return taken;
    },
  };
}

function emptyReport(): IngestReport {
  return { progress: null, servers: [], fetched: { blocks: 0, bytes: 0, ms: 0 }, stepLatencies: [], events: {} };
}
