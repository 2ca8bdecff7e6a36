/** The thread that tells of pending traces, while it is the one of all hosts that does. */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { createQueryGate } from '../../../clickhouse/gate.ts';
import { createLease, type Lease } from '../../../clickhouse/lease.ts';
import { connect } from '../../../clickhouse/open.ts';
import { createHead } from '../../../clickhouse/queries/head.ts';
import { createClickHouseSource } from '../../../clickhouse/queries/source.ts';
import { subscribersDatabase } from '../../../clickhouse/subscribers.ts';
import { followTables } from '../../../clickhouse/tables-id.ts';
import { openLog } from '../../../streams/open.ts';
import { createSeldom } from '../../../streams/seldom.ts';
import { topicsOf } from '../../../streams/topics.ts';
import { createCalling } from '../../calls.ts';
import { createEmulator } from '../../emulation/emulator.ts';
import { createKnowledge } from '../../emulation/knowledge.ts';
import { createLogger } from '../../logger.ts';
import { NodeError } from '../../node/chain-node.ts';
import {
  askLiteservers,
  type LiteQuestion,
  type LiteReply,
  type PackedLiteError,
  unpackLiteError,
} from '../../node/liteservers.ts';
import { outagesSeldom } from '../../outages.ts';
import type { PendingMetrics } from '../../pending/metrics.ts';
import { createSession } from '../../pending/session.ts';
import { masterBlocks } from '../../state/master-blocks.ts';
import { createStateMetrics } from '../../state/metrics.ts';
import { createStateSource } from '../../state/source.ts';
import { createViews } from '../../state/view.ts';
import { runInThread } from '../../thread.ts';
import { createTvmPool } from '../../tvm/pool.ts';
import { openAnswers } from '../answers.ts';
import type { Figure, FromPending, PendingThreadData, ToPending } from './thread.ts';

/** How long the main process may take for what it is asked. */
const ANSWER_MS = 30_000;
/** Questions to it at a time. */
const MAX_ASKED = 256;
const LEASE = 'pending';
const LOOK_MS = 1_000;
/** An outage of ClickHouse is told of no more often. */
const mayTellOfLease = createSeldom();
/** For the last words. */
const FAREWELL_MS = 1_000;

await runInThread<PendingThreadData, ToPending, FromPending>(async ({ data, signal, send, onMessage }) => {
  const { config, clickhouseUrl } = data;
  setMaxListeners(0, signal);
  const logger = createLogger(config.logLevel).child({ part: 'pending' });
  const report = outagesSeldom((err) => logger.warn({ err }, 'a pending trace cannot be told'));
  const log = await openLog(config, logger, signal);
  const clickhouse = connect(config, clickhouseUrl, logger);
  const head = createHead(clickhouse, { of: 'host' });
  void followTables(clickhouse, head, signal, (err) =>
    logger.warn({ err }, 'it cannot be read which tables there are'),
  );
  const gate = createQueryGate({ maxConcurrent: config.concurrentQueries, maxQueued: config.queuedQueries });
  const tables = createClickHouseSource(clickhouse, gate, head, {
    onNamesFailure: (err) =>
      logger.warn({ err }, 'names of accounts cannot be looked for, trying again with each step'),
  });
  const answers = openAnswers(config, tables);
  const pool = createTvmPool({
    workers: config.tvmThreads,
    maxQueued: config.tvmQueue,
    timeoutMs: config.tvmTimeoutMs,
  });
  const main = createCalling<LiteQuestion, LiteReply, PackedLiteError>({
    send,
    unpack: unpackLiteError,
    timeoutMs: ANSWER_MS,
    maxOpen: MAX_ASKED,
    tooMany: (open) => new NodeError('unavailable', `${open} questions wait for the main process already`),
  });
  const liteservers = askLiteservers((question, given) => main.call(question, given));
  const topics = topicsOf(config);
  const states = createStateSource({
    source: answers.source,
    liteservers,
    masterBlock: masterBlocks(log, topics.blocks),
    metrics: createStateMetrics(new Registry()),
  });
  const viewOf = createViews(states, { unknownBlocks: () => undefined });
  const session = createSession({
    log,
    topics,
    source: answers.source,
    head() {
      // A window that shows a step has the head know of it.
      answers.windowHead();
      return head.seqno;
    },
    states,
    liteservers,
    emulator: createEmulator({ states, viewOf, pool }),
    knowledge: createKnowledge({
      clickhouse,
      contracts: answers.source.contracts,
      pool,
      dnsCollections: config.dnsCollections,
      globalId: () => head.globalId,
    }),
    limits: { traces: config.pendingTraces, perAccount: config.pendingRate, bytes: config.pendingBytes },
    metrics: figures((figure) => send({ type: 'figure', figure })),
    queryTimeoutMs: config.queryTimeoutMs,
    continuous: config.kafkaBrokers !== undefined,
    onTold: () => send({ type: 'told', traces: session.store.size }),
    report,
    onDifferent: (hash, comparison) =>
      logger.debug({ message: hash.toString('hex'), ...comparison }, 'a trace came otherwise than it was emulated'),
  });
  onMessage((message) => {
    if (message.type === 'head') {
      head.advance(message.mcSeqno, message.globalId);
      session.advance();
    } else if (message.type === 'sending') session.prepare(Buffer.from(message.boc));
    else if (message.type === 'sent') session.wake();
    else main.receive(message);
  });
  // A log in a folder has this one process; others may share a broker.
  const subscribers = subscribersDatabase(clickhouse);
  const lease = config.kafkaBrokers === undefined ? null : createLease({ clickhouse: subscribers, name: LEASE });
  try {
    while (!signal.aborted) await takeTurn(lease, session.run, signal, report);
  } finally {
    await lease?.release(AbortSignal.timeout(FAREWELL_MS)).catch(report);
    await pool.close();
    await answers.close();
    await subscribers.close();
    await clickhouse.close();
    await log.close();
  }
});

/** Waits until it is this one's turn, and does it until it is over or the signal aborts. */
async function takeTurn(
  lease: Lease | null,
  run: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
  report: (error: unknown) => void,
): Promise<void> {
  const pause = () => sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
  const tend = async (): Promise<void> => {
    await lease?.tend(signal).catch((error: unknown) => mayTellOfLease() && report(error));
  };
  await tend();
  if (lease !== null && !lease.held) return void (await pause());
  const over = new AbortController();
  const turn = AbortSignal.any([signal, over.signal]);
  setMaxListeners(0, turn);
  const running = run(turn).catch(async (error: unknown) => {
    if (turn.aborted) return;
    report(error);
    await pause();
  });
  const done = running.then(() => over.abort());
  while (!turn.aborted) {
    await Promise.race([pause(), done]);
    await tend();
    if (lease !== null && !lease.held) over.abort();
  }
  await running;
}

/** Metrics that are counted elsewhere. */
function figures(tell: (figure: Figure) => void): PendingMetrics {
  return {
    message: (value) => tell({ name: 'message', value }),
    took: (value) => tell({ name: 'took', value }),
    compared: ({ likeness, raced }) => tell({ name: 'compared', value: { likeness, raced } }),
    invalidated: (value) => tell({ name: 'invalidated', value }),
    tailFailed: () => tell({ name: 'tailFailed', value: undefined }),
    cutOff: () => tell({ name: 'cutOff', value: undefined }),
    tooLarge: () => tell({ name: 'tooLarge', value: undefined }),
    unclassified: () => tell({ name: 'unclassified', value: undefined }),
  };
}
