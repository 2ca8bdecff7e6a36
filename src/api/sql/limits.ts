/** Whether SQL is answered, and within which limits. */
import type { ReaderLimits } from '../../../clickhouse/reader.ts';
import type { Config } from '../../config.ts';

const MAX_RESULT_BYTES = 64 * 1024 * 1024;
/** Of answers that wait for their clients to read them, in each process. */
export const MAX_OUTGOING_BYTES = 4 * MAX_RESULT_BYTES;

/** Queries that were given up and are not at their end. */
const GIVEN_UP = 4;

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/;

/** Whether SQL is answered. */
export function servesSql({ sql, host }: Pick<Config, 'sql' | 'host'>): boolean {
  return sql === 'on' || (sql === 'auto' && LOOPBACK.test(host));
}

export function readerLimits(config: Config): ReaderLimits {
  return {
    database: config.sqlDatabase,
    timeoutMs: config.sqlTimeoutMs,
    memoryBytes: config.sqlMemory,
    queries: config.sqlQueries,
    // Each worker has one at least, and asks one more when it makes itself ready.
    atOnce: 2 * Math.max(config.sqlQueries, config.workers) + GIVEN_UP,
    rowsRead: config.sqlRowsRead,
    resultBytes: MAX_RESULT_BYTES,
    hourly: {
      queries: config.sqlHourlyQueries,
      rows: config.sqlHourlyRows,
      seconds: config.sqlHourlySeconds,
    },
  };
}
