import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ClickHouse, createClickHouse } from '../../clickhouse/client.ts';
import { migrate } from '../../clickhouse/migrate.ts';
import { migrateSubscribers, subscribersDatabase } from '../../clickhouse/subscribers.ts';
import { silent, startTestServer, type TestServer } from '../../clickhouse/test-server.ts';
import { createPositions, type Position } from './positions.ts';

const { signal } = new AbortController();
let server: TestServer;
let clickhouse: ClickHouse;
let own: ClickHouse;

beforeAll(async () => {
  server = await startTestServer();
  clickhouse = createClickHouse({ url: server.server.url, database: 'heard', logger: silent });
  own = subscribersDatabase(clickhouse);
});
afterAll(async () => {
  await own.close();
  await clickhouse.close();
  await server.remove();
});

const position = (revision: number, cursor: string): Position => {
  return { kind: 'name', owner: 'k', name: 'ledger', revision, cursor, failures: 0, refusals: 0, error: '' };
};

const read = (revision: number, cursor: string) => ({ ...position(revision, cursor), savedAt: expect.any(Number) });

it('keeps the word of the newest session, and of that the newest one, whatever came last', async () => {
  // As a former version has left it.
  const folder = await mkdtemp(join(tmpdir(), 'subscribers-'));
  const first = '001_subscribers.sql';
  await copyFile(fileURLToPath(new URL(`../../clickhouse/subscribers/${first}`, import.meta.url)), join(folder, first));
  await migrate({ clickhouse: own, logger: silent, folder });
  await rm(folder, { recursive: true });
  const row = (revision: number, cursor: string) =>
    own.command(
      `INSERT INTO positions (kind, owner, name, revision, cursor) VALUES ('name', 'k', 'ledger', ${revision}, '${cursor}')`,
      { label: 'a former row' },
    );
  await row(300, 'a');
  await row(300, 'b');
  await migrateSubscribers(clickhouse, silent);
  const positions = createPositions(own);
  const kept = () => positions.read('name', 'k', ['ledger'], signal);
  expect(await kept()).toEqual([read(300, 'b')]);

  await positions.save([position(300, 'c')], signal);
  expect(await kept()).toEqual([read(300, 'c')]);
  await positions.save([position(600, 'd')], signal);
  await positions.save([position(300, 'e')], signal);
  expect(await kept()).toEqual([read(600, 'd')]);
  await positions.save([position(600, 'b')], signal);
  expect(await kept()).toEqual([read(600, 'b')]);
  // Where it is said when they were saved, a late one is not the newest.
  const savedAt = Date.now() * 1000 + 5;
  await positions.save([position(900, 'f')], signal, savedAt + 1);
  await positions.save([position(900, 'g')], signal, savedAt);
  expect(await kept()).toEqual([read(900, 'f')]);
  expect(await positions.count('k', signal)).toBe(1);
});

it('forgets a name that nobody has used for a year, and no webhook', async () => {
  await own.command(
    `INSERT INTO subscriber_positions (kind, owner, name, revision, cursor, saved_at)
     SELECT kind, 'k2', name, 300, 'a', now64(6) - INTERVAL age MONTH FROM VALUES('kind String, name String, age UInt8',
       ('name', 'old', 13), ('name', 'used', 13), ('name', 'rare', 11), ('webhook', 'old', 13))`,
    { label: 'rows of last year' },
  );
  const positions = createPositions(own);
  await positions.save([{ ...position(600, 'b'), owner: 'k2', name: 'used' }], signal);
  await own.command('OPTIMIZE TABLE subscriber_positions FINAL', { label: 'merging' });
  const names = async (kind: Position['kind']) =>
    (await positions.read(kind, 'k2', ['old', 'used', 'rare'], signal)).map(({ name }) => name).toSorted();
  expect(await names('name')).toEqual(['rare', 'used']);
  expect(await names('webhook')).toEqual(['old']);
});
