import { createLogger } from '../../src/logger.ts';
import { parseGlobalConfig } from '../../src/node/global-config.ts';
import { createLitePool } from '../../src/node/lite-pool.ts';
import { runInThread } from '../../src/thread.ts';
import { openLog } from '../open.ts';
import { topicNames } from '../topics.ts';
import { type IngestMetrics, ingest } from './follow.ts';
import { startPoint } from './follow-start.ts';
import type { IngestThreadData, MetricCall } from './thread.ts';

const REPORT_MS = 500;
/** Between two reports; more are left out. */
const MOST_CALLS = 10_000;

/** The ingester's thread: follows the network into the log until it is told to stop. */
await runInThread<IngestThreadData, never, MetricCall[]>(async ({ data: { config, globalConfig }, signal, send }) => {
  const logger = createLogger(config.logLevel).child({ part: 'ingest' });
  const calls = createCalls();
  const node = createLitePool(parseGlobalConfig(JSON.parse(globalConfig)), { logger });
  const log = openLog(config, logger);
  const timer = setInterval(() => send(calls.take()), REPORT_MS);
  try {
    const topics = topicNames(config.topicPrefix);
    const options = {
      from: startPoint(config),
      source: config.network === 'devnet' ? 'devnet' : 'lite',
      cells: { maxBytes: config.maxDataBytes },
    } as const;
    await ingest({ log, topics, node, options, logger, metrics: calls.metrics }, signal);
  } finally {
    clearInterval(timer);
    send(calls.take());
    await node.close();
    await log.close();
  }
});

/** Calls of metrics since they were taken last. */
function createCalls() {
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
    take(): MetricCall[] {
      const taken = calls;
      calls = [];
      return taken;
    },
  };
}
