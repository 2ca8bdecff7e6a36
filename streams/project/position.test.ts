import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ClickHouse, createClickHouse } from '../../clickhouse/client.ts';
import { migrate } from '../../clickhouse/migrate.ts';
import { silent, startTestServer, type TestServer } from '../../clickhouse/test-server.ts';
import { type Batch, createPositionStore } from './position.ts';

const { signal } = new AbortController();
const counts = { blocks: 1, transactions: 2, messages: 3 };
let server: TestServer;
let clickhouse: ClickHouse;

beforeAll(async () => {
  server = await startTestServer();
  clickhouse = createClickHouse({ url: server.server.url, database: 'positions', logger: silent });
  await migrate({ clickhouse, logger: silent });
});
beforeEach(async () => {
  for (const table of ['projection_state', 'projectors']) await clickhouse.command(`TRUNCATE TABLE ${table}`);
});
afterAll(async () => {
  await clickhouse.close();
  await server.remove();
});

const batch = (number: number, end = number * 10): Batch => ({
  number,
  firstOffset: number * 10 - 10,
  nextOffset: end,
  nextCell: number * 3,
  firstMcSeqno: number,
  mcSeqno: number,
  rootHash: Buffer.alloc(32, number),
  globalId: -239,
});

async function projector() {
  const store = createPositionStore(clickhouse);
  await store.claim(signal);
  return store;
}

describe('createPositionStore', () => {
  it('knows nothing of empty tables', async () => {
    expect(await (await projector()).read(signal)).toEqual({ done: null, intent: null });
  });

  it('finds the last batch that is done, and the one begun after it, however often that was begun', async () => {
    const first = await projector();
    for (const done of [false, true]) await first.write(batch(1), done, counts, signal);
    expect(await first.read(signal)).toEqual({ done: batch(1), intent: null });
    for (let crash = 0; crash < 5; crash++) await (await projector()).write(batch(2), false, counts, signal);
    expect(await createPositionStore(clickhouse).read(signal)).toEqual({ done: batch(1), intent: batch(2) });
  });

  it('stops a projector when a later one has begun', async () => {
    const elder = await projector();
    await elder.checkOwner(signal);
    const younger = await projector();
    await expect(elder.checkOwner(signal)).rejects.toThrow(
      'another projector, started later, writes to database positions',
    );
    await younger.checkOwner(signal);
  });

  it('repeats what the newest projector announced, not what one announced that was stopped', async () => {
    const elder = await projector();
    const younger = await projector();
    await younger.write(batch(1, 7), false, counts, signal);
    await elder.write(batch(1, 9), false, counts, signal);
    expect((await (await projector()).read(signal)).intent).toEqual(batch(1, 7));
    await younger.write(batch(1, 7), true, counts, signal);
    expect(await (await projector()).read(signal)).toEqual({ done: batch(1, 7), intent: null });
  });

  it('lets one of many that begin at once write', async () => {
    const stores = Array.from({ length: 5 }, () => createPositionStore(clickhouse));
    await Promise.allSettled(stores.map((store) => store.claim(signal)));
    const owners = await Promise.allSettled(stores.map((store) => store.checkOwner(signal)));
    expect(owners.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});
