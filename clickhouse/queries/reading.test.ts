import { afterAll, beforeAll, expect, it } from 'vitest';
import type { QueryContext } from '../../src/chain/records.ts';
import { type ClickHouse, createClickHouse } from '../client.ts';
import { createQueryGate } from '../gate.ts';
import { MOST_SQL_BYTES } from '../settings.ts';
import { silent, startTestServer, type TestServer } from '../test-server.ts';
import { createHead } from './head.ts';
import { createReading, TooMuch } from './reading.ts';

const MB = 1_000_000;
/** Some 130 MB of numbers at once. */
const LARGE = 'SELECT length(groupArray(number)) FROM numbers(10000000)';

let test: TestServer;
let clickhouse: ClickHouse;

beforeAll(async () => {
  test = await startTestServer();
  clickhouse = createClickHouse({ url: test.server.url, database: 'default', logger: silent });
});

afterAll(async () => {
  await clickhouse?.close();
  await test?.remove();
});

it('bounds the memory of one statement, and of no other', async () => {
  const context: QueryContext = { signal: new AbortController().signal, timeoutMs: 60_000 };
  const gate = createQueryGate({ maxConcurrent: 4, maxQueued: 10 });
  const ask = (sql: string, memoryBytes: number | null) =>
    createReading(clickhouse, gate, createHead(clickhouse), memoryBytes).rows(sql, 'a test', context);
  await expect(ask(LARGE, 16 * MB)).rejects.toThrow(TooMuch);
  expect((await ask('SELECT 1', 16 * MB)).done).toBe(false);
  expect((await ask(LARGE, 1_000 * MB)).done).toBe(false);
  expect((await ask(LARGE, null)).done).toBe(false);
  expect(gate).toMatchObject({ running: 0, queued: 0 });
});

it('refuses what is longer than the server reads, and nothing shorter', async () => {
  const context: QueryContext = { signal: new AbortController().signal, timeoutMs: 60_000 };
  const reading = createReading(
    clickhouse,
    createQueryGate({ maxConcurrent: 1, maxQueued: 1 }),
    createHead(clickhouse),
  );
  const ask = (length: number) => reading.rows('SELECT 1'.padEnd(length), 'a test', context);
  expect((await ask(MOST_SQL_BYTES)).done).toBe(false);
  await expect(ask(MOST_SQL_BYTES + 1)).rejects.toThrow(TooMuch);
});
