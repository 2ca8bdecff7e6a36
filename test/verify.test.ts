import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ClickHouse } from '../clickhouse/client.ts';
import { tablesId } from '../clickhouse/tables-id.ts';
import { transactionForm } from '../src/api/v3/render/forms.ts';
import { openArchive } from '../src/archive/archive.ts';
import { openParts } from '../src/commands/parts.ts';
import type { Running } from '../src/commands/running.ts';
import { runVerify } from '../src/commands/verify.ts';
import { drawn, rounds } from './chance.ts';
import { startClickHouseProxy } from './clickhouse-proxy.ts';
import { type CommandLine, importSequence, openCommandLine, type Place } from './command-line.ts';
import { runTonstream } from './processes.ts';
import { readSequence, sequenceFile, writeSequence } from './recorded-sequence.ts';
import { shelf } from './shelf.ts';

const SEQUENCE = 'mainnet-genesis_a';
/** All kinds of rows of this chain are there by then. */
const LAST = rounds(60, 132);
/** Has messages on their way between steps, and many accounts. */
const PRIVATE = 'local-ton4j-2024_a';
let at: CommandLine;

beforeAll(async () => {
  if (shelf === null) return;
  at = await openCommandLine();
  const all = readSequence(sequenceFile(SEQUENCE));
  const end = all.findIndex(({ workchain, seqno }) => workchain === -1 && seqno === LAST) + 1;
  await importSequence(join(at.home, 'good'), writeSequence(join(at.home, 'good.ndjson'), all.slice(0, end)));
  await at.projectAll({ folder: join(at.home, 'good'), database: 'good' });
  // The tables at a half of the log.
  const half = { folder: join(at.home, 'private'), database: 'half' };
  const lines = readSequence(sequenceFile(PRIVATE));
  const cut = lines.findIndex(({ workchain }, n) => workchain === -1 && n > lines.length / 2) + 1;
  await importSequence(half.folder, writeSequence(join(at.home, 'half.ndjson'), lines.slice(0, cut)));
  await at.projectAll(half);
  await importSequence(half.folder, sequenceFile(PRIVATE));
});

afterEach(async () => {
  await at?.closeTables();
});

afterAll(() => at?.remove());

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

describe.skipIf(shelf === null)('tonstream verify beside an archive', () => {
  const place = (): Place => ({ folder: join(at.home, 'good'), database: 'good' });
  const verify = (running: Running) =>
    runVerify({ ...running, config: { ...running.config, archiveBytes: Number.POSITIVE_INFINITY } });

  /** One that has nothing of these steps, filled from these tables. */
  async function emptyArchive(tables: string): Promise<void> {
    const archive = openArchive(join(place().folder, 'archive'), transactionForm);
    const state = await archive.begin({ tables, globalId: -239, head: 20, below: null });
    await archive.add(state, [], { first: 1, head: 20, below: null });
    await archive.close();
  }

  it('holds it to the tables that it was filled from, not to those that a rebuild has put in their place', async () => {
    await emptyArchive(await tablesId(at.tables('good'), new AbortController().signal));
    const { status, printed } = await at.run(verify, place());
    expect(status).toBe(1);
    expect(printed).toMatch(/^differs: archive: 0 transactions in the steps 1 to 20, the tables have \d+$/m);
    await emptyArchive('others');
    const former = await at.run(verify, place());
    expect(former.status).toBe(0);
    expect(former.printed).toMatch(
      /^archive: not compared, it was filled from other tables, as those before a rebuild/m,
    );
  });
});

describe.skipIf(shelf === null)('tonstream verify', () => {
  const place = (): Place => ({ folder: join(at.home, 'good'), database: 'verified' });
  /** What is done to the tables, and the line that tells of it: each of another table in one round. */
  const changes: [sql: string, line: RegExp][][] = [
    [
      [
        'DELETE FROM transactions WHERE mc_seqno = 41',
        new RegExp(`^differs: steps 1 to ${LAST}: transactions: the log has \\d+, the tables have \\d+$`, 'm'),
      ],
      ['INSERT INTO shard_tops VALUES (41, 5, 1, 1)', new RegExp(`^differs: steps 1 to ${LAST}: shard tops`, 'm')],
      ['DELETE FROM blocks_by_hash WHERE mc_seqno = 41', /^differs: blocks_by_hash: /m],
    ],
    [
      [
        'DELETE FROM messages WHERE in_mc_seqno = 41',
        new RegExp(`^differs: steps 1 to ${LAST}: messages received`, 'm'),
      ],
      [
        'DELETE FROM transactions_by_hash WHERE lt = (SELECT max(lt) FROM transactions)',
        /^differs: transactions_by_hash: /m,
      ],
      [
        'DELETE FROM account_states_by_hash WHERE lt = (SELECT max(lt) FROM transactions)',
        /^differs: account_states_by_hash: /m,
      ],
      [
        'INSERT INTO transactions_by_external SELECT hash, lt, account, mc_seqno FROM transactions WHERE mc_seqno = 42',
        /^differs: transactions_by_external: /m,
      ],
    ],
    [
      [
        'INSERT INTO transactions_by_hash SELECT reverse(hash), account, lt - 1 FROM transactions WHERE mc_seqno = 41',
        /^differs: transactions_by_hash: /m,
      ],
      [
        'DELETE FROM messages_by_hash WHERE created_lt = (SELECT max(created_lt) FROM messages WHERE created_lt < 1e18)',
        /^differs: messages_by_hash: /m,
      ],
      ['DELETE FROM messages_by_time WHERE in_mc_seqno = 41', /^differs: messages_by_time: /m],
      [
        'DELETE FROM actions_by_type WHERE mc_seqno = (SELECT max(mc_seqno) FROM actions)',
        /^differs: actions_by_type: /m,
      ],
      ['TRUNCATE TABLE accounts', /^differs: accounts: /m],
    ],
    [
      [
        'INSERT INTO messages_by_hash SELECT reverse(hash), 18446744073709551615, hash FROM messages LIMIT 1',
        /^differs: messages_by_hash: /m,
      ],
      [
        'INSERT INTO balances SELECT balance + 1, account, lt, mc_seqno, 1 FROM accounts LIMIT 1',
        /^differs: balances: /m,
      ],
    ],
  ];

  it('finds good tables good', async () => {
    const { status, printed } = await at.run(runVerify, { ...place(), database: 'good' });
    expect(printed).toBe(`${LAST} steps compared up to masterchain block ${LAST}: 0 differences, 0 gaps`);
    expect(status).toBe(0);
    // Views are of who serves them: those of another service on this server stay as they are.
    const views = "SELECT count() AS n FROM system.tables WHERE engine = 'View' AND database = 'ton'";
    const counted = await at.tables('good').json(views, z.object({ n: z.coerce.number() }));
    expect(counted).toEqual([{ n: 0 }]);
  });

  it('finds no tables good that it has not compared', async () => {
    const elsewhere = { folder: join(at.home, 'elsewhere'), database: 'good' };
    await expect(at.run(runVerify, elsewhere)).rejects.toThrow('of another log than this one (the log ends before it)');
    const untouched = { ...place(), database: 'untouched' };
    // A mistyped name is not a new database.
    await expect(at.run(runVerify, untouched)).rejects.toThrow(
      '--clickhouse-database: "untouched" has no tables of tonstream (these have: good, half)',
    );
    const made = "SELECT count() AS n FROM system.databases WHERE name = 'untouched'";
    expect(await at.tables('good').json(made, z.object({ n: z.coerce.number() }))).toEqual([{ n: 0 }]);
    await at.run(openParts, untouched);
    const nothing = await at.run(runVerify, untouched);
    expect(nothing.printed).toContain(`differs: the tables hold no step of the log, which goes up to ${LAST}`);
    expect(nothing.status).toBe(1);
  });

  it.each(changes.map((some) => [some.map(([sql]) => sql).join('; '), some] as const))('%s', async (_, some) => {
    const clickhouse = await at.clone('good', place().database);
    for (const [sql] of some) await clickhouse.command(sql);
    const { status, printed } = await at.run(runVerify, place());
    for (const [, line] of some) expect(printed).toMatch(line);
    expect(status).toBe(1);
    await clickhouse.command(`DROP DATABASE ${place().database} SYNC`);
  });

  const unfinished: [what: string, without: RegExp, refused: string[]][] = [
    ['views of every second kind', /_to_(id|lt|hash|source|step)$/, ['messages']],
    ['balances and all views', /_to_/, ['balances']],
    ['views of the other kinds', /_to_(time|state|destination|body|external)$/, ['shard_tops']],
    ['newest states', /^$/, ['accounts', 'balances']],
  ];
  it.each(drawn(unfinished, unfinished.length).slice(0, rounds(1, unfinished.length)))(
    'leaves out a batch that was not finished, here without its %s',
    async (_, without, refused) => {
      const place = { folder: join(at.home, 'private'), database: `unfinished_${refused.join('_')}` };
      const clickhouse = await at.clone('half', place.database);
      const views = (
        await clickhouse.json(
          "SELECT name FROM system.tables WHERE engine = 'MaterializedView' AND database = currentDatabase()",
          z.object({ name: z.string() }),
        )
      ).filter(({ name }) => without.test(name));
      for (const { name } of views) await clickhouse.command(`DETACH TABLE ${name}`);
      await expect(at.projectAll(place, refusing(clickhouse, refused))).rejects.toThrow(
        `${refused.join(' and ')} is refused`,
      );
      for (const { name } of views) await clickhouse.command(`ATTACH TABLE ${name}`);
      expect(await lastStep(clickhouse, 'transactions')).toBeGreaterThan(
        await lastStep(clickhouse, 'projection_state'),
      );
      const { status, printed } = await at.run(runVerify, place);
      expect(printed).toMatch(
        /^a batch up to step \d+ was begun and not finished: the projector will repeat it\n\d+ steps compared up to masterchain block \d+: 0 differences, 0 gaps$/,
      );
      expect(status).toBe(0);
      const first = '(SELECT min(mc_seqno) FROM blocks)';
      await clickhouse.command(`DELETE FROM blocks_by_time WHERE mc_seqno = ${first}`);
      expect(await at.run(runVerify, place)).toMatchObject({
        status: 1,
        printed: expect.stringContaining('1 differences'),
      });
      await clickhouse.command(
        `INSERT INTO blocks_by_time SELECT gen_utime, workchain, shard, seqno, mc_seqno, start_lt FROM blocks WHERE mc_seqno = ${first}`,
      );
      await at.projectAll(place);
      expect(await at.run(runVerify, place)).toMatchObject({
        status: 0,
        printed: expect.not.stringContaining('begun'),
      });
    },
  );

  it('does not compare the newest states when a projector writes them meanwhile', async () => {
    const [done, balances] = ['done ORDER BY number DESC LIMIT 1', 'FROM balances'];
    const clickhouse = await at.clone('good', place().database);
    const proxy = await startClickHouseProxy(at.url, async (sql) => {
      if (!sql.includes('AS expected') || !sql.includes(balances)) return false;
      await clickhouse.command('TRUNCATE TABLE accounts');
      await clickhouse.command(
        `INSERT INTO projection_state SELECT * REPLACE (number + 1 AS number) FROM projection_state WHERE ${done}`,
      );
      return false;
    });
    const { status, printed } = await at.run(runVerify, place(), proxy.url);
    await proxy.close();
    expect(printed).toMatch(/^not compared: accounts, while a projector writes it\nnot compared: balances, /);
    expect(status).toBe(0);
    await clickhouse.command(`DROP DATABASE ${place().database} SYNC`);
  });

  it('waits for ClickHouse when that goes away while it begins', async () => {
    const away = [/^SELECT number, statement/, /name = 'swap'/].map((statement) => ({ statement, times: 0 }));
    const proxy = await startClickHouseProxy(at.url, (sql) =>
      away.some((one) => one.statement.test(sql) && ++one.times < 3),
    );
    expect(await at.run(runVerify, { ...place(), database: 'good' }, proxy.url)).toMatchObject({ status: 0 });
    for (const { statement, times } of away) expect(times, String(statement)).toBeGreaterThan(2);
    await proxy.close();
  });

  it('ends the process with that status', async () => {
    const verify = runTonstream('verify', ...at.words({ ...place(), database: 'good' }));
    expect(await verify.ended).toBe(0);
    const clickhouse = await at.clone('good', place().database);
    await clickhouse.command('TRUNCATE TABLE blocks_by_id');
    const failing = runTonstream('verify', ...at.words(place()));
    expect(await failing.ended).toBe(1);
    expect(failing.output()).toContain('differs: blocks_by_id: 0 rows');
  });
});
