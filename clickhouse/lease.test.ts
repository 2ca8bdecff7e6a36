import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ClickHouse, createClickHouse } from './client.ts';
import { createLease, LEASES_TABLE } from './lease.ts';
import { splitStatements } from './migration-files.ts';
import { silent, startTestServer, type TestServer } from './test-server.ts';

const terms = { lastsMs: 600_000, renewMs: 1_000, settleMs: 1_000 };
const { signal } = new AbortController();

let test: TestServer;
let clickhouse: ClickHouse;

beforeAll(async () => {
  test = await startTestServer();
  clickhouse = createClickHouse({ url: test.server.url, database: 'default', logger: silent });
  await clickhouse.command(LEASES_TABLE);
});

afterAll(async () => {
  await clickhouse?.close();
  await test?.remove();
});

it('is another one’s where who has made the database stood still before its claim', async () => {
  let goOn = (): void => undefined;
  const isOver = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let looked = (): void => undefined;
  const hasLooked = new Promise<void>((resolve) => {
    looked = resolve;
  });
  const frozen: ClickHouse = {
    ...clickhouse,
    json: async (...given) => {
      const rows = await clickhouse.json(...given);
      looked();
      await isOver;
      return rows;
    },
  };
  const maker = createLease({ clickhouse: frozen, name: 'one', isMaker: true, terms });
  const other = createLease({ clickhouse, name: 'one', terms });
  const claiming = maker.tend(signal);
  await hasLooked;
  const isHeld = async (): Promise<boolean> => {
    await other.tend(signal);
    return other.held;
  };
  await expect.poll(isHeld).toBe(true);
  goOn();
  await claiming;
  expect(maker.held).toBe(false);
  expect(await isHeld()).toBe(true);
});

it('has the same table in every database', async () => {
  const subscribers = await readFile(new URL('./subscribers/001_subscribers.sql', import.meta.url), 'utf8');
  expect(splitStatements(subscribers)).toContain(LEASES_TABLE);
});
