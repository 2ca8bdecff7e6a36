/** The paths of the feed: `/api/streaming/v2/ws`, `/api/streaming/v2/sse`, `/api/streaming/healthz`. */
import express, { type Router } from 'express';
import type { Head } from '../../clickhouse/queries/head.ts';
import { sendError, sendJson } from '../api/errors.ts';
import { methodOf, refusedMethod, serveGet } from '../api/methods.ts';
import { createUnfinished } from '../api/unfinished.ts';
import type { Upgrade } from '../api/upgrades.ts';
import { createBookRows } from '../api/v3/render/book-rows.ts';
import type { Renderings } from '../api/v3/render/renderings.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import type { PendingStore } from '../pending/store.ts';
import { createAdmission } from './admission.ts';
import { createFeed, type Feed } from './feed.ts';
import { healthOf } from './health.ts';
import type { KeyCounts } from './key-counts.ts';
import type { FeedMetrics } from './metrics.ts';
import { createNames } from './names.ts';
import { createNotifier } from './notification.ts';
import { NO_NETWORK } from './place.ts';
import type { Positions } from './positions.ts';
import { readBody, readRequest } from './protocol.ts';
import { NOTHING_V1, readBodyV1, readRequestV1 } from './protocol-v1.ts';
import { createSse } from './sse.ts';
import { createStepReader } from './steps.ts';
import { NOTHING } from './subscription.ts';
import { createFeedSockets, type FeedSockets } from './websocket.ts';

export interface FeedLimits {
  /** Connections of this process. */
  maxConnections: number;
  /** Addresses of one connection, and traces. */
  maxAddresses: number;
  /** Bytes that the subscriptions of all connections of this process take in memory. */
  maxSubscribedBytes: number;
  /** Bytes that wait for one connection, above which it is told no more until it has taken them. */
  queueBytes: number;
  /** Milliseconds after which a connection that takes nothing is let go. */
  stallMs: number;
  /** Bytes of one message or body of a client. */
  maxMessageBytes: number;
  /** Bytes of messages of which the end is still to come, of all connections; 64 MB unless given. */
  unfinishedBytes?: number;
}

export interface StreamingOptions {
  source: ChainSource;
  /** Of the source. */
  head: Pick<Head, 'seqno' | 'onAdvance'>;
  /** What is not final. */
  pending: PendingStore;
  /** Of the network; null before there is a step. */
  globalId: () => number | null;
  testnet: () => boolean;
  renderings: Renderings;
  queryTimeoutMs: number;
  limits: FeedLimits;
  metrics: FeedMetrics;
  /** Whether the former version is spoken too. */
  withV1?: boolean;
  /** Of named subscriptions. */
  positions: Positions;
  /** Of all processes that answer at this host. */
  keys: KeyCounts;
  report: (error: unknown) => void;
}

export interface Streaming {
  router: Router;
  /** By path. */
  upgrades: ReadonlyMap<string, Upgrade>;
  feed: Feed;
  /** Ends every connection and takes no more. */
  close(): Promise<void>;
}

const BASE = '/api/streaming';
const PROTOCOLS = {
  v2: { protocol: { readRequest, nothing: NOTHING }, readBody, methods: ['GET', 'POST'] },
  v1: { protocol: { readRequest: readRequestV1, nothing: NOTHING_V1 }, readBody: readBodyV1, methods: ['POST'] },
} as const;
const KEEP_ALIVE_MS = 15_000;
/** Some 25 KB each once they are decoded, by what a worker of a soak grew to with 20,000 of them; not measured alone. */
const KEPT_TRANSACTIONS = 8_000;
const KEPT_BOOK_ROWS = 16_384;
const CATCH_UPS = 8;
/** Read at once, and as many again ahead: well within those that are kept, with all their events. */
const RUN_TRANSACTIONS = 1_000;
const SKIP_STEPS = 64;
/** That hosts may be apart: an hour of a chain with a step a second. */
const AHEAD_STEPS = 3_600;
const MAX_UNANSWERED = 64;
/** Of messages and bodies that are not finished, of all connections. */
const UNFINISHED_BYTES = 64 * 1024 * 1024;

/**
 * The feed over HTTP: `ws` and `sse` below `/api/streaming/v2`, and below `v1` where that is spoken, with `healthz`. The
 * router answers requests, `upgrades` takes the connections of WebSocket, which go to no router. It follows the head from
 * now until `close`.
 */
export function createStreaming(options: StreamingOptions): Streaming {
  const { source, head, limits, metrics, report } = options;
  const globalId = () => options.globalId() ?? NO_NETWORK;
  const steps = createStepReader({
    source,
    queryTimeoutMs: options.queryTimeoutMs,
    keptTransactions: KEPT_TRANSACTIONS,
  });
  const notifier = createNotifier({
    renderings: options.renderings,
    rows: createBookRows(KEPT_BOOK_ROWS),
    globalId,
    testOnly: options.testnet,
    domainOf: (account) => source.contracts.domainOf(account),
  });
  const feed = createFeed({
    head,
    steps,
    notifier,
    globalId,
    metrics,
    stallMs: limits.stallMs,
    catchUps: CATCH_UPS,
    runTransactions: RUN_TRANSACTIONS,
    skipSteps: SKIP_STEPS,
    aheadSteps: AHEAD_STEPS,
    pending: { pending: options.pending, source, queryTimeoutMs: options.queryTimeoutMs },
    report,
  });
  const admission = createAdmission({ ...limits, keys: options.keys, metrics, report });
  const { queueBytes, maxMessageBytes } = limits;
  const unfinished = createUnfinished({
    maxBytes: limits.unfinishedBytes ?? UNFINISHED_BYTES,
    onDropped: () => metrics.refused('unfinished bytes'),
  });
  const shared = { feed, admission, queueBytes, unfinished };
  const names = createNames(options.positions);
  const router = express.Router();
  const sockets = new Map<string, FeedSockets>();
  for (const [version, spoken] of Object.entries(PROTOCOLS)) {
    if (version === 'v1' && !options.withV1) continue;
    const { protocol, readBody, methods } = spoken;
    const sse = createSse({ ...shared, readBody, maxBodyBytes: maxMessageBytes, keepAliveMs: KEEP_ALIVE_MS });
    router.all(`${BASE}/${version}/sse`, (request, response, next) => {
      const asked = methodOf(request.method);
      return methods.some((method) => method === asked)
        ? sse(request, response)
        : next(refusedMethod(response, methods));
    });
    serveGet(router, `${BASE}/${version}/ws`, (_request, response) => {
      response.setHeader('Upgrade', 'websocket');
      sendError(response, 426, 'this path is for WebSocket connections');
    });
    sockets.set(
      `${BASE}/${version}/ws`,
      createFeedSockets({ ...shared, protocol, names, maxMessageBytes, maxUnanswered: MAX_UNANSWERED, report }),
    );
  }
  serveGet(router, `${BASE}/healthz`, async (_request, response) => {
    const health = await healthOf({ steps, head });
    sendJson(response, health.ok ? 200 : 503, JSON.stringify(health));
  });
  const ended = new AbortController();
  const running = feed.run(ended.signal);

  return {
    router,
    upgrades: new Map([...sockets].map(([path, { upgrade }]) => [path, upgrade])),
    feed,
    async close() {
      ended.abort();
      await running;
      for (const { close } of sockets.values()) close();
    },
  };
}
