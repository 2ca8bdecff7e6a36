/** SQL over recorded blocks of mainnet, asked by HTTP. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { type ClickHouse, createClickHouse } from '../../clickhouse/client.ts';
import { createHead } from '../../clickhouse/queries/head.ts';
import { usersXml } from '../../clickhouse/reader.ts';
import { silent } from '../../clickhouse/test-server.ts';
import { makeViews } from '../../clickhouse/views/all.ts';
import { readerLimits } from '../../src/api/sql/limits.ts';
import { openSql } from '../../src/api/sql/open.ts';
import { readConfig } from '../../src/config.ts';
import { type ApiServer, PATIENT_LIMITS, serveApi } from '../api-server.ts';
import { requireShelf } from '../shelf.ts';
import { type Projected, projectFiles } from '../windowed.ts';

export interface SqlService {
  api: ApiServer;
  projected: Projected;
  /** As the owner of the tables. */
  owner: ClickHouse;
  head: number;
  /** Holds what nobody may read. */
  secret: { path: string; word: string };
  /** Failures that the service told of. */
  reported: unknown[];
  close(): Promise<void>;
}

/** @param flags settings besides the defaults */
export async function startSql(flags: readonly string[] = []): Promise<SqlService> {
  const { config } = readConfig(['--clickhouse-database', 'windowed', ...flags], {});
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-sql-'));
  const secret = { path: join(folder, 'secret.txt'), word: `word${Math.random().toString(36).slice(2)}` };
  writeFileSync(secret.path, secret.word);
  const users = usersXml(readerLimits(config), config.sqlUser);
  const projected = await projectFiles([join(requireShelf(), 'data/answers/mainnet/blocks.ndjson.gz')], users);
  const owner = createClickHouse({ url: projected.url, database: 'windowed', logger: silent });
  const { signal } = new AbortController();
  await makeViews(owner, config.sqlDatabase, signal);
  const head = createHead(owner);
  await head.refresh(signal);
  const reported: unknown[] = [];
  const sql = openSql({
    config,
    clickhouse: owner,
    head,
    registry: new Registry(),
    report: (error) => reported.push(error),
  });
  const api = await serveApi(projected.tables, { limits: PATIENT_LIMITS, sql: sql.routers });
  return {
    api,
    projected,
    owner,
    head: head.seqno,
    secret,
    reported,
    async close() {
      await api.close();
      await sql.close();
      await owner.close();
      await projected.remove();
      rmSync(folder, { recursive: true });
    },
  };
}

let asked = 0;

/** One request, with a key of its own so that no quota is shared. */
export async function ask(
  { api }: Pick<SqlService, 'api'>,
  body: string | object,
  { key = `test-${asked++}`, signal }: { key?: string; signal?: AbortSignal } = {},
): Promise<{ status: number; headers: Headers; bytes: Buffer; text: string }> {
  const response = await fetch(`${api.url}/api/sql`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'x-limiting-key': key },
    ...(signal ? { signal } : {}),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, bytes, text: bytes.toString() };
}
