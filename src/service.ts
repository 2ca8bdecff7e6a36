import { createServer, type Server } from 'node:http';
import type { Logger } from 'pino';
import { brokenParts } from '../clickhouse/broken-parts.ts';
import type { ClickHouse } from '../clickhouse/client.ts';
import { fullDisks } from '../clickhouse/full-disks.ts';
import type { Head } from '../clickhouse/queries/head.ts';
import { subscribersDatabase } from '../clickhouse/subscribers.ts';
import type { EventLog } from '../streams/log.ts';
import { LOG_MS } from '../streams/log-answer.ts';
import { topicNames } from '../streams/topics.ts';
import { watchRuns } from './api/api-metrics.ts';
import { createApp, type Health } from './api/app.ts';
import { type Contracts, createContracts } from './api/contracts.ts';
import { reportTo } from './api/errors.ts';
import { readInTurn } from './api/in-turn.ts';
import { createKeptRuns } from './api/kept-runs.ts';
import { apiLimits, SERVER_OPTIONS } from './api/limits.ts';
import { createMentions, noMentions } from './api/mentions.ts';
import type { Api } from './api/route.ts';
import { createSentMessages } from './api/sent-messages.ts';
import { openSql } from './api/sql/open.ts';
import { takeUpgrades } from './api/upgrades.ts';
import { createRenderings } from './api/v3/render/renderings.ts';
import type { ChainSource } from './chain/chain-source.ts';
import type { Address } from './chain/model.ts';
import { TESTNET } from './chain/networks.ts';
import type { Config } from './config.ts';
import { createEmulator } from './emulation/emulator.ts';
import { createKnowledge } from './emulation/knowledge.ts';
import type { KeyCounts } from './feed/key-counts.ts';
import { createFeedMetrics } from './feed/metrics.ts';
import { createPositions } from './feed/positions.ts';
import { createStreaming } from './feed/streaming.ts';
import type { Metrics } from './metrics.ts';
import { type Liteservers, NoNetworkError } from './node/liteservers.ts';
import { outagesSeldom } from './outages.ts';
import { type PendingStore, pendingStatus } from './pending/store.ts';
import { masterBlocks } from './state/master-blocks.ts';
import { createStateMetrics } from './state/metrics.ts';
import { createStateSource } from './state/source.ts';
import { createViews } from './state/view.ts';
import { logError, readGaps, readStatus } from './status.ts';
import type { TvmPool } from './tvm/pool.ts';
import { createViewMetrics } from './tvm-metrics.ts';
import { createWeb } from './web/web.ts';
import { openWebhooks } from './webhooks/open.ts';

export interface HttpService {
  url: string;
  close(): Promise<void>;
}

export interface ServiceParts {
  config: Config;
  clickhouse: ClickHouse;
  /** Up to where everything answers. */
  head: Head;
  log: EventLog;
  blocksTopic: string;
  /** Other topics that the tables are made of. */
  besides: readonly string[];
  metrics: Metrics;
  logger: Logger;
  /** What answers, up to the head. */
  source: ChainSource;
  /** Names the state of the source: another text whenever an answer may be another. */
  version: () => string;
  /** What `/metrics` prints. */
  printMetrics: () => Promise<string>;
  /** Of the network that the tables are of. */
  liteservers: Liteservers;
  /** What runs contracts; closed by the caller. */
  tvm: TvmPool;
  /** What becomes of sent messages before it is final. */
  pending: PendingStore;
  /** Takes accounts that answers mention and nothing is known of: somebody may ask a liteserver. */
  mentioned: (accounts: readonly Address[]) => void;
  /** What keys have taken of the feed. */
  keys: KeyCounts;
  /** What is served besides the APIs of TON Center. */
  apis: readonly Api[];
  /** Begins to answer. */
  open: (server: Server) => Promise<HttpService>;
}

/** Answers HTTP in this process; what it answers from is opened and closed by the caller. */
export async function serve(parts: ServiceParts): Promise<HttpService> {
  const { config, clickhouse, head, source, metrics, logger } = parts;
  const status = async () => ({ ...(await readStatus(parts)), pending: pendingStatus(parts.pending) });
  const testnet = () => head.globalId === TESTNET;
  const web = createWeb({
    source,
    status,
    head,
    globalId: () => head.globalId,
    testnet,
    network: config.network,
    queryTimeoutMs: config.queryTimeoutMs,
    maxRows: config.maxLimit,
    report: outagesSeldom((err) => logger.error({ err }, 'the page at / cannot be kept up to date')),
  });
  const subscribers = subscribersDatabase(clickhouse);
  const streaming = createStreaming({
    source,
    head,
    pending: parts.pending,
    globalId: () => head.globalId,
    testnet,
    renderings: createRenderings({ maxBytes: 0 }),
    queryTimeoutMs: config.queryTimeoutMs,
    limits: {
      maxConnections: config.feedConnections,
      maxAddresses: config.feedAddresses,
      maxSubscribedBytes: config.feedSubscribedBytes,
      queueBytes: config.feedQueueBytes,
      stallMs: config.feedStallMs,
      maxMessageBytes: config.maxBodyBytes,
    },
    withV1: config.feedV1,
    metrics: createFeedMetrics(metrics.registry),
    positions: createPositions(subscribers),
    keys: parts.keys,
    report: outagesSeldom((err) => logger.error({ err }, 'the feed cannot be kept up to date')),
  });
  const states = createStateSource({
    source,
    liteservers: parts.liteservers,
    masterBlock: masterBlocks(parts.log, parts.blocksTopic, LOG_MS),
    metrics: createStateMetrics(metrics.registry),
  });
  const webhooks = openWebhooks({
    config,
    clickhouse: subscribers,
    feed: streaming.feed,
    keys: parts.keys,
    registry: metrics.registry,
    report: outagesSeldom((err) => logger.error({ err }, 'webhooks cannot be looked after')),
  });
  const viewOf = createViews(states, createViewMetrics(metrics.registry));
  const runs = createKeptRuns(config.keptRunsBytes);
  watchRuns(metrics.registry, runs);
  const contracts = createContracts(states, parts.tvm, viewOf, runs);
  const executor = watchExecutor(contracts, parts);
  const sql = openSql({
    config,
    clickhouse,
    head,
    registry: metrics.registry,
    report: (error) => logger.warn({ err: error }, 'a query of SQL could not be answered or ended'),
  });
  const mentions =
    config.learnMentioned === 0
      ? noMentions
      : createMentions({
          source,
          perSecond: config.learnMentioned,
          name: parts.mentioned,
          metrics: metrics.registry,
          report: (error) => logger.debug({ err: error }, 'accounts that answers mention cannot be looked at'),
        });
  const app = createApp({
    mentions,
    source,
    liteservers: parts.liteservers,
    states,
    contracts,
    pending: parts.pending,
    sent: createSentMessages({ log: parts.log, topic: topicNames(config.topicPrefix).pending }),
    emulator: createEmulator({ states, viewOf, pool: parts.tvm }),
    knowledge: createKnowledge({
      clickhouse,
      contracts: source.contracts,
      pool: parts.tvm,
      dnsCollections: config.dnsCollections,
      globalId: () => head.globalId,
    }),
    health: () => health(parts, executor),
    status,
    metrics: metrics.registry,
    printMetrics: parts.printMetrics,
    version: parts.version,
    kept: { answers: config.cachedAnswersBytes, renderings: config.cachedRenderingsBytes },
    limits: apiLimits(config),
    testnet,
    web: web.router,
    feed: streaming.router,
    sql: sql.routers,
    v3Routes: webhooks.routes,
    apis: parts.apis,
    report: reportTo(logger),
  });
  const server = createServer(SERVER_OPTIONS, app);
  takeUpgrades(server, streaming.upgrades, readInTurn(server));
  const { url, close } = await parts.open(server);
  return {
    url,
    async close() {
      mentions.close();
      web.close();
      await webhooks.close();
      await streaming.close();
      await close();
      sql.close();
      await subscribers.close();
    },
  };
}

/** Liteservers that are being connected to, or do not answer once, are nothing to tell of. */
const UNREAD_MS = 30_000;

export interface ExecutorWatchParts {
  config: Pick<Config, 'queryTimeoutMs'>;
  head: Pick<Head, 'seqno'>;
  logger: Pick<Logger, 'warn' | 'debug'>;
}

/**
 * Tells what is wrong with running contracts: the newest configuration has what the executor does not know, or could not
 * be read for half a minute. Null for nothing, where no network is followed, and before there is a step. The log is told
 * the first time.
 */
export function watchExecutor(
  { beyond }: Pick<Contracts, 'beyond'>,
  { config, head, logger }: ExecutorWatchParts,
): () => Promise<string | null> {
  const told = new Set<'beyond' | 'unread'>();
  let unreadSince: number | null = null;
  const timeoutMs = config.queryTimeoutMs;
  const tell = (what: 'beyond' | 'unread', text: string, fields: object): string => {
    if (!told.has(what)) logger.warn(fields, text);
    told.add(what);
    return text;
  };
  const ask = async (): Promise<string | null> => {
    if (head.seqno === 0) return null;
    try {
      const what = await beyond({ signal: AbortSignal.timeout(timeoutMs), timeoutMs });
      unreadSince = null;
      told.delete('unread');
      return what === null ? null : tell('beyond', `contracts may run otherwise than on the chain: ${what}`, {});
    } catch (error) {
      if (error instanceof NoNetworkError) return null;
      logger.debug({ err: error }, 'the newest configuration cannot be read');
      unreadSince ??= performance.now();
      if (performance.now() - unreadSince < UNREAD_MS) return null;
      const text = 'the configuration of the chain cannot be read: contracts may not run';
      return tell('unread', text, { err: error });
    }
  };
  void ask();
  return ask;
}

export interface HealthParts {
  clickhouse: Pick<ClickHouse, 'ping' | 'json' | 'database'>;
  metrics: Pick<Metrics, 'gaps'>;
  config: Pick<Config, 'trust' | 'network'>;
  log: EventLog;
  blocksTopic: string;
  /** Other topics that the tables are made of. */
  besides: readonly string[];
}

/** What `/healthcheck` tells. */
export async function health(
  { clickhouse, metrics, config: { trust, network }, log, blocksTopic, besides }: HealthParts,
  executor: () => Promise<string | null>,
): Promise<Health> {
  if (!(await clickhouse.ping())) return { ok: false, reason: 'the ClickHouse server does not answer' };
  // Waited for beside all else.
  const ofLog = logError({ clickhouse, log, blocksTopic, besides });
  ofLog.catch(() => undefined);
  const gaps = await readGaps(clickhouse);
  metrics.gaps(gaps.length);
  const broken = await brokenParts(clickhouse);
  const full = await fullDisks(clickhouse);
  const unrunnable = await executor();
  const wrong = await ofLog;
  const missing = [
    ...(gaps.length > 0 ? [`${gaps.length} step(s) could not be decoded and are left out, see /status`] : []),
    ...(wrong === null ? [] : [wrong]),
    ...(broken === null ? [] : [broken]),
    ...(full === null ? [] : [full]),
    ...(trust === 'none' && network !== 'none' ? ['blocks are not held to validator signatures (--trust none)'] : []),
    ...(unrunnable === null ? [] : [unrunnable]),
  ];
  return missing.length === 0 ? { ok: true } : { ok: true, degraded: missing.join('; ') };
}
