import { once } from 'node:events';
import type { Logger } from 'pino';
import { createCalled } from '../../src/calls.ts';
import type { Config } from '../../src/config.ts';
import { createLogger } from '../../src/logger.ts';
import { answerLite, type LiteQuestion, packLiteError } from '../../src/node/liteservers.ts';
import { runInThread } from '../../src/thread.ts';
import { openLog } from '../open.ts';
import { topicNames } from '../topics.ts';
import { type IngestMetrics, type IngestParts, ingest } from './follow.ts';
import { startPoint } from './follow-start.ts';
import { ingestOptions } from './options.ts';
import { openPool, serverStates } from './pool.ts';
import type { FromIngest, IngestThreadData, MetricCall, ToIngest } from './thread.ts';

const REPORT_MS = 500;
/** Between two reports; more are left out. */
const MOST_CALLS = 10_000;

/** The thread of the liteservers: answers what others ask of them, and follows the network into the log. */
await runInThread<IngestThreadData, ToIngest, FromIngest>(async ({ data, signal, send, onMessage }) => {
  const { config, globalConfig, ingests } = data;
  const logger = createLogger(config.logLevel).child({ part: 'ingest' });
  const calls = createCalls();
  const node = openPool({ config, globalConfig, logger, onFault: (kind) => calls.metrics.serverFault(kind) });
  const called = createCalled({
    answer: (question: LiteQuestion, asked) => answerLite(node, question, asked),
    send,
    pack: packLiteError,
  });
  onMessage(called.receive);
  const report = (): void => send({ type: 'metrics', calls: calls.take(), servers: serverStates(node) });
  const timer = setInterval(report, REPORT_MS);
  try {
    if (ingests) await follow(config, { node, prover: node.prover, logger, metrics: calls.metrics }, signal);
    else if (!signal.aborted) await once(signal, 'abort');
  } finally {
    clearInterval(timer);
    report();
    called.end();
    await node.close();
  }
});

async function follow(
  config: Config,
  parts: Pick<IngestParts, 'node' | 'prover' | 'metrics'> & { logger: Logger },
  signal: AbortSignal,
): Promise<void> {
  const log = await openLog(config, parts.logger, signal);
  try {
    const topics = topicNames(config.topicPrefix);
    const options = {
      from: startPoint(config),
      source: config.network === 'devnet' ? 'devnet' : 'lite',
      ...ingestOptions(config),
    } as const;
    await ingest({ log, topics, options, ...parts }, signal);
  } finally {
    await log.close();
  }
}

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
    proven: (seqno, genUtime) => note(['proven', seqno, genUtime]),
    unproven: () => note(['unproven']),
    serverFault: (kind) => note(['serverFault', kind]),
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
