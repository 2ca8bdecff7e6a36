/**
 * For tests: what a server's folder holds when the newest schema was brought to it, made once a run and copied. Making
 * it takes two hundred statements, which together with other tests cost seconds; the copy takes a tenth of one.
 */
import { cpSync, existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { createClickHouse } from './client.ts';
import { migrate } from './migrate.ts';
import { startEmbeddedClickHouse } from './server.ts';
import { serverPaths } from './server-config.ts';
import { migrateSubscribers } from './subscribers.ts';
import { silent, startTestServer, type TestServer, testServerOptions } from './test-server.ts';

/** The database that has it. */
export const MIGRATED = 'tonstream';

/**
 * Puts tables of the newest schema, without a row, into a new folder of a server. Where no run of tests has a place for
 * them, or another test is making them, the folder stays empty: whoever starts a server on it migrates in any case.
 */
export async function copySchema(folder: string): Promise<void> {
  const run = process.env.TEST_FOLDER;
  if (run === undefined) return;
  const made = join(run, 'schema');
  if (!existsSync(made) && !(await make(made))) return;
  cpSync(serverPaths(made).data, serverPaths(folder).data, { recursive: true, verbatimSymlinks: true });
}

/** For tests: a server that has the tables of the newest schema in the database `MIGRATED`. */
export async function startMigratedServer(users?: string): Promise<TestServer> {
  const started = await startTestServer(users, copySchema);
  const clickhouse = createClickHouse({ url: started.server.url, database: MIGRATED, logger: silent });
  await migrate({ clickhouse, logger: silent });
  await clickhouse.close();
  return started;
}

/** Resolves to false where another test makes it. */
async function make(folder: string): Promise<boolean> {
  const making = `${folder}.new`;
  try {
    mkdirSync(making);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
  const server = await startEmbeddedClickHouse(testServerOptions(making));
  const clickhouse = createClickHouse({ url: server.url, database: MIGRATED, logger: silent });
  await migrate({ clickhouse, logger: silent });
  await migrateSubscribers(clickhouse, silent);
  await clickhouse.close();
  await server.stop();
  renameSync(making, folder);
  return true;
}
