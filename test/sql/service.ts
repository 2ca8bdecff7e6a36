/** SQL over recorded blocks of mainnet, asked by HTTP. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { type ClickHouse, createClickHouse } from '../../clickhouse/client.ts';
import { createHead, type Head } from '../../clickhouse/queries/head.ts';
import { usersXml } from '../../clickhouse/reader.ts';
import { MIGRATED } from '../../clickhouse/test-schema.ts';
import { silent } from '../../clickhouse/test-server.ts';
import { makeViews } from '../../clickhouse/views/all.ts';
import { readerLimits } from '../../src/api/sql/limits.ts';
import { openSql } from '../../src/api/sql/open.ts';
import { type Config, readConfig } from '../../src/config.ts';
import { type ApiServer, PATIENT_LIMITS, serveApi } from '../api-server.ts';
import { requireShelf } from '../shelf.ts';
import { type Projected, projectFiles } from '../windowed.ts';

interface Answers {
  api: ApiServer;
  /** Failures that the service told of. */
  reported: unknown[];
  close(): Promise<void>;
}

export interface SqlService extends Answers {
  projected: Projected;
  /** As the owner of the tables. */
  owner: ClickHouse;
  head: number;
  /** Holds what nobody may read. */
  secret: { path: string; word: string };
  /** Another service over the same tables, which reads as this user. */
  as(user: string): Promise<Answers>;
}

/** Users of whom SQL must have none: what they may do, whether they have the limits of the reader, what is wrong. */
export const UNFIT = [
  { name: 'blind', grant: 'SELECT ON system.*', isLimited: true, why: 'may not read the view' },
  { name: 'seer', grant: 'SELECT ON *.*', isLimited: true, why: 'more than the views' },
  { name: 'writer', grant: 'SELECT ON ton.*', isLimited: false, why: 'may write' },
];

function withUnfit(users: string, reader: string): string {
  const added = UNFIT.map(
    ({ name, grant, isLimited }) =>
      `<${name}><no_password/><networks><ip>127.0.0.1</ip></networks><profile>${isLimited ? reader : 'default'}</profile>` +
      `<quota>default</quota><grants><query>GRANT ${grant}</query></grants></${name}>`,
  );
  return users.replace('</users>', `${added.join('')}</users>`);
}

/** @param flags settings besides the defaults */
export async function startSql(flags: readonly string[] = []): Promise<SqlService> {
  const { config } = readConfig([...flags], {});
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-sql-'));
  const secret = { path: join(folder, 'secret.txt'), word: `word${Math.random().toString(36).slice(2)}` };
  writeFileSync(secret.path, secret.word);
  const users = withUnfit(usersXml(readerLimits(config), config.sqlUser), config.sqlUser);
  const projected = await projectFiles([join(requireShelf(), 'data/answers/mainnet/blocks.ndjson.gz')], users);
  const owner = createClickHouse({ url: projected.url, database: MIGRATED, logger: silent });
  const { signal } = new AbortController();
  await makeViews(owner, config.sqlDatabase, signal);
  const head = createHead(owner);
  await head.refresh(signal);
  const served = { config, owner, head, projected };
  const sql = await serveSql(served);
  return {
    ...sql,
    projected,
    owner,
    head: head.seqno,
    secret,
    as: (user) => serveSql({ ...served, config: { ...config, sqlUser: user } }),
    async close() {
      await sql.close();
      await owner.close();
      await projected.remove();
      rmSync(folder, { recursive: true });
    },
  };
}

interface Served {
  config: Config;
  owner: ClickHouse;
  head: Head;
  projected: Projected;
}

async function serveSql({ config, owner, head, projected }: Served): Promise<Answers> {
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
    reported,
    async close() {
      await api.close();
      sql.close();
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
