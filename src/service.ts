import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { Server as NetServer } from 'node:net';
import type { Logger } from 'pino';
import type { ClickHouse } from '../clickhouse/client.ts';
import type { Head } from '../clickhouse/queries/head.ts';
import type { EventLog } from '../streams/log.ts';
import { createApp, type Health } from './api/app.ts';
import { DEFAULT_LIMITS, SERVER_OPTIONS } from './api/limits.ts';
import type { Api } from './api/route.ts';
import { takeUpgrades } from './api/upgrades.ts';
import { createRenderings } from './api/v3/render/renderings.ts';
import type { ChainSource } from './chain/records.ts';
import type { Config } from './config.ts';
import { createFeedMetrics } from './feed/metrics.ts';
import { createStreaming } from './feed/streaming.ts';
import type { Metrics } from './metrics.ts';
import type { Liteservers } from './node/liteservers.ts';
import { readGaps, readStatus } from './status.ts';
import { createWeb } from './web/web.ts';

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
  /** What is served besides the APIs of TON Center. */
  apis: readonly Api[];
  /** Begins to answer. */
  open: (server: Server) => Promise<HttpService>;
}

const TESTNET = -3;

/** Answers HTTP in this process; what it answers from is opened and closed by the caller. */
export async function serve(parts: ServiceParts): Promise<HttpService> {
  const { config, clickhouse, head, source, metrics, logger } = parts;
  const status = () => readStatus(parts);
  const testnet = () => head.globalId === TESTNET;
  const web = createWeb({
    source,
    status,
    head,
    globalId: () => head.globalId,
    testnet,
    network: config.network,
    queryTimeoutMs: config.queryTimeoutMs,
    report: (error) => logger.error({ err: error }, 'the page at / cannot be kept up to date'),
  });
  const streaming = createStreaming({
    source,
    head,
    globalId: () => head.globalId,
    testnet,
    renderings: createRenderings({ maxBytes: 0 }),
    queryTimeoutMs: config.queryTimeoutMs,
    limits: {
      maxConnections: config.feedConnections,
      maxAddresses: config.feedAddresses,
      queueBytes: config.feedQueueBytes,
      stallMs: config.feedStallMs,
      maxMessageBytes: config.maxBodyBytes,
    },
    metrics: createFeedMetrics(metrics.registry),
    onLater: (types) => logger.info({ types }, 'a subscriber asks for events that this service does not tell of yet'),
    report: (error) => logger.error({ err: error }, 'the feed cannot be kept up to date'),
  });
  const app = createApp({
    source,
    liteservers: parts.liteservers,
    health: () => health(clickhouse, metrics, config),
    status,
    metrics: metrics.registry,
    printMetrics: parts.printMetrics,
    version: parts.version,
    kept: { answers: config.cachedAnswersBytes, renderings: config.cachedRenderingsBytes },
    limits: {
      ...DEFAULT_LIMITS,
      maxRows: config.maxLimit,
      queryTimeoutMs: config.queryTimeoutMs,
      maxBodyBytes: config.maxBodyBytes,
    },
    testnet,
    web: web.router,
    feed: streaming.router,
    apis: parts.apis,
    report: (error, request) => logger.error({ err: error, url: request.url?.slice(0, 300) }, 'a request failed'),
  });
  const server = createServer(SERVER_OPTIONS, app);
  takeUpgrades(server, streaming.upgrades);
  const { url, close } = await parts.open(server);
  return {
    url,
    async close() {
      web.close();
      await streaming.close();
      await close();
    },
  };
}

/** `http://host:port` with an IPv6 address in brackets. */
export function httpUrl(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The port that was taken. Errors say which setting to change. */
export async function listen(server: NetServer, host: string, port: number): Promise<number> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    const reasons: Record<string, string> = {
      EADDRINUSE: `port ${port} of ${host} is in use: stop what listens there or choose another with --port`,
      EACCES: `port ${port} of ${host} needs more rights than this user has: choose another with --port`,
      EADDRNOTAVAIL: `${host} is no address of this machine: choose another with --host`,
      ENOTFOUND: `${host} is no address of this machine: choose another with --host`,
    };
    const reason = typeof code === 'string' ? reasons[code] : undefined;
    if (reason === undefined) throw error;
    throw new Error(reason, { cause: error });
  }
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

async function health(
  clickhouse: ClickHouse,
  metrics: Metrics,
  { trust, network }: Pick<Config, 'trust' | 'network'>,
): Promise<Health> {
  if (!(await clickhouse.ping())) return { ok: false, reason: 'the ClickHouse server does not answer' };
  const gaps = await readGaps(clickhouse);
  metrics.gaps(gaps.length);
  const missing = [
    ...(gaps.length > 0 ? [`${gaps.length} step(s) could not be decoded and are left out, see /status`] : []),
    ...(trust === 'none' && network !== 'none' ? ['blocks are not held to validator signatures (--trust none)'] : []),
  ];
  return missing.length === 0 ? { ok: true } : { ok: true, degraded: missing.join('; ') };
}
