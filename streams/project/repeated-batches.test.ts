/**
 * A batch of several steps that is repeated after a death anywhere in it leaves the rows of an undisturbed run. The chain
 * is a quiet one: many tables have no rows of a batch, and none may get any by what the repetition knows too early.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type ClickHouse, createClickHouse } from '../../clickhouse/client.ts';
import { TABLES } from '../../clickhouse/tables/all.ts';
import { MIGRATED, startMigratedServer } from '../../clickhouse/test-schema.ts';
import { silent, type TestServer } from '../../clickhouse/test-server.ts';
import { readConfig } from '../../src/config.ts';
import { drawn, rounds } from '../../test/chance.ts';
import { cloneTables } from '../../test/cloned-tables.ts';
import { createPeopledDevnet, logWithCells } from '../../test/peopled-devnet.ts';
import { tableDifferences } from '../../test/table-hashes.ts';
import { openEmbeddedLog } from '../embedded.ts';
import type { EventLog } from '../log.ts';
import { topicNames } from '../topics.ts';
import type { ProjectorOptions } from './options.ts';
import { project } from './projector.ts';

/** Collections and masters change with all that is made, which they must confirm as they were in its step. */
const WEIGHTS = { mintItem: 6, mint: 4, giveItem: 2, jettonPayment: 3, burn: 1, sale: 1, auction: 1 } as const;
const STEPS = rounds(24, 32);
const BATCH_STEPS = 4;
const topics = topicNames();
const { signal } = new AbortController();
const config = { ...readConfig([], {}).config, batchSteps: BATCH_STEPS };

class Killed extends Error {}

let home: string;
let server: TestServer;
let log: EventLog;
/** What the chain gives rows to: where nothing is inserted nobody dies. */
let filled: string[];
const opened: ClickHouse[] = [];

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'tonstream-repeated-'));
  server = await startMigratedServer();
  log = openEmbeddedLog({ folder: join(home, 'log') });
  const devnet = await createPeopledDevnet('repeated batches', 4, { weights: WEIGHTS });
  try {
    await log.ensureTopic(topics.blocks);
    await logWithCells(devnet, log, topics, STEPS);
  } finally {
    devnet.close();
  }
  const calm = await fresh('calm');
  await run(calm);
  const sql = 'SELECT name FROM system.tables WHERE database = currentDatabase() AND total_rows > 0';
  const names = new Set((await calm.json(sql, z.object({ name: z.string() }))).map(({ name }) => name));
  filled = [...TABLES.map(({ name }) => name), 'projection_state'].filter((name) => names.has(name));
});

afterAll(async () => {
  for (const clickhouse of opened) await clickhouse.close();
  await log?.close();
  await server?.remove();
  if (home) rmSync(home, { recursive: true, force: true });
});

function connect(database: string): ClickHouse {
  const clickhouse = createClickHouse({ url: server.server.url, database, logger: silent });
  opened.push(clickhouse);
  return clickhouse;
}

/** Migrated once: a copy of empty tables takes half the time. */

async function fresh(database: string): Promise<ClickHouse> {
  const clickhouse = connect(database);
  await cloneTables(clickhouse, MIGRATED);
  return clickhouse;
}

function run(clickhouse: ClickHouse, onProgress: ProjectorOptions['onProgress'] = () => undefined): Promise<void> {
  return project({ log, topics, clickhouse, config, logger: silent, stopAtEnd: true, onProgress }, signal);
}

/** Of the inserts that are begun together with that into this table none but it arrives, all but it, or all. */
interface Death {
  table: string;
  arrives: 'only' | 'not' | 'all';
}

/** @param repeats whether it begins with a batch that was not finished: the death is of a later one */
function dying(clickhouse: ClickHouse, { table: deadly, arrives }: Death, repeats: boolean) {
  let isDue = !repeats;
  let isDead = false;
  let begun: { table: string; insert(isDone: boolean): Promise<void> }[] = [];
  async function insertAll(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    const some = begun;
    begun = [];
    const dies = isDue && some.some(({ table }) => table === deadly);
    const isDone = (table: string): boolean =>
      !isDead && (!dies || arrives === 'all' || (table === deadly) === (arrives === 'only'));
    const done = some.map(({ table }) => isDone(table));
    isDead ||= dies;
    await Promise.all(some.map(({ insert }, i) => insert(done[i])));
  }
  const tables: ClickHouse = {
    ...clickhouse,
    insert(table, ...rest) {
      return new Promise((resolve, reject) => {
        if (begun.length === 0) void insertAll();
        begun.push({
          table,
          async insert(isDone) {
            if (isDone)
              await clickhouse.insert(table, ...rest).then(isDead ? () => reject(new Killed()) : resolve, reject);
            else reject(new Killed());
          },
        });
      });
    },
  };
  const onProgress = (): void => {
    isDue = true;
  };
  return { tables, onProgress };
}

const deathsAt = (tables: readonly string[]): Death[] =>
  tables.flatMap((table) => [
    { table, arrives: 'only' },
    { table, arrives: 'not' },
  ]);
/** When all is there but that it is done, and when some of what goes in last is missing. */
const WHOLE: Death = { table: 'account_data', arrives: 'all' };
const LATE = deathsAt(['account_data', 'codes']);

/** Projects the whole log over and over, to the next of these deaths each time, in each batch one at most. */
async function dieOften(database: string, coming: Death[]): Promise<void> {
  process.stdout.write(`${database}: ${coming.length} deaths to come\n`);
  const clickhouse = await fresh(database);
  const died: Death[] = [];
  for (let repeats = false; coming.length > 0; repeats = true) {
    const { tables, onProgress } = dying(clickhouse, coming[coming.length - 1], repeats);
    const end = await run(tables, onProgress).catch((error: unknown) => error);
    died.push(...coming.splice(-1));
    if (end === undefined) break;
    if (!(end instanceof Killed)) throw end;
  }
  await run(clickhouse);
  expect({ died, differences: await tableDifferences(clickhouse, database, 'calm') }).toEqual({
    died,
    differences: '',
  });
  await clickhouse.command(`DROP DATABASE ${database} SYNC`);
}

/** Of one run, a batch each. */
const WHOLE_DEATHS = Array.from({ length: STEPS / BATCH_STEPS - 1 }, () => WHOLE);

function drawDeaths(): Death[] {
  const any = deathsAt(filled);
  const some = [...drawn(LATE, rounds(1, 8 * LATE.length)), ...drawn(any, rounds(2, 2 * any.length))];
  return drawn(some, some.length);
}

test.each([
  ['whole', () => WHOLE_DEATHS],
  ['in part', drawDeaths],
])(
  'a batch of several steps that was there %s leaves the same rows when it is repeated',
  { timeout: rounds(600_000, 3_600_000) },
  async (name, deaths) => {
    const coming = [...deaths()];
    for (let i = 0; coming.length > 0; i++) await dieOften(`${name.replace(' ', '_')}_${i}`, coming);
  },
);
