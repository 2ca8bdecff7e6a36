/** An HTTP worker: a process that answers requests, with connections of its own to the tables, the log and the window. */
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Address } from '@ton/core';
import { createQueryGate } from '../../clickhouse/gate.ts';
import { connect } from '../../clickhouse/open.ts';
import { createHead } from '../../clickhouse/queries/head.ts';
import { createClickHouseSource } from '../../clickhouse/queries/source.ts';
import { followTables } from '../../clickhouse/tables-id.ts';
import { openLog } from '../../streams/open.ts';
import { topicsOf } from '../../streams/topics.ts';
import { watchNames } from '../api/api-metrics.ts';
import { faucetApi } from '../api/faucet.ts';
import { statsApi } from '../api/stats/api.ts';
import { createCalling } from '../calls.ts';
import { errorMessage } from '../chain/errors.ts';
import type { FaucetDoor } from '../devnet/thread.ts';
import type { KeyCounts } from '../feed/key-counts.ts';
import { createLogger } from '../logger.ts';
import { createMetrics } from '../metrics.ts';
import { NodeError } from '../node/chain-node.ts';
import { askLiteservers, type LiteQuestion, type LiteReply } from '../node/liteservers.ts';
import { followPending } from '../pending/follow.ts';
import { createPendingStore } from '../pending/store.ts';
import { serve } from '../service.ts';
import { createTvmPool } from '../tvm/pool.ts';
import { createTvmMetrics } from '../tvm-metrics.ts';
import { openAnswers } from './answers.ts';
import { createDoorway } from './doorway.ts';
import {
  type FromWorker,
  type KnownHead,
  type PackedError,
  type Question,
  type Reply,
  type ToWorker,
  unpackError,
  type WorkerStart,
} from './messages.ts';

/** How long the main process may take for what a worker asks it. */
const ANSWER_MS = 30_000;
/** How long the first answer may wait for what the topic of pending traces has already. */
const LONGEST_PAST_MS = 5_000;
/** Questions to it at a time. */
const MAX_ASKED = 256;

const ignore = (): void => undefined;

/** @param told called when it has left this process, whatever becomes of that */
function tell(message: FromWorker, told = ignore): void {
  // A main process that has gone is told nothing; without a function to tell that to it would be an error of this one.
  if (process.connected) process.send?.(message, undefined, undefined, () => told());
}

const main = createCalling<Question, Reply, PackedError>({
  send: tell,
  unpack: unpackError,
  timeoutMs: ANSWER_MS,
  maxOpen: MAX_ASKED,
  tooMany: (open) => new NodeError('unavailable', `${open} questions wait for the main process already`),
});

async function metricsOfAll(): Promise<string> {
  const text = await main.call({ kind: 'metrics' });
  if (typeof text !== 'string') throw new Error('the main process answers no metrics');
  return text;
}

async function askLite(question: LiteQuestion, signal: AbortSignal): Promise<LiteReply> {
  const reply = await main.call(question, signal);
  if (reply === null || isOfServers(reply)) return reply;
  throw new Error('the main process answers nothing of liteservers');
}

const isOfServers = (reply: Reply): reply is NonNullable<LiteReply> =>
  reply instanceof Uint8Array || Array.isArray(reply);

/** What keys have taken is counted in the main process, for all workers; asked one after the other. */
function countKeys(): KeyCounts {
  let last: Promise<unknown> = Promise.resolve();
  return {
    take(key, change, most) {
      const asked = last.then(async () => {
        const reply = await main.call({ kind: 'key', key, change, most });
        if (typeof reply === 'string' || isOfServers(reply)) throw new Error('the main process counts no keys');
        return reply;
      });
      last = asked.catch(() => undefined);
      return asked;
    },
  };
}

/** The faucet as it is spoken to from another process. */
function faucetDoor({ address, limits }: NonNullable<WorkerStart['faucet']>): FaucetDoor {
  return {
    address: Address.parse(address),
    limits,
    async give(to, nanotons) {
      const hash = await main.call({ kind: 'gift', to: to.toRawString(), nanotons });
      if (!(hash instanceof Uint8Array)) throw new Error('the main process answers no hash');
      return { messageHash: Buffer.from(hash) };
    },
  };
}

/** What is done with messages of the main process once the worker serves. */
interface Serving {
  tell(head: KnownHead): void;
  /** There is more in the topic of pending traces. */
  wake(): void;
  enter(socket: Socket): () => void;
  metrics(id: number): void;
  stop(): void;
}

async function begin(start: WorkerStart): Promise<Serving> {
  const { config, clickhouseUrl, faucet, url } = start;
  const doorway = createDoorway(url);
  const logger = createLogger(config.logLevel);
  const metrics = createMetrics();
  const clickhouse = connect(config, clickhouseUrl, logger, metrics.clickhouse);
  // The main process tells of every step: workers that looked for themselves would not know of the same ones.
  const head = createHead(clickhouse, { of: 'host' });
  const ended = new AbortController();
  const log = await openLog(config, logger, ended.signal);
  void followTables(clickhouse, head, ended.signal, (err) =>
    logger.warn({ err }, 'it cannot be read which tables there are'),
  );
  const gate = createQueryGate({
    maxConcurrent: config.concurrentQueries,
    maxQueued: config.queuedQueries,
    metrics: metrics.gate,
  });
  const tables = createClickHouseSource(clickhouse, gate, head, {
    memoryBytes: config.queryMemory,
    onNamesFailure: (err) =>
      logger.warn({ err }, 'names of accounts cannot be looked for, trying again with each step'),
  });
  watchNames(metrics.registry, tables.names);
  const answers = openAnswers(config, tables);
  const tvm = createTvmPool({
    workers: config.tvmThreads,
    maxQueued: config.tvmQueue,
    timeoutMs: config.tvmTimeoutMs,
    metrics: createTvmMetrics(metrics.registry),
  });
  const pending = createPendingStore();
  const follower = followPending({
    log,
    topic: topicsOf(config).pendingTraces,
    store: pending,
    continuous: config.kafkaBrokers !== undefined,
    report: (error) => logger.warn({ err: error }, 'pending traces cannot be followed'),
  });
  const following = follower.run(ended.signal);
  // Who resumes at once is told what was taken back meanwhile. Without the log the API answers all the same.
  await Promise.race([follower.past, sleep(LONGEST_PAST_MS, undefined, { ref: false })]);
  const service = await serve({
    config,
    clickhouse,
    head,
    log,
    blocksTopic: topicsOf(config).blocks,
    besides: [topicsOf(config).cells, topicsOf(config).documents],
    metrics,
    logger,
    apis: [statsApi(tables.statistics), ...(faucet === null ? [] : [faucetApi(faucetDoor(faucet))])],
    source: answers.source,
    version: () => `${head.seqno} ${answers.windowHead()}`,
    printMetrics: metricsOfAll,
    mentioned: (accounts) => tell({ type: 'mentioned', accounts }),
    keys: countKeys(),
    liteservers: askLiteservers(askLite),
    tvm,
    pending,
    open: doorway.open,
  });
  const close = async (): Promise<void> => {
    for (const end of [
      () => service.close(),
      () => {
        ended.abort();
        return following;
      },
      () => tvm.close(),
      () => answers.close(),
      () => log.close(),
      () => clickhouse.close(),
    ]) {
      await end();
    }
  };
  return {
    tell: ({ mcSeqno, globalId }) => head.advance(mcSeqno, globalId),
    wake: follower.wake,
    enter: doorway.enter,
    metrics(id) {
      void metrics.registry.getMetricsAsJSON().then((told) => tell({ type: 'metrics', id, metrics: told }));
    },
    stop() {
      close().then(
        () => process.exit(0),
        (error) => {
          logger.error({ err: error }, 'an HTTP worker cannot close');
          process.exit(1);
        },
      );
    },
  };
}

let serving: Serving | null = null;
/** As the main process told last. */
let known: KnownHead | null = null;

async function start(what: WorkerStart): Promise<void> {
  try {
    known = what.head;
    serving = await begin(what);
    // It may have told more meanwhile.
    serving.tell(known);
    tell({ type: 'listening' });
  } catch (error) {
    tell({ type: 'failed', reason: errorMessage(error) });
    // Time for the message to leave; the main process ends this one if it does not end by itself.
    setTimeout(() => process.exit(1), 100);
  }
}

process.on('message', (message: ToWorker, handle?: unknown) => {
  if (message.type === 'start') void start(message.start);
  else if (message.type === 'connection') {
    // Its first byte is read when the main process can know of it: what has not left a worker dies with it, and another
    // one is given the connection.
    tell({ type: 'taken', id: message.id }, handle instanceof Socket ? serving?.enter(handle) : undefined);
  } else if (message.type === 'head') {
    known = message;
    serving?.tell(message);
  } else if (message.type === 'pending') serving?.wake();
  else if (message.type === 'answer' || message.type === 'refusal') main.receive(message);
  else if (message.type === 'metrics') serving?.metrics(message.id);
  else if (serving === null) process.exit(0);
  else serving.stop();
});
// Both reach every process of a terminal or a service; the main process says when to stop. Its end, which cuts the
// line, ends a worker at once (node:cluster).
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => undefined);
tell({ type: 'ready' });
