import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../src/config.ts';
import { type ClickHouse, type ClickHouseMetrics, createClickHouse } from './client.ts';
import { type EmbeddedClickHouse, startEmbeddedClickHouse } from './server.ts';

export interface OpenedServer {
  url: string;
  /** Null when the server is not ours. */
  embedded: EmbeddedClickHouse | null;
}

const MARK_CACHE_BYTES = 64 * 1024 * 1024;
/**
 * Beside the queries that a gate lets through: a batch's inserts, one for each table at a time, and what asks without a
 * gate (head, status, health, SQL, subscribers).
 */
const OTHER_CONNECTIONS = 16;

/** Of the embedded one. */
export const serverFolder = ({ dataDir }: Pick<Config, 'dataDir'>): string => join(dataDir, 'clickhouse');

/**
 * The server of CLICKHOUSE_URL, or one started in the data folder.
 * @param users what its file of users holds, where there are any
 */
export async function openServer(
  config: Config,
  logger: Logger,
  signal?: AbortSignal,
  users?: string,
): Promise<OpenedServer> {
  if (config.clickhouseUrl) return { url: config.clickhouseUrl, embedded: null };
  const embedded = await startEmbeddedClickHouse({
    folder: serverFolder(config),
    maxMemoryBytes: config.clickhouseMemory,
    markCacheBytes: MARK_CACHE_BYTES,
    logger,
    ...(users === undefined ? {} : { users }),
    ...(signal ? { signal } : {}),
  });
  return { url: embedded.url, embedded };
}

/**
 * A client of the tables' database, which need not be there yet, as the settings name it; `url` is that of `openServer`.
 * Nothing is asked yet, so nothing fails here. Closed by the caller.
 */
export function connect(config: Config, url: string, logger: Logger, metrics?: ClickHouseMetrics): ClickHouse {
  return createClickHouse({
    url,
    username: config.clickhouseUser,
    password: config.clickhousePassword,
    database: config.clickhouseDatabase,
    maxOpenConnections: config.concurrentQueries + OTHER_CONNECTIONS,
    logger,
    ...(metrics ? { metrics } : {}),
  });
}
