import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import type { ClickHouse } from '../clickhouse/client.ts';
import { createQueryGate } from '../clickhouse/gate.ts';
import type { Head } from '../clickhouse/queries/head.ts';
import { createClickHouseSource } from '../clickhouse/queries/source.ts';
import type { EventLog } from '../streams/log.ts';
import { createApp, type Health } from './api/app.ts';
import { DEFAULT_LIMITS, SERVER_OPTIONS } from './api/limits.ts';
import type { Config } from './config.ts';
import type { Metrics } from './metrics.ts';
import { readGaps, readStatus } from './status.ts';

export interface HttpService {
  url: string;
  close(): Promise<void>;
}

export interface ServiceParts {
  config: Config;
  clickhouse: ClickHouse;
  head: Head;
  log: EventLog;
  blocksTopic: string;
  metrics: Metrics;
  logger: Logger;
}

const TESTNET = -3;

/** Listens and answers; the tables and the log are opened and closed by the caller. */
export async function serve(parts: ServiceParts): Promise<HttpService> {
  const { config, clickhouse, head, metrics, logger } = parts;
  const gate = createQueryGate({
    maxConcurrent: config.concurrentQueries,
    maxQueued: config.queuedQueries,
    metrics: metrics.gate,
  });
  const app = createApp({
    source: createClickHouseSource(clickhouse, gate, head),
    health: () => health(clickhouse),
    status: () => readStatus(parts),
    metrics: metrics.registry,
    limits: {
      ...DEFAULT_LIMITS,
      maxRows: config.maxLimit,
      queryTimeoutMs: config.queryTimeoutMs,
      maxBodyBytes: config.maxBodyBytes,
    },
    testnet: () => head.globalId === TESTNET,
    report: (error, request) => logger.error({ err: error, url: request.url.slice(0, 300) }, 'a request failed'),
  });
  const server = createServer(SERVER_OPTIONS, app);
  server.listen(config.port, config.host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`,
    async close() {
      server.close();
      server.closeIdleConnections();
      const closed = once(server, 'close');
      setTimeout(() => server.closeAllConnections(), 2_000).unref();
      await closed;
    },
  };
}

async function health(clickhouse: ClickHouse): Promise<Health> {
  if (!(await clickhouse.ping())) return { ok: false, reason: 'the ClickHouse server does not answer' };
  const gaps = await readGaps(clickhouse);
  if (gaps.length === 0) return { ok: true };
  return { ok: true, degraded: `${gaps.length} step(s) could not be decoded and are left out, see /status` };
}
