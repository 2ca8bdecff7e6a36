/** The database of what subscribers have said: beside the tables, for nothing in it follows from the log. */
import { fileURLToPath } from 'node:url';
import type { ClickHouse } from './client.ts';
import { migrate } from './migrate.ts';
import type { ClickHouseLogger } from './settings.ts';

const MIGRATIONS = fileURLToPath(new URL('./subscribers', import.meta.url));

/** A connection to it, closed on its own. */
export function subscribersDatabase(clickhouse: ClickHouse): ClickHouse {
  return clickhouse.withDatabase(`${clickhouse.database}_subscribers`);
}

/** Makes it, and brings its schema up to date. */
export async function migrateSubscribers(clickhouse: ClickHouse, logger: ClickHouseLogger, signal?: AbortSignal) {
  const subscribers = subscribersDatabase(clickhouse);
  try {
    await migrate({ clickhouse: subscribers, logger, folder: MIGRATIONS, ...(signal ? { signal } : {}) });
  } finally {
    await subscribers.close();
  }
}
