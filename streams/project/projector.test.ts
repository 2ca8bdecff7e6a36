import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ClickHouse, createClickHouse } from '../../clickhouse/client.ts';
import { ClickHouseQueryError } from '../../clickhouse/query-error.ts';
import { MIGRATED, startMigratedServer } from '../../clickhouse/test-schema.ts';
import { silent, type TestServer } from '../../clickhouse/test-server.ts';
import { readConfig } from '../../src/config.ts';
import { drawn, isLong, rounds } from '../../test/chance.ts';
import { cloneTables } from '../../test/cloned-tables.ts';
import { allSteps } from '../../test/recorded-sequence.ts';
import { privateBlocks, shelf } from '../../test/shelf.ts';
import { tableHashes } from '../../test/table-hashes.ts';
import { openEmbeddedLog } from '../embedded.ts';
import { encodeBlockRecord } from '../envelope.ts';
import { importFiles } from '../ingest/import.ts';
import type { EventLog } from '../log.ts';
import { topicNames } from '../topics.ts';
import { processStart } from '../writer-lock.ts';
import type { Progress, ProjectorOptions } from './options.ts';
import { createPositionStore, OWNER_MS } from './position.ts';
import { project } from './projector.ts';

const topics = topicNames();
/** Written at the start. */
const BEFORE_STEPS = new Set(['projectors', 'projection_versions']);

let home: string;
let server: TestServer;
let log: EventLog;
let good: Record<string, string>;
/** Of the first steps alone, for what is about batches of one step. */
let briefLog: EventLog;
let goodOfBrief: Record<string, string>;
let databases = 0;
const closing: (() => Promise<void>)[] = [];
/** Migrated once: a copy of empty tables takes half the time. */

async function freshTables(): Promise<ClickHouse> {
  const database = `projected_${++databases}`;
  const clickhouse = createClickHouse({ url: server.server.url, database, logger: silent });
  closing.push(async () => {
    await clickhouse.command(`DROP DATABASE ${database} SYNC`);
    await clickhouse.close();
  });
  await cloneTables(clickhouse, MIGRATED);
  return clickhouse;
}

const BRIEF_STEPS = 15;
/** Enough for every death of a chain to be in another batch. */
const USUAL_STEPS = 80;
/** Deaths at inserts of the first kind, drawn in the usual run. */
const EARLY_DEATHS = 2;
const base = readConfig([], {}).config;

function run(
  clickhouse: ClickHouse,
  config: Partial<ProjectorOptions['config']> = {},
  more: Partial<ProjectorOptions> = {},
) {
  const options = { log, topics, clickhouse, config: { ...base, ...config }, logger: silent, stopAtEnd: true, ...more };
  return project(options, new AbortController().signal);
}

beforeAll(async () => {
  if (shelf === null) return;
  home = mkdtempSync(join(tmpdir(), 'tonstream-projector-'));
  server = await startMigratedServer();
  const whole = openEmbeddedLog({ folder: join(home, 'whole-log') });
  // Densest in messages between steps and in account data that blocks show in part.
  await importFiles(whole, topics, [privateBlocks()], { loose: true });
  const steps = await allSteps(whole, topics.blocks);
  await whole.close();
  log = openEmbeddedLog({ folder: join(home, 'log') });
  briefLog = openEmbeddedLog({ folder: join(home, 'brief-log') });
  for (const [to, count] of [
    [log, rounds(USUAL_STEPS, steps.length)],
    [briefLog, BRIEF_STEPS],
  ] as const) {
    for (const { blocks } of steps.slice(0, count)) await to.append(topics.blocks, blocks.map(encodeBlockRecord));
  }
  const clickhouse = await freshTables();
  await run(clickhouse, {}, { log: briefLog });
  goodOfBrief = await tableHashes(clickhouse);
  await run(clickhouse);
  good = await tableHashes(clickhouse);
});

afterEach(async () => {
  vi.restoreAllMocks();
  for (const close of closing.splice(0)) await close();
});

afterAll(async () => {
  if (shelf === null) return;
  await log.close();
  await briefLog.close();
  await server.remove();
  rmSync(home, { recursive: true, force: true });
});

class Killed extends Error {}

interface Death {
  table: string;
  /** Of the inserts into it in this run. */
  nth: number;
  /** After the insert, else before it. */
  done: boolean;
}

/** Tables that end the projector at an insert. */
function dying(clickhouse: ClickHouse, at: Death): ClickHouse {
  let inserts = 0;
  return {
    ...clickhouse,
    async insert(table, ...rest) {
      const dies = table === at.table && ++inserts === at.nth;
      if (dies && !at.done) throw new Killed();
      await clickhouse.insert(table, ...rest);
      if (dies) throw new Killed();
    },
  };
}

/**
 * The first batch of a run is the one that the death before has left unfinished: the second is a new one. Of a batch that
 * died at what goes in last nothing else is inserted again.
 */
const DEATHS = [
  { table: 'account_codes', nth: 2 },
  // Blocks with new code are few: in the batch that is repeated.
  { table: 'codes', nth: 1 },
  { table: 'blocks', nth: 2 },
  { table: 'transactions', nth: 2 },
  { table: 'messages', nth: 2 },
  { table: 'accounts', nth: 2 },
  { table: 'account_data', nth: 2 },
  { table: 'balances', nth: 2 },
  // What announces and what marks as done, one or the other.
  { table: 'projection_state', nth: 1 },
  { table: 'projection_state', nth: 2 },
];
/** What goes in last, and the notes before and behind a batch. */
const LATE = new Set(['account_codes', 'codes', 'account_data', 'projection_state']);

/** Deaths one after another on the same tables: the late ones and some others; in the long run all, and each alone. */
function deathChains(): Omit<Death, 'done'>[][] {
  if (isLong) return [DEATHS, ...DEATHS.map((death) => [{ ...death, nth: 2 }])];
  const early = DEATHS.filter(({ table }) => !LATE.has(table));
  const chosen = drawn(early, EARLY_DEATHS);
  return [DEATHS.filter((death) => LATE.has(death.table) || chosen.includes(death))];
}

describe.skipIf(shelf === null)('project', () => {
  it.each(isLong ? [2, 7, 50] : [7])(
    'makes the same tables in batches of %i steps with hardly any memory',
    async (batchSteps) => {
      const clickhouse = await freshTables();
      let last: Progress | null = null;
      const onProgress = (progress: Progress) => {
        last = progress;
      };
      await run(clickhouse, { batchSteps, cachedAccounts: 1, openMessages: 1 }, { onProgress });
      expect(await tableHashes(clickhouse)).toEqual(good);
      expect(last).toMatchObject({ counters: { gaps: 0, retries: 0 } });
    },
  );

  // Of a batch of one step nothing but its beginning was announced.
  // In the usual run one or the other.
  const sizes: [steps: number, done: boolean][] = isLong
    ? [
        [1, false],
        [1, true],
        [15, false],
        [15, true],
      ]
    : drawn<[number, boolean]>(
        [
          [1, false],
          [6, true],
        ],
        1,
      );
  const deaths = sizes.flatMap(([steps, done]) =>
    deathChains().map((chain) => ({ steps, done, chain, tables: chain.map(({ table }) => table).join(', ') })),
  );
  it.each(deaths)(
    'repeats batches of $steps after deaths at inserts into $tables (done: $done)',
    async ({ steps, done, chain }) => {
      const clickhouse = await freshTables();
      const small = { batchSteps: steps, cachedAccounts: 1, openMessages: 1 };
      for (const death of chain)
        await expect(run(dying(clickhouse, { ...death, done }), small)).rejects.toThrow(Killed);
      await run(clickhouse, { batchSteps: 40 });
      expect(await tableHashes(clickhouse)).toEqual(good);
    },
  );

  it.each(['balances', 'projection_state'])(
    'inserts nothing into %s again, and looks for no lost rows, once another projector writes',
    async (name) => {
      const clickhouse = await freshTables();
      const questions: string[] = [];
      let inserts = 0;
      const cut: ClickHouse = {
        ...clickhouse,
        json(sql, row, asked) {
          questions.push(asked?.label ?? '');
          return clickhouse.json(sql, row, asked);
        },
        async insert(table, ...rest) {
          if (table !== name || ++inserts > 1) return clickhouse.insert(table, ...rest);
          await createPositionStore(clickhouse).claim(new AbortController().signal);
          throw new ClickHouseQueryError({ code: 'timeout', label: 'inserting', queryId: '', detail: 'no answer' });
        },
      };
      await expect(run(cut, {}, { log: briefLog })).rejects.toThrow('another projector, started later, writes');
      // By then the tokens of the first try may be forgotten, and the tables be others of the same names.
      expect(inserts).toBe(1);
      expect(questions).not.toContain('looking whether the rows of a batch are there');
    },
  );

  it('inserts and publishes nothing more of a batch that stood still while another projector began', async () => {
    const clickhouse = await freshTables();
    await briefLog.ensureTopic(topics.steps);
    const published = await briefLog.end(topics.steps);
    const now = performance.now.bind(performance);
    let stoodMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now() + stoodMs);
    const later: string[] = [];
    let hasBegun = false;
    const standing: ClickHouse = {
      ...clickhouse,
      async insert(table, ...rest) {
        if (hasBegun) later.push(table);
        await clickhouse.insert(table, ...rest);
        if (table !== 'transactions') return;
        await createPositionStore(clickhouse).claim(new AbortController().signal);
        stoodMs = OWNER_MS;
        hasBegun = true;
      },
    };
    const publish = { retainBytes: 2 ** 30, retainMs: 0 };
    await expect(run(standing, {}, { log: briefLog, publish })).rejects.toThrow(
      'another projector, started later, writes',
    );
    expect(later).toEqual([]);
    expect(await briefLog.end(topics.steps)).toBe(published);
  });

  it('leaves the tables to a projector of another process that writes the same log', async () => {
    const clickhouse = await freshTables();
    const { signal } = new AbortController();
    const running = createPositionStore(clickhouse);
    await running.claim(signal);
    const folder = join(home, 'shared-log');
    const shared = openEmbeddedLog({ folder });
    closing.push(() => shared.close());
    const other = { pid: process.ppid, started: processStart(process.ppid), threads: [0] };
    writeFileSync(join(folder, `${topics.steps}.writer`), JSON.stringify(other));
    const publish = { retainBytes: 2 ** 30, retainMs: 0 };
    await expect(run(clickhouse, {}, { log: shared, publish })).rejects.toMatchObject({
      code: 'writer_busy',
      message: `topic ${topics.steps} of ${folder} is being written by process ${process.ppid}; stop it first`,
    });
    await running.checkOwner(signal);
  });

  it('leaves the tables to another one when it is of another version, or has another log', async () => {
    const clickhouse = await freshTables();
    const { signal } = new AbortController();
    await run(clickhouse, {}, { log: briefLog });
    const running = createPositionStore(clickhouse);
    await running.claim(signal);
    const empty = openEmbeddedLog({ folder: join(home, 'empty-log') });
    closing.push(() => empty.close());
    await empty.ensureTopic(topics.blocks);
    await expect(run(clickhouse, {}, { log: empty })).rejects.toThrow('of another log than this one');
    await clickhouse.command("INSERT INTO projection_versions (name, version) VALUES ('traces', 7777)");
    await expect(run(clickhouse, {}, { log: briefLog })).rejects.toThrow('its tables of 7777');
    await running.checkOwner(signal);
  });

  it('waits for a server that is away when it looks for a rebuild', async () => {
    const clickhouse = await freshTables();
    let asked = 0;
    const away: ClickHouse = {
      ...clickhouse,
      async json(sql, row, how) {
        if (sql.includes('swap_list') && ++asked === 1)
          throw new ClickHouseQueryError({ code: 'connection', label: 'asking', queryId: '', detail: 'nobody there' });
        return clickhouse.json(sql, row, how);
      },
    };
    await run(away, {}, { log: briefLog });
    expect(asked).toBeGreaterThan(1);
    expect(await tableHashes(clickhouse)).toEqual(goodOfBrief);
  });

  it('tells of a failure also when it waits for more steps', async () => {
    const clickhouse = await freshTables();
    const at = { table: 'balances', nth: 1, done: false };
    const running = run(dying(clickhouse, at), {}, { log: briefLog, stopAtEnd: false });
    await expect(running).rejects.toThrow(Killed);
  });

  it.each([
    [5, 0, ['state', 'owner', 'rows', 'state', 'rows', 'state', 'owner']],
    // Announced as the one step after the batch before.
    [1, 0, ['rows', 'state', 'rows', 'state', 'owner']],
    // Who writes is asked again when that was long ago.
    [1, 60_000, ['owner', 'rows', 'state', 'rows', 'state', 'owner']],
  ])(
    'writes no row of a batch of %i, %i ms later, before it is announced and the owner asked',
    async (batchSteps, laterMs, each) => {
      const clickhouse = await freshTables();
      let [late, isBetween] = [performance.now(), false];
      vi.spyOn(performance, 'now').mockImplementation(() => late);
      const events: string[] = [];
      const noted =
        <A extends unknown[], T>(nameOf: (...asked: A) => string | null, act: (...asked: A) => Promise<T>) =>
        async (...asked: A): Promise<T> => {
          const name = nameOf(...asked);
          if (name) events.push(`${name} begins`);
          const result = await act(...asked);
          if (name) events.push(`${name} ends`);
          return result;
        };
      const watched: ClickHouse = {
        ...clickhouse,
        insert: noted(
          (table) => (BEFORE_STEPS.has(table) ? null : table === 'projection_state' ? 'state' : 'rows'),
          clickhouse.insert,
        ),
        async json(sql, row, options) {
          const isOwner = sql.includes('FROM projectors');
          const rows = await noted(
            () => (isOwner ? 'owner' : null),
            () => clickhouse.json(sql, row, options),
          )();
          // Asked once more behind each batch.
          if (isOwner && isBetween) [late, isBetween] = [late + laterMs, false];
          return rows;
        },
      };
      const onProgress = () => {
        isBetween = true;
      };
      await run(watched, { batchSteps }, { onProgress, log: briefLog });
      const merged = events.map((event) => (event.startsWith('rows') ? 'rows' : event));
      const seen = merged.filter((event, at) => event !== 'rows' || merged[at - 1] !== 'rows');
      const inTurn = (names: string[]): string[] =>
        names.flatMap((name) => (name === 'rows' ? name : [`${name} begins`, `${name} ends`]));
      // The projector's claim asks before and after it writes itself down; nothing announces the first batch before.
      const begin = inTurn(['owner', 'owner', 'state', 'owner', 'rows', 'state', 'rows', 'state', 'owner']);
      const batches = (seen.length - begin.length) / inTurn(each).length;
      expect(batches).toBeGreaterThan(1);
      expect(seen).toEqual([...begin, ...Array.from({ length: batches }, () => inTurn(each)).flat()]);
    },
  );

  it.each([
    [4, 5],
    [1, 1],
    [1, 20],
  ])('lets the later of two go on, with batches of %i and %i', async (...sizes) => {
    const clickhouse = await freshTables();
    const of = { log: briefLog };
    const runs = await Promise.allSettled(sizes.map((batchSteps) => run(clickhouse, { batchSteps }, of)));
    expect(runs.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(runs.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { message: expect.stringContaining('another projector, started later') },
    });
    expect(await tableHashes(clickhouse)).toEqual(goodOfBrief);
  });
});
