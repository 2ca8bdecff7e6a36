import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ClickHouse, createClickHouse } from '../client.ts';
import { migrate } from '../migrate.ts';
import { silent, startTestServer, type TestServer } from '../test-server.ts';
import { makeViews, VIEWS } from './all.ts';

const { signal } = new AbortController();
const column = z.object({ table: z.string(), name: z.string(), type: z.string() });

let test: TestServer;
let clickhouse: ClickHouse;

beforeAll(async () => {
  test = await startTestServer();
  clickhouse = createClickHouse({ url: test.server.url, database: 'declared', logger: silent });
  await migrate({ clickhouse, logger: silent });
  await makeViews(clickhouse, 'ton', signal);
});

afterAll(async () => {
  await clickhouse?.close();
  await test?.remove();
});

const columnsOf = async () =>
  await clickhouse.json(
    "SELECT table, name, type FROM system.columns WHERE database = 'ton' ORDER BY table, position",
    column,
  );

describe('the views', () => {
  it('have the columns that are declared', async () => {
    const found = await columnsOf();
    for (const view of VIEWS) {
      const names = found.filter(({ table }) => table === view.name).map(({ name }) => name);
      expect([view.name, names]).toEqual([view.name, Object.keys(view.columns)]);
      expect(Object.keys(view.columns)).toEqual(expect.arrayContaining([...(view.order ?? [])]));
    }
  });

  it('have values that every format of an answer knows', async () => {
    // Parquet writes wide integers as bytes.
    const types = new Set((await columnsOf()).map(({ type }) => type));
    expect([...types].filter((type) => /128|256|FixedString|Enum/.test(type.replace('Decimal128', '')))).toEqual([]);
  });

  it('are left alone when nothing has changed, and cleared of others', async () => {
    const uuids = () =>
      clickhouse.json(
        "SELECT name, toString(uuid) AS uuid FROM system.tables WHERE database = 'ton' ORDER BY name",
        z.looseObject({ name: z.string() }),
      );
    const before = await uuids();
    await clickhouse.command('CREATE VIEW ton.former AS SELECT 1');
    await makeViews(clickhouse, 'ton', signal);
    expect(await uuids()).toEqual(before);
  });
});
