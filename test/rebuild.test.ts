import { hash } from 'node:crypto';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ClickHouse } from '../clickhouse/client.ts';
import { blockTransactions } from '../src/chain/accounts.ts';
import { decodeBlock } from '../src/chain/block.ts';
import { openBoc } from '../src/chain/boc.ts';
import { crc32c } from '../src/chain/crc.ts';
import { openParts } from '../src/commands/parts.ts';
import { runRebuild } from '../src/commands/rebuild.ts';
import type { Running } from '../src/commands/running.ts';
import { runVerify } from '../src/commands/verify.ts';
import { decodeDeadLetter } from '../streams/dead-letters.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import { encodeBlockRecord } from '../streams/envelope.ts';
import { checkBlock } from '../streams/ingest/check.ts';
import type { Step } from '../streams/steps.ts';
import { topicNames } from '../streams/topics.ts';
import { isLong, rounds } from './chance.ts';
import { startClickHouseProxy } from './clickhouse-proxy.ts';
import { type CommandLine, importSequence, openCommandLine, type Place, stepsOf } from './command-line.ts';
import { runTonstream, waitFor } from './processes.ts';
import { readSequence, sequenceFile, writeSequence } from './recorded-sequence.ts';
import { shelf } from './shelf.ts';
import { tableDifferences, tableHashes } from './table-hashes.ts';
import { atEach, POSITIONS } from './window-positions.ts';

const topics = topicNames();
const SEQUENCE = 'mainnet-genesis_a';
/** All kinds of rows of this chain are there by then, in three batches. */
const LAST = rounds(60, 132);
/** Where the log ends at first for who is to go on. */
const FIRST = 30;
let at: CommandLine;
let file: string;
let good: Record<string, string>;
const closing: (() => Promise<void>)[] = [];

/** Where nobody else writes. */
const rebuildAlone = (running: Running): Promise<void> => runRebuild(running, [], 0);

/** The sequence up to a step. */
function sequenceTo(last: number): string {
  const lines = readSequence(sequenceFile(SEQUENCE));
  const cut = lines.findIndex(({ workchain, seqno }) => workchain === -1 && seqno === last) + 1;
  return writeSequence(join(at.home, `to-${last}.ndjson`), lines.slice(0, cut));
}

/** A log and tables of their own that end at the step `FIRST`. */
async function beginning(name: string): Promise<Place> {
  const place = { folder: join(at.home, name), database: name };
  cpSync(join(at.home, 'first'), place.folder, { recursive: true });
  await at.clone('first', name);
  return place;
}

beforeAll(async () => {
  if (shelf === null) return;
  at = await openCommandLine();
  const first = { folder: join(at.home, 'first'), database: 'first' };
  await importSequence(first.folder, sequenceTo(FIRST));
  await at.projectAll(first);
  const place = await beginning('good');
  file = sequenceTo(LAST);
  await importSequence(place.folder, file);
  await at.projectAll(place);
  good = await tableHashes(at.tables('good'));
});

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await at?.closeTables();
  await at?.dropOthers(['first', 'good']);
});

afterAll(() => at?.remove());

describe.skipIf(shelf === null)('tonstream rebuild', () => {
  it('makes the same tables, from damaged ones of another version, and they go on from there', async () => {
    const place = await beginning('grows');
    const clickhouse = at.tables(place.database);
    const before = await tableHashes(clickhouse);
    await clickhouse.command('TRUNCATE TABLE balances');
    await clickhouse.command('DELETE FROM transactions WHERE mc_seqno < 20');
    expect(await tableHashes(clickhouse)).not.toEqual(before);
    await clickhouse.command('ALTER TABLE projection_state UPDATE version = 7777 WHERE 1', {
      settings: { mutations_sync: '2' },
    });
    await expect(at.projectAll(place)).rejects.toThrow(/projection version 7777.* run "tonstream rebuild"/);
    const { printed } = await at.run(rebuildAlone, place);
    expect(printed).toContain(`up to masterchain block ${FIRST}`);
    expect(await tableHashes(clickhouse)).toEqual(before);
    await importSequence(place.folder, file);
    await at.projectAll(place);
    expect(await tableHashes(clickhouse)).toEqual(good);
  });

  it.each(isLong ? [1, 7, 20] : [20])('killed at exchange %i, it is finished at the next start', async (nth) => {
    const place = { folder: join(at.home, 'good'), database: `killed_${nth}` };
    const clickhouse = await at.clone('good', place.database);
    await clickhouse.command('TRUNCATE TABLE messages');
    let exchanges = 0;
    let rebuild: ReturnType<typeof runTonstream> | null = null;
    const proxy = await startClickHouseProxy(at.url, (sql) => {
      if (!sql.startsWith('EXCHANGE TABLES') || ++exchanges < nth) return false;
      rebuild?.child.kill('SIGKILL');
      return true;
    });
    rebuild = runTonstream('rebuild', ...at.words(place), '--clickhouse-url', proxy.url);
    await rebuild.ended;
    await proxy.close();
    expect(exchanges).toBe(nth);
    expect(await at.run(runVerify, place)).toMatchObject({ status: 0 });
    expect(await tableHashes(clickhouse)).toEqual(good);
  });

  it('is undone by no exchange whose answer had been lost and that is done late', async () => {
    const place = { folder: join(at.home, 'good'), database: 'undone' };
    const clickhouse = await at.clone('good', place.database);
    await clickhouse.command('TRUNCATE TABLE balances');
    expect(await tableDifferences(clickhouse, place.database, 'good')).toMatch(
      /^balances: 0 rows.*\n( {2}balances, only in good: \{"balance_":"\d+","account_":"[0-9A-F]{72}".*\}\n?)+$/,
    );
    let lost: string | null = null;
    const loses = await startClickHouseProxy(at.url, (sql) => {
      if (!sql.startsWith('EXCHANGE TABLES')) return false;
      lost ??= sql;
      return true;
    });
    await expect(at.run(rebuildAlone, place, loses.url)).rejects.toThrow('exchanging tables');
    await loses.close();
    const statement = String(lost);
    let refused = 0;
    const late = await startClickHouseProxy(at.url, async (sql) => {
      // The lost one is done only now, behind the one that was sent in its place.
      if (sql.startsWith('DROP DATABASE')) await clickhouse.command(statement).catch(() => refused++);
      return false;
    });
    expect(await at.run(runVerify, place, late.url)).toMatchObject({ status: 0 });
    expect(refused).toBe(1);
    await late.close();
    expect(await tableDifferences(clickhouse, place.database, 'good')).toBe('');
  });

  it('leaves the tables to a projector that begins when it was about to put others in their place', async () => {
    const place = { folder: join(at.home, 'good'), database: 'taken' };
    const clickhouse = await at.clone('good', place.database);
    const proxy = await startClickHouseProxy(at.url, async (sql) => {
      if (sql.startsWith('RENAME TABLE swap_list')) await at.projectAll(place);
      return false;
    });
    await expect(at.run(rebuildAlone, place, proxy.url)).rejects.toThrow('preparing the exchange of tables');
    await proxy.close();
    expect(await at.run(runVerify, place)).toMatchObject({ status: 0 });
    expect(await tableHashes(clickhouse)).toEqual(good);
  });

  it('lets a projector go on that runs, and stops it when the new tables take the place of the old', async () => {
    const place = await beginning('rivals');
    const longer = sequenceTo(40);
    const projector = runTonstream('project', '--sql', 'off', ...at.words(place));
    closing.push(() => projector.kill());
    await waitFor('the projector', projector, async () => projector.output().includes('projecting into'));
    const clickhouse = at.tables(place.database);
    const count = z.object({ n: z.coerce.number() });
    const number = async (sql: string) => (await clickhouse.json(sql, count))[0].n;
    await waitFor('its claim', projector, async () => (await number('SELECT count() AS n FROM projectors')) === 2);
    const step = () => number('SELECT max(mc_seqno) AS n FROM projection_state WHERE done');
    let grown = false;
    const proxy = await startClickHouseProxy(at.url, async (sql) => {
      if (grown || !sql.includes('FROM projection_state WHERE done')) return false;
      grown = true;
      // The new tables are empty still.
      await importSequence(place.folder, longer);
      await waitFor('what came meanwhile in the old tables', projector, async () => (await step()) === 40);
      return false;
    });
    const { printed } = await at.run(runRebuild, place, proxy.url);
    await proxy.close();
    expect(grown).toBe(true);
    expect(printed).toContain('up to masterchain block 40');
    await importSequence(place.folder, file);
    expect(await projector.ended).toBe(1);
    expect(projector.output()).toMatch(/another projector, started later, writes to database rivals/);
    await at.projectAll(place);
    expect(await tableHashes(clickhouse)).toEqual(good);
  });
});

describe.skipIf(shelf === null)('tonstream rebuild NAME', () => {
  const rebuildTraces = (running: Running) => runRebuild(running, ['traces'], 0);

  it.each(isLong ? ['contracts', 'statistics'] : [])('makes the tables of %s as they were', async (name) => {
    const place = { folder: join(at.home, 'good'), database: name };
    const clickhouse = await at.clone('good', name);
    await at.run((running) => runRebuild(running, [name], 0), place);
    expect(await tableDifferences(clickhouse, name, 'good')).toBe('');
  });

  it('makes the tables of one projection anew, those that read them too, and leaves the others', async () => {
    const place = { folder: join(at.home, 'good'), database: 'part' };
    const clickhouse = await at.clone('good', place.database);
    const ids = async () => {
      const row = z.object({ name: z.string(), uuid: z.string() });
      const sql = `SELECT name, toString(uuid) AS uuid FROM system.tables WHERE database = 'part' AND engine LIKE '%MergeTree'`;
      return new Map((await clickhouse.json(sql, row)).map(({ name, uuid }) => [name, uuid]));
    };
    const before = await ids();
    await clickhouse.command("INSERT INTO projection_versions VALUES ('traces', 7777)");
    await clickhouse.command('TRUNCATE TABLE actions');
    await clickhouse.command(
      "INSERT INTO traces SELECT * REPLACE ('failed' AS classification, 1 AS mc_seqno) FROM traces",
    );
    expect(await tableHashes(clickhouse)).not.toEqual(good);
    await expect(at.projectAll(place)).rejects.toThrow(
      /^traces is of version \d+, its tables of 7777: start the newer one that has made them, or run "tonstream rebuild traces" with the same settings$/,
    );
    const { printed } = await at.run(rebuildTraces, place);
    expect(printed).toContain(`rebuilt traces, statistics of part up to masterchain block ${LAST}`);
    expect(await tableDifferences(clickhouse, place.database, 'good')).toBe('');
    const after = await ids();
    const exchanged = [...before].filter(([name, id]) => after.get(name) !== id).map(([name]) => name);
    expect(exchanged.sort()).toEqual([
      'action_accounts',
      'action_doubts',
      'actions',
      'actions_by_id',
      'actions_by_type',
      'chain_statistics',
      'projection_versions',
      'subject_statistics',
      'trace_accounts',
      'traces',
      'traces_by_lt',
    ]);
    await at.projectAll(place);
    expect(await at.run(runVerify, place)).toMatchObject({ status: 0 });
  });

  it('goes as far as the other tables, with the batch that a killed projector had begun', async () => {
    const place = { folder: join(at.home, 'good'), database: 'begun' };
    const clickhouse = await at.clone('first', place.database);
    let inserts = 0;
    const dying: ClickHouse = {
      ...clickhouse,
      async insert(name, ...rest) {
        if (name === 'messages' && ++inserts === 2) throw new Error('killed');
        await clickhouse.insert(name, ...rest);
      },
    };
    await expect(at.projectAll(place, dying)).rejects.toThrow('killed');
    const { printed } = await at.run(rebuildTraces, place);
    expect(printed).toContain('up to masterchain block 56');
    await at.projectAll(place);
    expect(await tableHashes(clickhouse)).toEqual(good);
  });

  it('is told what there is when there is no such projection, no such database, and nothing is projected', async () => {
    const place = { folder: join(at.home, 'good'), database: 'empty' };
    await expect(at.run((running) => runRebuild(running, ['tracks']), place)).rejects.toThrow(
      'there is no projection "tracks"; rebuild takes contracts, traces, statistics, or nothing for all',
    );
    // A mistyped name is not a new database.
    await expect(at.run(rebuildTraces, place)).rejects.toThrow('"empty" has no tables of tonstream');
    await at.run(openParts, place);
    await expect(at.run(rebuildTraces, place)).rejects.toThrow('nothing is projected yet');
  });

  it('leaves tables as they are where the log is empty, as one of another name is', async () => {
    const place = await beginning('kept');
    const before = await tableHashes(at.tables(place.database));
    const log = openEmbeddedLog({ folder: join(at.home, 'nothing', 'log') });
    await log.close();
    await expect(at.run(rebuildAlone, { ...place, folder: join(at.home, 'nothing') })).rejects.toThrow(
      `the log has no step in ton.blocks.v1, and the tables go up to step ${FIRST}: nothing could be made anew`,
    );
    expect(await tableHashes(at.tables(place.database))).toEqual(before);
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
  const BROKEN = 45;
  const get = async (url: string) => {
    const response = await fetch(url);
    return { status: response.status, text: await response.text() };
  };

  it('is told of and left out, the next steps go on, and a rebuild repairs it', async () => {
    const place = { folder: join(at.home, 'broken'), database: 'broken' };
    const steps = await stepsOf(join(at.home, 'good'));
    const log = openEmbeddedLog({ folder: join(place.folder, 'log') });
    for (const step of steps) {
      const { blocks } = step.mcSeqno === BROKEN ? brokenStep(step) : step;
      await log.append(topics.blocks, blocks.map(encodeBlockRecord));
    }
    const service = runTonstream('start', '--network', 'none', '--port', '0', '--sql', 'off', ...at.words(place));
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
    const kept = { dataDir: place.folder, clickhouseUrl: at.url, database: place.database };
    await atEach(POSITIONS, kept, (server) => shows(server.url));
    await service.kill('SIGTERM');

    const letters = (await log.last(topics.dead, 10)).map((record) => decodeDeadLetter(record, topics.dead));
    expect(letters).toMatchObject([{ mcSeqno: BROKEN, projection: 'chain' }]);
    await log.close();
    const verified = await at.run(runVerify, place);
    expect(verified.printed).toMatch(new RegExp(`^gap: step ${BROKEN}: `, 'm'));
    // The decoder of the good log stands for one that was mended.
    await at.run(rebuildAlone, { ...place, folder: join(at.home, 'good') });
    expect(await tableHashes(at.tables(place.database))).toEqual(good);
  });
});

describe.skipIf(shelf === null)('tables that do not fit', () => {
  it('of another log are refused', async () => {
    const place = { folder: join(at.home, 'other'), database: 'other' };
    await importSequence(place.folder, sequenceFile('local-ton4j-2024_a'));
    await at.clone('good', place.database);
    await expect(at.projectAll(place)).rejects.toThrow(
      new RegExp(
        `the tables stand at step ${LAST}, .* of another log than this one \\(.*\\): give the log they were made from, or run "tonstream rebuild"`,
      ),
    );
  });
});
