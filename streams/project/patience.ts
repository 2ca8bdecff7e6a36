import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { isTransient } from '../../clickhouse/query-error.ts';

export interface PatienceOptions {
  /** Longest outage that is waited for, milliseconds. */
  outageMs: number;
  logger: Pick<Logger, 'warn'>;
  signal: AbortSignal;
  onRetry: () => void;
}

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/**
 * The same server, but what fails for want of one (it is away, busy, or does not answer in time) is tried again. An insert must carry a
 * token, a command must bear repetition: whether the failed try was done is not known.
 */
export function createPatientClickHouse(clickhouse: ClickHouse, options: PatienceOptions): ClickHouse {
  const { outageMs, logger, signal, onRetry } = options;

  async function persist<T>(work: () => Promise<T>): Promise<T> {
    const giveUpAt = Date.now() + outageMs;
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
      try {
        return await work();
      } catch (error) {
        if (signal.aborted || !isTransient(error) || Date.now() > giveUpAt) throw error;
        onRetry();
        logger.warn({ err: error, waitMs }, 'ClickHouse is away or busy, trying again');
        await sleep(waitMs, undefined, { signal });
      }
    }
  }

  return {
    ...clickhouse,
    command: (sql, asked) => persist(() => clickhouse.command(sql, asked)),
    query: (sql, asked) => persist(() => clickhouse.query(sql, asked)),
    json: (sql, row, asked) => persist(() => clickhouse.json(sql, row, asked)),
    insert: (table, columns, rows, asked) => persist(() => clickhouse.insert(table, columns, rows, asked)),
  };
}
