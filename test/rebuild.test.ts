import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ClickHouse, createClickHouse } from '../clickhouse/client.ts';
import { silent, startTestServer, type TestServer } from '../clickhouse/test-server.ts';
import { blockTransactions } from '../src/chain/accounts.ts';
import { decodeBlock } from '../src/chain/block.ts';
import { openBoc } from '../src/chain/boc.ts';
import { crc32c } from '../src/chain/crc.ts';
import { runRebuild } from '../src/commands/rebuild.ts';
import type { Running } from '../src/commands/running.ts';
import { runVerify } from '../src/commands/verify.ts';
import { readConfig } from '../src/config.ts';
import { decodeDeadLetter } from '../streams/dead-letters.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import { encodeBlockRecord } from '../streams/envelope.ts';
import { checkBlock } from '../streams/ingest/check.ts';
import { importFiles } from '../streams/ingest/import.ts';
import { allSteps, readSequence, sequenceFile, writeSequence } from '../streams/ingest/recorded-sequence.ts';
import { project } from '../streams/project/projector.ts';
import type { Step } from '../streams/steps.ts';
import { topicNames } from '../streams/topics.ts';
import { startClickHouseProxy } from './clickhouse-proxy.ts';
import { runTonstream, waitFor } from './processes.ts';
import { shelf } from './shelf.ts';
import { tableHashes } from './table-hashes.ts';
import { atEach, POSITIONS } from './window-positions.ts';

const topics = topicNames();
const SEQUENCE = 'mainnet-genesis_a';
const LAST = 132;
/** Has messages on their way between steps, and many accounts. */
const PRIVATE = 'local-ton4j-2024_a';
let home: string;
let parts: TestServer;
let good: Record<string, string>;
const closing: (() => Promise<void>)[] = [];

function tables(database: string): ClickHouse {
  const clickhouse = createClickHouse({ url: parts.server.url, database, logger: silent });
  closing.push(() => clickhouse.close());
  return clickhouse;
}

interface Place {
  folder: string;
  database: string;
}

/** Settings for a folder's log and a database, as words of the command line. */
const words = ({ folder, database }: Place): string[] => [
  ...['--data-dir', folder, '--clickhouse-url', parts.server.url, '--clickhouse-database', database],
  ...['--batch-steps', '25', '--log-level', 'silent'],
];

/** Runs a command in this process; its status and what it printed. */
async function run(command: (running: Running) => Promise<unknown>, place: Place, url = parts.server.url) {
  const { config } = readConfig(words(place), {});
  const closers: (() => Promise<void> | void)[] = [];
  const printed: string[] = [];
  const shutdown: Running['shutdown'] = {
    signal: new AbortController().signal,
    onClose: (_, close) => closers.unshift(close),
    stop: () => undefined,
    done: Promise.resolve(0),
  };
  const running: Running = {
    config: { ...config, clickhouseUrl: url },
    logger: silent,
    shutdown,
    print: (line) => printed.push(line),
  };
  try {
    return { status: await command(running), printed: printed.join('\n') };
  } finally {
    for (const close of closers) await close();
  }
}

/** Projects a folder's log to its end, through a rebuild of nothing. */
async function projectAll(place: Place, clickhouse = tables(place.database)): Promise<void> {
  const { config } = readConfig(words(place), {});
  await run(runVerify, place);
  const log = openEmbeddedLog({ folder: join(place.folder, 'log') });
  const options = { log, topics, clickhouse, config, logger: silent, stopAtEnd: true };
  await project(options, new AbortController().signal).finally(() => log.close());
}

/** The same server, that takes no rows of some tables; it says so when all other inserts of the batch are done. */
function refusing(clickhouse: ClickHouse, refused: readonly string[]): ClickHouse {
  const others: Promise<void>[] = [];
  const insert: ClickHouse['insert'] = async (table, ...rest) => {
    if (!refused.includes(table)) {
      others.push(clickhouse.insert(table, ...rest));
      return others.at(-1);
    }
    // All inserts of a batch are begun in one turn of the event loop.
    await new Promise(setImmediate);
    await Promise.all(others);
    throw new Error(`${refused.join(' and ')} is refused`);
  };
  return { ...clickhouse, insert };
}

async function lastStep(clickhouse: ClickHouse, table: 'transactions' | 'projection_state'): Promise<number> {
  const isDone = table === 'projection_state' ? 'done' : 'true';
  const sql = `SELECT max(mc_seqno) AS step FROM ${table} WHERE ${isDone}`;
  return (await clickhouse.json(sql, z.object({ step: z.number() })))[0].step;
}

async function importSequence(folder: string, file: string): Promise<void> {
  const log = openEmbeddedLog({ folder: join(folder, 'log') });
  await importFiles(log, topics, [file]);
  await log.close();
}

async function stepsOf(folder: string): Promise<Step[]> {
  const log = openEmbeddedLog({ folder: join(folder, 'log') });
  const steps = await allSteps(log, topics.blocks);
  await log.close();
  return steps;
}

beforeAll(async () => {
  if (shelf === null) return;
  home = mkdtempSync(join(tmpdir(), 'tonstream-rebuild-'));
  parts = await startTestServer();
  await importSequence(join(home, 'good'), sequenceFile(SEQUENCE));
  await projectAll({ folder: join(home, 'good'), database: 'good' });
  good = await tableHashes(tables('good'));
});

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

afterAll(async () => {
  if (shelf === null) return;
  await parts.remove();
  rmSync(home, { recursive: true, force: true });
});

describe.skipIf(shelf === null)('tonstream rebuild', () => {
  it('makes the same tables, from damaged ones, and they go on from there', async () => {
    const place = { folder: join(home, 'grows'), database: 'grows' };
    const lines = readSequence(sequenceFile(SEQUENCE));
    const cut = lines.findIndex(({ workchain, seqno }) => workchain === -1 && seqno === 90) + 1;
    await importSequence(place.folder, writeSequence(join(home, 'part.ndjson'), lines.slice(0, cut)));
    await projectAll(place);
    const clickhouse = tables(place.database);
    const before = await tableHashes(clickhouse);
    await clickhouse.command('TRUNCATE TABLE balances');
    await clickhouse.command('DELETE FROM transactions WHERE mc_seqno < 50');
    expect(await tableHashes(clickhouse)).not.toEqual(before);
    const { printed } = await run(runRebuild, place);
    expect(printed).toContain('up to masterchain block 90');
    expect(await tableHashes(clickhouse)).toEqual(before);
    await importSequence(place.folder, sequenceFile(SEQUENCE));
    await projectAll(place);
    expect(await tableHashes(clickhouse)).toEqual(good);
  });

  it.each([1, 7, 20])('killed at exchange %i, it is finished at the next start', async (nth) => {
    const place = { folder: join(home, 'good'), database: `killed_${nth}` };
    await projectAll(place);
    const clickhouse = tables(place.database);
    await clickhouse.command('TRUNCATE TABLE messages');
    let exchanges = 0;
    let rebuild: ReturnType<typeof runTonstream> | null = null;
    const proxy = await startClickHouseProxy(parts.server.url, (sql) => {
      if (!sql.startsWith('EXCHANGE TABLES') || ++exchanges < nth) return false;
      rebuild?.child.kill('SIGKILL');
      return true;
    });
    rebuild = runTonstream('rebuild', ...words(place), '--clickhouse-url', proxy.url);
    await rebuild.ended;
    await proxy.close();
    expect(exchanges).toBe(nth);
    expect(await run(runVerify, place)).toMatchObject({ status: 0 });
    expect(await tableHashes(clickhouse)).toEqual(good);
  });

  it('drops no table when an exchange was undone by one whose answer had been lost', async () => {
    const place = { folder: join(home, 'good'), database: 'undone' };
    await projectAll(place);
    const clickhouse = tables(place.database);
    await clickhouse.command('TRUNCATE TABLE balances');
    let lost: string | null = null;
    const loses = await startClickHouseProxy(parts.server.url, (sql) => {
      if (!sql.startsWith('EXCHANGE TABLES')) return false;
      lost ??= sql;
      return true;
    });
    await expect(run(runRebuild, place, loses.url)).rejects.toThrow('exchanging tables');
    await loses.close();
    const statement = String(lost);
    let again = false;
    const late = await startClickHouseProxy(parts.server.url, async (sql) => {
      // The lost one is done only now, behind the one that was sent in its place.
      if (again && sql.includes('FROM system.tables')) await clickhouse.command(statement);
      again = sql.startsWith(statement) || (again && !sql.includes('FROM system.tables'));
      return false;
    });
    await expect(run(runVerify, place, late.url)).rejects.toThrow(/did not take the place of the former: start again/);
    await late.close();
    expect(await run(runVerify, place)).toMatchObject({ status: 0 });
    expect(await tableHashes(clickhouse)).toEqual(good);
  });

  it('stops a projector that still runs', async () => {
    const place = { folder: join(home, 'rivals'), database: 'rivals' };
    const lines = readSequence(sequenceFile(SEQUENCE));
    const cut = lines.findIndex(({ workchain, seqno }) => workchain === -1 && seqno === 60) + 1;
    await importSequence(place.folder, writeSequence(join(home, 'part.ndjson'), lines.slice(0, cut)));
    await projectAll(place);
    const projector = runTonstream('project', ...words(place));
    closing.push(() => projector.kill());
    await waitFor('the projector', projector, async () => projector.output().includes('projecting into'));
    const clickhouse = tables(place.database);
    const count = z.object({ n: z.coerce.number() });
    const projectors = async () => (await clickhouse.json('SELECT count() AS n FROM projectors', count))[0].n;
    await waitFor('its claim', projector, async () => (await projectors()) === 2);
    await run(runRebuild, place);
    await importSequence(place.folder, sequenceFile(SEQUENCE));
    expect(await projector.ended).toBe(1);
    expect(projector.output()).toMatch(/another projector, started later, writes to database rivals/);
    await projectAll(place);
    expect(await tableHashes(clickhouse)).toEqual(good);
  });
});

describe.skipIf(shelf === null)('tonstream verify', () => {
  const place = (): Place => ({ folder: join(home, 'good'), database: 'verified' });
  const changes: [sql: string, line: RegExp][] = [
    [
      'DELETE FROM transactions WHERE mc_seqno = 41',
      /^differs: steps 1 to 132: transactions: the log has \d+, the tables have \d+$/m,
    ],
    ['DELETE FROM messages WHERE in_mc_seqno = 41', /^differs: steps 1 to 132: messages received/m],
    ['INSERT INTO shard_tops VALUES (41, 5, 1, 1)', /^differs: steps 1 to 132: shard tops/m],
    ['DELETE FROM blocks_by_hash WHERE mc_seqno = 41', /^differs: blocks_by_hash: /m],
    ['DELETE FROM messages_by_time WHERE in_mc_seqno = 41', /^differs: messages_by_time: /m],
    [
      'DELETE FROM transactions_by_hash WHERE lt = (SELECT max(lt) FROM transactions)',
      /^differs: transactions_by_hash: /m,
    ],
    [
      'INSERT INTO transactions_by_hash SELECT reverse(hash), account, lt - 1 FROM transactions WHERE mc_seqno = 41',
      /^differs: transactions_by_hash: /m,
    ],
    [
      'DELETE FROM account_states_by_hash WHERE lt = (SELECT max(lt) FROM transactions)',
      /^differs: account_states_by_hash: /m,
    ],
    [
      'DELETE FROM messages_by_hash WHERE created_lt = (SELECT max(created_lt) FROM messages WHERE created_lt < 1e18)',
      /^differs: messages_by_hash: /m,
    ],
    [
      'INSERT INTO messages_by_hash SELECT reverse(hash), 18446744073709551615, hash FROM messages LIMIT 1',
      /^differs: messages_by_hash: /m,
    ],
    ['TRUNCATE TABLE accounts', /^differs: accounts: /m],
    [
      'INSERT INTO balances SELECT balance + 1, account, lt, mc_seqno, 1 FROM accounts LIMIT 1',
      /^differs: balances: /m,
    ],
  ];

  it('finds good tables good', async () => {
    const { status, printed } = await run(runVerify, { ...place(), database: 'good' });
    expect(printed).toBe(`${LAST} steps compared up to masterchain block ${LAST}: 0 differences, 0 gaps`);
    expect(status).toBe(0);
  });

  it.each(changes)('%s', async (sql, line) => {
    await projectAll(place());
    const clickhouse = tables(place().database);
    await clickhouse.command(sql);
    const { status, printed } = await run(runVerify, place());
    expect(printed).toMatch(line);
    expect(status).toBe(1);
    await clickhouse.command(`DROP DATABASE ${place().database} SYNC`);
  });

  it.each([
    ['views of every second kind', /_to_(id|lt|hash|source|step)$/, ['account_data']],
    ['views of the other kinds', /_to_(time|state|destination|body)$/, ['shard_tops']],
    ['newest states', /^$/, ['accounts', 'balances']],
    ['balances and all views', /_to_/, ['balances']],
  ])('leaves out a batch that was not finished, here without its %s', async (_, without, refused) => {
    const place = { folder: join(home, `unfinished-${refused[0]}`), database: `unfinished_${refused[0]}` };
    const lines = readSequence(sequenceFile(PRIVATE));
    const half = lines.findIndex(({ workchain }, n) => workchain === -1 && n > lines.length / 2) + 1;
    await importSequence(place.folder, writeSequence(join(home, 'half.ndjson'), lines.slice(0, half)));
    await projectAll(place);
    const clickhouse = tables(place.database);
    const views = (
      await clickhouse.json(
        "SELECT name FROM system.tables WHERE engine = 'MaterializedView' AND database = currentDatabase()",
        z.object({ name: z.string() }),
      )
    ).filter(({ name }) => without.test(name));
    await importSequence(place.folder, sequenceFile(PRIVATE));
    for (const { name } of views) await clickhouse.command(`DETACH TABLE ${name}`);
    await expect(projectAll(place, refusing(clickhouse, refused))).rejects.toThrow(
      `${refused.join(' and ')} is refused`,
    );
    for (const { name } of views) await clickhouse.command(`ATTACH TABLE ${name}`);
    expect(await lastStep(clickhouse, 'transactions')).toBeGreaterThan(await lastStep(clickhouse, 'projection_state'));
    const { status, printed } = await run(runVerify, place);
    expect(printed).toMatch(
      /^a batch up to step \d+ was begun and not finished: the projector will repeat it\n\d+ steps compared up to masterchain block \d+: 0 differences, 0 gaps$/,
    );
    expect(status).toBe(0);
    const first = '(SELECT min(mc_seqno) FROM blocks)';
    await clickhouse.command(`DELETE FROM blocks_by_time WHERE mc_seqno = ${first}`);
    expect(await run(runVerify, place)).toMatchObject({ status: 1, printed: expect.stringContaining('1 differences') });
    await clickhouse.command(
      `INSERT INTO blocks_by_time SELECT gen_utime, workchain, shard, seqno, mc_seqno, start_lt FROM blocks WHERE mc_seqno = ${first}`,
    );
    await projectAll(place);
    expect(await run(runVerify, place)).toMatchObject({ status: 0, printed: expect.not.stringContaining('begun') });
  });

  it('does not compare the newest states when a projector writes them meanwhile', async () => {
    const [done, balances] = ['done ORDER BY number DESC LIMIT 1', 'FROM balances'];
    await projectAll(place());
    const clickhouse = tables(place().database);
    const proxy = await startClickHouseProxy(parts.server.url, async (sql) => {
      if (!sql.includes('AS expected') || !sql.includes(balances)) return false;
      await clickhouse.command('TRUNCATE TABLE accounts');
      await clickhouse.command(
        `INSERT INTO projection_state SELECT * REPLACE (number + 1 AS number) FROM projection_state WHERE ${done}`,
      );
      return false;
    });
    const { status, printed } = await run(runVerify, place(), proxy.url);
    await proxy.close();
    expect(printed).toMatch(/^not compared: accounts, while a projector writes it\nnot compared: balances, /);
    expect(status).toBe(0);
    await clickhouse.command(`DROP DATABASE ${place().database} SYNC`);
  });

  it('waits for ClickHouse when that goes away while it begins', async () => {
    for (const [nth, statement] of [/^SELECT number, statement/, /name = 'swap'/].entries()) {
      let times = 0;
      const proxy = await startClickHouseProxy(parts.server.url, (sql) => statement.test(sql) && ++times < 3);
      expect(await run(runVerify, { ...place(), database: 'good' }, proxy.url)).toMatchObject({ status: 0 });
      expect(times, `statement ${nth}`).toBeGreaterThan(2);
      await proxy.close();
    }
  });

  it('ends the process with that status', async () => {
    const verify = runTonstream('verify', ...words({ ...place(), database: 'good' }));
    expect(await verify.ended).toBe(0);
    await projectAll(place());
    await tables(place().database).command('TRUNCATE TABLE blocks_by_id');
    const failing = runTonstream('verify', ...words(place()));
    expect(await failing.ended).toBe(1);
    expect(failing.output()).toContain('differs: blocks_by_id: 0 rows');
  });
});

/** A step of which a block has a transaction with a wrong tag: the header and all hashes are good. */
function brokenStep(step: Step): Step {
  const at = step.blocks.findIndex(({ boc }) => [...blockTransactions(decodeBlock(openBoc(boc)))].length > 0);
  const bytes = Buffer.from(step.blocks[at].boc);
  const boc = openBoc(bytes);
  const [transaction] = blockTransactions(decodeBlock(boc));
  bytes[boc.pos[transaction.cell]] ^= 0x10;
  bytes.writeUInt32LE(crc32c(bytes.subarray(0, -4)), bytes.length - 4);
  const { id } = checkBlock(bytes, null, { file: 'broken block', line: null });
  expect(id.fileHash).toEqual(hash('sha256', bytes, 'buffer'));
  return { ...step, blocks: step.blocks.map((block, n) => (n === at ? { ...block, id, boc: bytes } : block)) };
}

describe.skipIf(shelf === null)('a block that cannot be decoded', () => {
  const BROKEN = 70;
  const get = async (url: string) => {
    const response = await fetch(url);
    return { status: response.status, text: await response.text() };
  };

  it('is told of and left out, the next steps go on, and a rebuild repairs it', async () => {
    const place = { folder: join(home, 'broken'), database: 'broken' };
    const steps = await stepsOf(join(home, 'good'));
    const log = openEmbeddedLog({ folder: join(place.folder, 'log') });
    for (const step of steps) {
      const { blocks } = step.mcSeqno === BROKEN ? brokenStep(step) : step;
      await log.append(topics.blocks, blocks.map(encodeBlockRecord));
    }
    const service = runTonstream('start', '--network', 'none', '--port', '0', ...words(place));
    closing.push(() => service.kill());
    await waitFor('the service', service, async () => /API +(http\S+)\/api/.test(service.output()));
    const url = /API +(http\S+)\/api/.exec(service.output())?.[1] ?? '';
    const status = async () => JSON.parse((await get(`${url}/status`)).text);
    await waitFor('the projection', service, async () => (await status()).projected.mc_seqno === LAST);

    expect(await status()).toMatchObject({
      gaps: [{ mc_seqno: BROKEN, error: expect.stringContaining('/account_blocks/') }],
    });
    expect((await get(`${url}/metrics`)).text).toContain('tonstream_projector_events{event="gaps"} 1');
    expect((await get(`${url}/healthcheck`)).text).toContain('DEGRADED');
    const shows = async (base: string): Promise<void> => {
      const ofStep = (seqno: number) => get(`${base}/api/v3/transactionsByMasterchainBlock?seqno=${seqno}`);
      expect((await ofStep(BROKEN)).status).toBe(404);
      expect((await ofStep(BROKEN + 1)).status).toBe(200);
    };
    await shows(url);
    const kept = { dataDir: place.folder, clickhouseUrl: parts.server.url, database: place.database };
    await atEach(POSITIONS, kept, (server) => shows(server.url));
    await service.kill('SIGTERM');

    const letters = (await log.last(topics.dead, 10)).map((record) => decodeDeadLetter(record, topics.dead));
    expect(letters).toMatchObject([{ mcSeqno: BROKEN, projection: 'chain' }]);
    await log.close();
    const verified = await run(runVerify, place);
    expect(verified.printed).toMatch(new RegExp(`^gap: step ${BROKEN}: `, 'm'));
    // The decoder of the good log stands for one that was mended.
    await run(runRebuild, { ...place, folder: join(home, 'good') });
    expect(await tableHashes(tables(place.database))).toEqual(good);
  });
});

describe.skipIf(shelf === null)('tables that do not fit', () => {
  it('of another log are refused', async () => {
    const place = { folder: join(home, 'other'), database: 'other' };
    await importSequence(place.folder, sequenceFile('local-ton4j-2024_a'));
    await projectAll({ ...place, folder: join(home, 'good') });
    await expect(projectAll(place)).rejects.toThrow(
      /the tables stand at step 132, .* of another log than this one \(.*\): give the log they were made from, or run "tonstream rebuild"/,
    );
  });

  it('of another version are refused, until they are rebuilt', async () => {
    const place = { folder: join(home, 'good'), database: 'version' };
    await projectAll(place);
    const clickhouse = tables(place.database);
    await clickhouse.command('ALTER TABLE projection_state UPDATE version = 7777 WHERE 1', {
      settings: { mutations_sync: '2' },
    });
    await expect(projectAll(place)).rejects.toThrow(/projection version 7777.* run "tonstream rebuild"/);
    await run(runRebuild, place);
    expect(await tableHashes(clickhouse)).toEqual(good);
    await projectAll(place);
  });
});
