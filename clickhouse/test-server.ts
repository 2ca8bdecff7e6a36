import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { z } from 'zod';
import type { ClickHouse } from './client.ts';
import { RowWriter } from './rowbinary.ts';
import { type EmbeddedClickHouse, type EmbeddedClickHouseOptions, startEmbeddedClickHouse } from './server.ts';
import { tableColumns } from './tables/sql.ts';
import type { TableWith } from './tables/table.ts';

export const silent = pino({ level: 'silent' });

export interface TestServer {
  server: EmbeddedClickHouse;
  folder: string;
  /** Stops the server and removes the folder. */
  remove(): Promise<void>;
}

export function testServerOptions(folder: string): EmbeddedClickHouseOptions {
  return { folder, maxMemoryBytes: 2 * 1024 ** 3, markCacheBytes: 32 * 1024 ** 2, logger: silent };
}

/**
 * For tests: a server on a new folder.
 * @param users what its file of users holds
 * @param prepare fills the folder before the start
 */
export async function startTestServer(
  users?: string,
  prepare?: (folder: string) => Promise<void>,
): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'tonstream-clickhouse-'));
  await prepare?.(folder);
  const server = await startEmbeddedClickHouse({
    ...testServerOptions(folder),
    ...(users === undefined ? {} : { users }),
  });
  return {
    server,
    folder,
    async remove() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Rows as the projector writes them. */
export async function insertRows<R extends object>(
  clickhouse: ClickHouse,
  table: TableWith<R>,
  rows: readonly R[],
): Promise<void> {
  const out = new RowWriter();
  for (const row of rows) table.write(out, row);
  await clickhouse.insert(table.name, tableColumns(table), out.take());
}

const summary = z.object({ read_rows: z.coerce.number() });

/** How many rows the server reads for a SELECT, of all tables that it names. */
export async function rowsRead(
  { url }: Pick<EmbeddedClickHouse, 'url'>,
  database: string,
  sql: string,
): Promise<number> {
  const asked = { method: 'POST', body: `${sql} FORMAT Null` };
  const response = await fetch(`${url}/?database=${database}&wait_end_of_query=1`, asked);
  if (!response.ok) throw new Error(await response.text());
  return summary.parse(JSON.parse(response.headers.get('x-clickhouse-summary') ?? '')).read_rows;
}
