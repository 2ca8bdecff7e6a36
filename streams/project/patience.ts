import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { isDiskFull, isTransient } from '../../clickhouse/query-error.ts';
import { createSeldom } from '../seldom.ts';

export interface PatienceOptions {
  /** Longest outage that is waited for, milliseconds, from the first failure on. */
  outageMs: number;
  logger: { warn(about: object, message: string): void };
  signal: AbortSignal;
  onRetry?: () => void;
  /** Asked before each try, the first one or a further one: throws where it must not be. */
  mayTry?: (again: boolean) => Promise<void>;
}

/** Of one statement that reads what a batch needs. */
export const READ_TIMEOUT_MS = 60_000;

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/**
 * Does what fails for want of a server (it is away, busy, or does not answer in time) again. The work must bear
 * repetition: whether the failed try was done is not known.
 */
export async function persist<T>(work: () => Promise<T>, options: PatienceOptions): Promise<T> {
  const { outageMs, logger, signal, onRetry, mayTry } = options;
  let giveUpAt: number | null = null;
  for (let waitMs = FIRST_WAIT_MS, failed = false; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
    try {
      await mayTry?.(failed);
      return await work();
    } catch (error) {
      const now = performance.now();
      // Not from the beginning: what was done before the server was missed, such as migrations, may have taken long.
      giveUpAt ??= now + outageMs;
      if (signal.aborted || !isTransient(error) || now > giveUpAt) throw error;
      failed = true;
      onRetry?.();
      const what = isDiskFull(error) ? 'the disk of ClickHouse is full: make room there' : 'ClickHouse is away or busy';
      logger.warn({ err: error, waitMs }, `${what}, trying again`);
      await sleep(waitMs, undefined, { signal });
    }
  }
}

export interface PatientOptions extends Omit<PatienceOptions, 'mayTry'> {
  /** Asked before each insert into a table, and before each repetition of one: throws where it must not be. */
  mayInsert?: (table: string, again: boolean) => Promise<void>;
}

/** The same server, each statement with patience: an insert must carry a token, a command must bear repetition. */
export function createPatientClickHouse(clickhouse: ClickHouse, { mayInsert, ...given }: PatientOptions): ClickHouse {
  // Many statements wait for one server: one of them says so.
  const mayTell = createSeldom(LONGEST_WAIT_MS);
  const warn = (about: object, message: string): void => void (mayTell() && given.logger.warn(about, message));
  const options = { ...given, logger: { warn } };
  // A listener for each statement that waits: as many as a step has tables are no leak.
  setMaxListeners(0, given.signal);
  const inserting = (table: string): PatienceOptions =>
    mayInsert ? { ...options, mayTry: (again) => mayInsert(table, again) } : options;
  return {
    ...clickhouse,
    command: (sql, asked) => persist(() => clickhouse.command(sql, asked), options),
    query: (sql, asked) => persist(() => clickhouse.query(sql, asked), options),
    json: (sql, row, asked) => persist(() => clickhouse.json(sql, row, asked), options),
    insert: (table, columns, rows, asked) =>
      persist(() => clickhouse.insert(table, columns, rows, asked), inserting(table)),
  };
}
