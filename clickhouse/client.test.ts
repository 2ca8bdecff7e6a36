import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ClickHouse, type ClickHouseMetrics, ClickHouseQueryError, createClickHouse } from './client.ts';
import { isConnectionError, isTimeout, isTransient } from './query-error.ts';
import { RowReader, RowWriter } from './rowbinary.ts';
import { silent, startTestServer, type TestServer } from './test-server.ts';

const ENDLESS = 'SELECT count() FROM numbers(1000000000000) WHERE cityHash64(number) = 0';

let test: TestServer;
let clickhouse: ClickHouse;
const outcomes: string[] = [];
const metrics: ClickHouseMetrics = {
  finished: (operation, label, outcome) => void outcomes.push(`${operation} ${label} ${outcome}`),
};

beforeAll(async () => {
  test = await startTestServer();
  clickhouse = createClickHouse({ url: test.server.url, database: 'client', logger: silent, metrics });
  const system = clickhouse.withDatabase('system');
  await system.command('CREATE DATABASE client');
  await system.close();
});

afterAll(async () => {
  await clickhouse?.close();
  await test?.remove();
});

async function runningQueries(marker: string): Promise<number> {
  const sql = `SELECT count() AS n FROM system.processes WHERE query LIKE '%${marker}%' AND query NOT LIKE '%system.processes%'`;
  const [row] = await clickhouse.json(sql, z.object({ n: z.coerce.number() }));
  return row.n;
}

async function untilQueries(marker: string, wanted: number): Promise<boolean> {
  for (let i = 0; i < 600; i++) {
    if ((await runningQueries(marker)) === wanted) return true;
    await delay(50);
  }
  return false;
}

async function failure(promise: Promise<unknown>): Promise<ClickHouseQueryError> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ClickHouseQueryError)) throw new Error('expected a ClickHouseQueryError', { cause: error });
  return error;
}

async function counts(...tables: string[]): Promise<number[]> {
  const sql = (table: string) => `SELECT count() AS n FROM ${table}`;
  const rows = await Promise.all(
    tables.map((table) => clickhouse.json(sql(table), z.object({ n: z.coerce.number() }))),
  );
  return rows.map(([row]) => row.n);
}

function keyRows(from: number, to: number): Buffer[] {
  const writer = new RowWriter(256);
  for (let k = from; k < to; k++) {
    writer.u64(String(k));
    writer.string(`value ${k}`);
    writer.endRow();
  }
  return writer.take();
}

describe('queries', () => {
  it('returns RowBinary', async () => {
    const rows = new RowReader(await clickhouse.query('SELECT number, toString(number) FROM numbers(3)'));
    const seen: string[] = [];
    while (!rows.done) seen.push(`${rows.u64()}=${rows.string()}`);
    expect(seen).toEqual(['0=0', '1=1', '2=2']);
    expect((await clickhouse.query('SELECT 1 WHERE 0')).length).toBe(0);
  });

  it('warns of no leak when a caller asks many statements at once', async () => {
    const warned: Error[] = [];
    const onWarning = (warning: Error): void => void warned.push(warning);
    process.on('warning', onWarning);
    const { signal } = new AbortController();
    await Promise.all(Array.from({ length: 12 }, () => clickhouse.query('SELECT 1', { signal })));
    process.off('warning', onWarning);
    expect(warned).toEqual([]);
  });

  it('returns JSON rows with exact wide numbers', async () => {
    const sql = "SELECT toUInt64('18446744073709551615') AS a, toInt256('-3') AS b, toDecimal64('1.10', 2) AS c";
    const row = z.object({ a: z.string(), b: z.string(), c: z.string() });
    expect(await clickhouse.json(sql, row)).toEqual([{ a: '18446744073709551615', b: '-3', c: '1.1' }]);
    const wrong = await failure(clickhouse.json('SELECT 1 AS a', z.object({ a: z.string() }), { label: 'odd rows' }));
    expect(wrong).toMatchObject({ code: 'malformed', label: 'odd rows' });
  });

  it('tells a server error by label, code and type, without long SQL', async () => {
    const sql = `SELECT throwIf(number = 90000, '${'x'.repeat(5000)}') FROM numbers(100000)`;
    const error = await failure(clickhouse.query(sql, { label: 'failing half way' }));
    expect(error).toMatchObject({ code: 'server', serverCode: 395, label: 'failing half way' });
    expect(error.serverType).toBe('FUNCTION_THROW_IF_VALUE_IS_NON_ZERO');
    expect(error.message.length).toBeLessThan(600);
    expect(outcomes).toContain('query failing half way server');
  });

  it('bounds time on the server', async () => {
    let said: string | null = null;
    // A server that is slow to say so is left by the client: then it is asked again.
    for (let tries = 0; said === null && tries < 5; tries++) {
      const error = await failure(clickhouse.query(ENDLESS, { timeoutMs: 300 }));
      expect(isTimeout(error)).toBe(true);
      said = error.serverType;
    }
    expect(said).toBe('TIMEOUT_EXCEEDED');
  });

  it('bounds time by itself when the server is silent', async () => {
    const mute = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const address = mute.address();
    const port = typeof address === 'object' ? address?.port : null;
    const waiting = createClickHouse({ url: `http://127.0.0.1:${port}`, database: 'client', logger: silent });
    const error = await failure(waiting.query('SELECT 1', { timeoutMs: 100, label: 'asking the mute' }));
    expect(error).toMatchObject({ code: 'timeout', serverCode: null, label: 'asking the mute' });
    mute.closeAllConnections();
    mute.close();
    await waiting.close();
  });

  it('bounds the size of results', async () => {
    const error = await failure(clickhouse.query('SELECT number FROM numbers(100000)', { maxResultBytes: 20_000 }));
    expect(error.code).toBe('too_large');
    const settings = { max_result_bytes: '0' } as const;
    const sql = 'SELECT number FROM numbers(100000)';
    const unwatched = await failure(clickhouse.query(sql, { maxResultBytes: 20_000, settings }));
    expect(unwatched).toMatchObject({ code: 'too_large', serverCode: null });
  });

  it('ends a query on the server when its signal aborts', async () => {
    const abort = new AbortController();
    const query = failure(
      clickhouse.query(`${ENDLESS} AND 'marker-abort' != ''`, { signal: abort.signal, timeoutMs: 60_000 }),
    );
    expect(await untilQueries('marker-abort', 1)).toBe(true);
    abort.abort();
    expect((await query).code).toBe('aborted');
    expect(await untilQueries('marker-abort', 0)).toBe(true);
  });

  it('ends queries whose signal aborts at once or before', async () => {
    const early = await failure(clickhouse.query(ENDLESS, { signal: AbortSignal.abort() }));
    expect(early.code).toBe('aborted');
    const waits = [0, 1, 2, 5, 10, 20, 40];
    const errors = waits.map((ms) => {
      const signal = AbortSignal.timeout(ms);
      return failure(clickhouse.query(`${ENDLESS} AND 'marker-early' != ''`, { signal, timeoutMs: 60_000 }));
    });
    for (const error of await Promise.all(errors)) expect(error.code).toBe('aborted');
    // All that are to come have come by then.
    await delay(1_000);
    expect(await untilQueries('marker-early', 0)).toBe(true);
  });

  it('runs queries side by side', async () => {
    const abort = new AbortController();
    const asked = `${ENDLESS} AND 'marker-beside' != ''`;
    const queries = Array.from({ length: 6 }, () => failure(clickhouse.query(asked, { signal: abort.signal })));
    expect(await untilQueries('marker-beside', queries.length)).toBe(true);
    abort.abort();
    for (const error of await Promise.all(queries)) expect(error.code).toBe('aborted');
  });

  it('uses one connection for queries one after the other', async () => {
    const connections = new Set<number>();
    const sql = "SELECT toUInt32(port) AS n FROM system.processes WHERE query LIKE '%one connection%'";
    for (let i = 0; i < 20; i++) {
      const rows = await clickhouse.json(sql, z.object({ n: z.number() }));
      for (const row of rows) connections.add(row.n);
    }
    expect(connections.size).toBe(1);
  });

  it('names itself to the server and keeps the password out of errors', async () => {
    const options = { url: test.server.url, username: 'nobody', password: 'secret-word', database: 'client' };
    const stranger = createClickHouse({ ...options, logger: silent });
    const error = await failure(stranger.query('SELECT 1'));
    expect(error).toMatchObject({ code: 'server', serverType: 'AUTHENTICATION_FAILED' });
    expect(error.message).not.toContain('secret-word');
    await stranger.close();
  });

  it('tells a missing server apart', async () => {
    const nowhere = createClickHouse({ url: 'http://127.0.0.1:9', database: 'client', logger: silent });
    const error = await failure(nowhere.query('SELECT 1', { label: 'asking nobody' }));
    expect(isConnectionError(error) && isTransient(error)).toBe(true);
    expect(error.message).toContain('asking nobody');
    expect(await nowhere.ping()).toBe(false);
    await nowhere.close();
  });
});

describe('inserts', () => {
  beforeAll(async () => {
    const window = 'SETTINGS non_replicated_deduplication_window = 100';
    await clickhouse.command(`CREATE TABLE src (k UInt64, v String) ENGINE = MergeTree ORDER BY k ${window}`);
    await clickhouse.command(`CREATE TABLE dst (v String, k UInt64) ENGINE = MergeTree ORDER BY v ${window}`);
    await clickhouse.command('CREATE MATERIALIZED VIEW src_dst TO dst AS SELECT v, k FROM src');
  });

  it('writes the rows, once for a token, also through materialized views', async () => {
    await clickhouse.insert('src', ['k', 'v'], keyRows(0, 1000), { dedupToken: 'batch 1' });
    expect(await counts('src', 'dst')).toEqual([1000, 1000]);
    await clickhouse.insert('src', ['k', 'v'], keyRows(0, 1000), { dedupToken: 'batch 1' });
    expect(await counts('src', 'dst')).toEqual([1000, 1000]);
    await clickhouse.insert('src', ['k', 'v'], keyRows(1000, 1500), { dedupToken: 'batch 2' });
    expect(await counts('src', 'dst')).toEqual([1500, 1500]);
  });

  it('fills in what a view missed when the same token comes again', async () => {
    await clickhouse.command('TRUNCATE TABLE dst');
    await clickhouse.command('DETACH TABLE src_dst');
    await clickhouse.insert('src', ['k', 'v'], keyRows(2000, 2100), { dedupToken: 'batch 3' });
    await clickhouse.command('ATTACH TABLE src_dst');
    for (let i = 0; i < 3; i++) {
      await clickhouse.insert('src', ['k', 'v'], keyRows(2000, 2100), { dedupToken: 'batch 3' });
    }
    expect(await counts('src', 'dst')).toEqual([1600, 100]);
  });

  it('remembers tokens over kill -9', async () => {
    await clickhouse.insert('src', ['k', 'v'], keyRows(3000, 3100), { dedupToken: 'batch 4' });
    const restarted = new Promise((resolve) => test.server.onRestart(resolve));
    process.kill(test.server.pid!, 'SIGKILL');
    await restarted;
    await clickhouse.insert('src', ['k', 'v'], keyRows(3000, 3100), { dedupToken: 'batch 4' });
    expect(await counts('src', 'dst')).toEqual([1700, 200]);
  });

  it('makes one part of one large insert', async () => {
    await clickhouse.command('CREATE TABLE large (k UInt64, v String) ENGINE = MergeTree ORDER BY k');
    const writer = new RowWriter();
    const value = Buffer.alloc(400, 7);
    for (let k = 0; k < 400_000; k++) {
      writer.u64(String(k));
      writer.string(value);
      writer.endRow();
    }
    expect(writer.bytes).toBe(400_000 * 410);
    await clickhouse.insert('large', ['k', 'v'], writer.take());
    const parts = await clickhouse.json(
      "SELECT level, rows FROM system.parts WHERE database = 'client' AND table = 'large'",
      z.object({ level: z.number(), rows: z.coerce.number() }),
    );
    expect(parts).toEqual([{ level: 0, rows: 400_000 }]);
  });

  it('refuses broken data as a whole', async () => {
    const [whole] = keyRows(5000, 5001);
    const error = await failure(clickhouse.insert('src', ['k', 'v'], [...keyRows(4000, 4100), whole.subarray(0, 9)]));
    expect(error.code).toBe('server');
    expect(await counts('src')).toEqual([1700]);
  });
});
