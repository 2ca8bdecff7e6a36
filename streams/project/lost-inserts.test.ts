import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ClickHouse, createClickHouse } from '../../clickhouse/client.ts';
import { migrate } from '../../clickhouse/migrate.ts';
import { type EmbeddedClickHouse, startEmbeddedClickHouse } from '../../clickhouse/server.ts';
import { TABLES } from '../../clickhouse/tables/all.ts';
import { silent, testServerOptions } from '../../clickhouse/test-server.ts';
import { readConfig } from '../../src/config.ts';
import { canLimitFiles, limitFiles } from '../../test/file-limit.ts';
import { sequenceFile } from '../../test/recorded-sequence.ts';
import { shelf } from '../../test/shelf.ts';
import { tableHashes } from '../../test/table-hashes.ts';
import { openEmbeddedLog } from '../embedded.ts';
import { importFiles } from '../ingest/import.ts';
import type { EventLog } from '../log.ts';
import { topicNames } from '../topics.ts';
import { project } from './projector.ts';

const topics = topicNames();
let home: string;
let log: EventLog;
let server: EmbeddedClickHouse;
/** Of the tables, whole. */
let good: Record<string, string>;
/** The batch of all steps, as it was announced: tables that are whole again are as good as new ones for the next loss. */
let announced: Buffer;

const start = () => startEmbeddedClickHouse(testServerOptions(join(home, 'clickhouse')));

const DATABASE = 'lost';

function tables(database = DATABASE): ClickHouse {
  return createClickHouse({ url: server.url, database, logger: silent });
}

function run(clickhouse: ClickHouse, signal = new AbortController().signal): Promise<void> {
  const { config } = readConfig([], {});
  const options = { log, topics, clickhouse, config, logger: silent, stopAtEnd: true };
  return project(options, signal);
}

/**
 * What a kill between the two leaves: the tokens are noted, the rows of the one batch are not there, nor its mark. What
 * was written before it began is on the disk.
 */
async function lose(lost: (table: string) => boolean): Promise<string[]> {
  const clickhouse = tables();
  await clickhouse.command('TRUNCATE TABLE projection_state');
  const parts = await clickhouse.json(
    `SELECT table, path FROM system.parts WHERE database = '${DATABASE}' AND active`,
    z.object({ table: z.string(), path: z.string() }),
  );
  await clickhouse.close();
  await server.stop();
  const gone = parts.filter(
    ({ table }) => lost(table) && !['leases', 'migrations', 'projection_versions', 'projectors'].includes(table),
  );
  for (const { path } of gone) rmSync(path, { recursive: true });
  server = await start();
  return gone.map(({ table }) => table);
}

beforeAll(async () => {
  if (shelf === null) return;
  home = mkdtempSync(join(tmpdir(), 'tonstream-lost-'));
  server = await start();
  log = openEmbeddedLog({ folder: join(home, 'log') });
  await importFiles(log, topics, [sequenceFile('local-ton4j-2024_a')]);
  const clickhouse = tables();
  await migrate({ clickhouse, logger: silent });
  await run(clickhouse);
  good = await tableHashes(clickhouse);
  announced = await clickhouse.query(
    'SELECT * EXCEPT (instance, updated_at, written) FROM projection_state WHERE NOT done AND NOT written AND next_offset > 0',
  );
  expect(announced.length).toBeGreaterThan(0);
  await clickhouse.close();
});

afterAll(async () => {
  if (shelf === null) return;
  await log.close();
  await server.stop();
  rmSync(home, { recursive: true, force: true });
});

const isFilled = (table: string) => TABLES.some(({ indexes }) => indexes.some(({ name }) => name === table));

describe.skipIf(shelf === null)('a batch that is repeated', () => {
  it.each([
    ['tables', (table: string) => !isFilled(table)],
    ['tables that views fill', isFilled],
    ['tables of each kind', (table: string) => /^(messages|transactions_by_hash|codes|balances|blocks_by)/.test(table)],
  ])('brings back what %s lost to a kill that spared the tokens', async (_, lost) => {
    const gone = await lose(lost);
    expect(gone.length).toBeGreaterThan(4);
    const again = tables();
    expect(await tableHashes(again)).not.toEqual(good);
    await announce(again);
    await run(again);
    expect(await tableHashes(again)).toEqual(good);
    await again.close();
  });

  it('goes by tokens again, where a kill came between forgetting them and noting new ones', async () => {
    const clickhouse = tables();
    // Rows that come twice are seen in pairs alone.
    await clickhouse.command('ALTER TABLE balances MODIFY SETTING non_replicated_deduplication_window = 0');
    await clickhouse.command('TRUNCATE TABLE balances');
    for (let crash = 0; crash < 2; crash++) {
      await clickhouse.command('TRUNCATE TABLE projection_state');
      await announce(clickhouse);
      await run(clickhouse);
      expect(await tableHashes(clickhouse)).toEqual(good);
    }
    await clickhouse.close();
  });
});

describe.skipIf(shelf === null || !canLimitFiles)('a disk that is full', () => {
  it('ends the projector before a batch is done of which the server has less than it says; the next start has all', async () => {
    const clickhouse = tables('short');
    await migrate({ clickhouse, logger: silent });
    limitFiles(server.pid!, 40_000);
    const ended = new AbortController();
    const failed = server.failed.then((error) => Promise.reject(error));
    await expect(Promise.race([run(clickhouse, ended.signal), failed])).rejects.toThrow('refused to be written');
    ended.abort();
    await clickhouse.close();
    await server.stop();
    server = await start();
    const again = tables('short');
    await run(again);
    expect(await tableHashes(again)).toEqual(good);
    await again.close();
  });
});

async function announce(clickhouse: ClickHouse): Promise<void> {
  const columns =
    'number done first_offset next_offset next_cell first_mc_seqno mc_seqno root_hash global_id version transactions messages blocks';
  await clickhouse.insert('projection_state', columns.split(' '), [announced]);
}
