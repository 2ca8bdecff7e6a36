/** Hours and days of a devnet whose steps are minutes apart, held to what other queries say of the same rows. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type ClickHouse, createClickHouse } from '../clickhouse/client.ts';
import { type ActionRow, actions } from '../clickhouse/tables/actions.ts';
import { blockRow, blocks } from '../clickhouse/tables/blocks.ts';
import { MIGRATED, startMigratedServer } from '../clickhouse/test-schema.ts';
import { silent, type TestServer } from '../clickhouse/test-server.ts';
import { makeViews } from '../clickhouse/views/all.ts';
import { runRebuild } from '../src/commands/rebuild.ts';
import { runVerify } from '../src/commands/verify.ts';
import { compareStatistics } from '../src/commands/verify-statistics.ts';
import { readConfig } from '../src/config.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import type { EventLog } from '../streams/log.ts';
import { newCounters } from '../streams/project/counters.ts';
import { project } from '../streams/project/projector.ts';
import { statistics } from '../streams/project/statistics.ts';
import { createStepRows } from '../streams/project/step-rows.ts';
import { topicNames } from '../streams/topics.ts';
import { readerStatements, statements, withTimes } from './boards.ts';
import { isLong, random, rounds } from './chance.ts';
import { cloneTables } from './cloned-tables.ts';
import { runCommand } from './command-line.ts';
import { madeBlock } from './made-chain.ts';
import { createPeopledDevnet, logWithCells } from './peopled-devnet.ts';
import { describeStatsApi, sourceAt } from './statistics/api.ts';
import { tableHashes } from './table-hashes.ts';

const topics = topicNames();
/**
 * Hours that end, one at midnight: five steps around each end, 20 seconds before it and 20, 60, 100 and 140 behind it,
 * then nearly an hour of nothing.
 */
const STEPS = rounds(24, 34);
const FIRST_END = 2_800;
const secondsOf = (mcSeqno: number): number => FIRST_END - 20 + Math.floor(mcSeqno / 5) * 3_600 + (mcSeqno % 5) * 40;

const HOURS = rounds(4, 6);

let home: string;
let server: TestServer;
let log: EventLog;
let good: ClickHouse;
const opened: ClickHouse[] = [];

function connect(database: string): ClickHouse {
  const clickhouse = createClickHouse({ url: server.server.url, database, logger: silent });
  opened.push(clickhouse);
  return clickhouse;
}

function projectInto(clickhouse: ClickHouse, batchSteps: number): Promise<void> {
  const config = { ...readConfig([], {}).config, batchSteps };
  const options = { log, topics, clickhouse, config, logger: silent, stopAtEnd: true };
  return project(options, new AbortController().signal);
}

/** Notes what is asked of these tables, by its label. */
function hearing(clickhouse: ClickHouse): { heard: ClickHouse; labels: string[] } {
  const labels: string[] = [];
  const query: ClickHouse['query'] = (sql, options) => {
    labels.push(options?.label ?? '');
    return clickhouse.query(sql, options);
  };
  return { heard: { ...clickhouse, query }, labels };
}

function openStatistics(clickhouse: ClickHouse) {
  const parts = { config: readConfig([], {}).config, counters: newCounters(), logger: silent, name: () => undefined };
  return statistics.open({ ...parts, clickhouse });
}

/** Empty tables. */
async function fresh(database: string): Promise<ClickHouse> {
  const clickhouse = connect(database);
  await cloneTables(clickhouse, MIGRATED);
  return clickhouse;
}

function command(run: Parameters<typeof runCommand>[0], database: string) {
  const words = ['--data-dir', home, '--clickhouse-url', server.server.url, '--clickhouse-database', database];
  return runCommand(run, readConfig([...words, '--log-level', 'silent'], {}).config);
}

/** The output for errors as a terminal. */
function terminal(): { shown: string[]; restore: () => void } {
  const shown: string[] = [];
  const { stderr } = process;
  const { isTTY } = stderr;
  const write = vi.spyOn(stderr, 'write').mockImplementation((text) => shown.push(String(text)) > 0);
  stderr.isTTY = true;
  const restore = (): void => {
    stderr.isTTY = isTTY;
    write.mockRestore();
  };
  return { shown, restore };
}

const verify = async (database: string): Promise<string> => (await command(runVerify, database)).printed;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'tonstream-statistics-'));
  server = await startMigratedServer();
  const devnet = await createPeopledDevnet('statistics', 6, { secondsOf });
  log = openEmbeddedLog({ folder: join(home, 'log') });
  await logWithCells(devnet, log, topics, STEPS);
  devnet.close();
  good = await fresh('good');
  // So that each batch is assembled before the one before it is written.
  const slow: ClickHouse = {
    ...good,
    async insert(table, ...rest) {
      if (table === blocks.name) await sleep(300);
      await good.insert(table, ...rest);
    },
  };
  await projectInto(slow, 7);
  await makeViews(good, 'ton', new AbortController().signal);
});

afterAll(async () => {
  for (const clickhouse of opened) await clickhouse.close();
  await log?.close();
  await server?.remove();
  rmSync(home, { recursive: true, force: true });
});

const rowsOf = (sql: string): Promise<Record<string, unknown>[]> => good.json(sql, z.record(z.string(), z.unknown()));
/** Of a bucket that was counted again the newest rows count. */
const NEWEST = (what: 'chain' | 'subject') => {
  const kind = what === 'chain' ? 'resolution' : 'kind';
  const name = `${what}_statistics`;
  return `AND (${kind}, bucket, mc_seqno) IN (SELECT ${kind}, bucket, max(mc_seqno) FROM ${name} GROUP BY ${kind}, bucket)`;
};
const KEPT = (resolution: string, columns: string) =>
  `SELECT bucket, ${columns} FROM chain_statistics FINAL WHERE resolution = '${resolution}' ${NEWEST('chain')} ORDER BY bucket`;
const OVER = (column: string, size: number) =>
  `${column} < (SELECT intDiv(max(gen_utime) - 120, ${size}) * ${size} FROM blocks WHERE workchain = -1)`;

describe('statistics', () => {
  /** Nobody has traded at an exchange yet. */
  const filled = statements.filter(({ sql }) => !sql.includes('dex_trades'));
  it.each(filled)('fill the panel $title', async ({ sql }) => {
    const [{ first, last }] = await good.json(
      'SELECT min(gen_utime) AS first, max(gen_utime) AS last FROM blocks',
      z.object({ first: z.number(), last: z.number() }),
    );
    const rows = await rowsOf(withTimes(sql, Math.floor(first / 86_400) * 86_400, last));
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.flatMap((row) => Object.values(row)).filter((value) => value !== null)).not.toEqual([]);
  });

  it.each(readerStatements)('of the reader of the boards are understood: %s', async (_, sql) => {
    const [first] = await good.json(`EXPLAIN AST ${sql}`, z.object({ explain: z.string() }));
    expect(first.explain).toMatch(/^(?:CreateSettingsProfileQuery|CreateUserQuery|GrantQuery|Create|Grant)/);
  });

  it.each([
    ['hour', 3600],
    ['day', 86400],
  ])('of each %s that is over are what the transactions say', async (resolution, size) => {
    const counted = await rowsOf(
      `SELECT toUInt32(intDiv(now, ${size}) * ${size}) AS bucket, count() AS transactions, countIf(aborted) AS failed,
         toString(sum(total_fees)) AS fees, uniqExact(account) AS active_accounts, countIf(hash = trace_id) AS traces
       FROM transactions FINAL WHERE ${OVER('now', size)} GROUP BY bucket ORDER BY bucket`,
    );
    const columns = 'transactions, failed, toString(fees) AS fees, active_accounts, traces';
    expect(await rowsOf(KEPT(resolution, columns))).toEqual(counted);
    expect(counted.length).toBe(resolution === 'hour' ? HOURS : 1);
  });

  it('count messages, value and blocks as the tables of these have them', async () => {
    const time = 'toUInt32(intDiv(t.now, 3600) * 3600) AS bucket';
    const received = await rowsOf(
      `SELECT ${time}, countIf(source = toFixedString('', 36)) AS external_in,
         toString(sumIf(value, source != toFixedString('', 36))) AS value
       FROM messages AS m FINAL JOIN transactions AS t ON t.hash = m.in_tx_hash
       WHERE in_mc_seqno > 0 AND ${OVER('t.now', 3600)} GROUP BY bucket ORDER BY bucket`,
    );
    expect(await rowsOf(KEPT('hour', 'external_in, toString(value) AS value'))).toEqual(received);
    const made = await rowsOf(
      `SELECT toUInt32(intDiv(gen_utime, 3600) * 3600) AS bucket, count() AS blocks FROM blocks FINAL
       WHERE ${OVER('gen_utime', 3600)} GROUP BY bucket ORDER BY bucket`,
    );
    expect(await rowsOf(KEPT('hour', 'blocks'))).toEqual(made);
  });

  it('tell of opcodes, jettons and actions what the messages, transfers and actions say', async () => {
    const kept = (kind: string, columns: string) =>
      `SELECT bucket, subject, ${columns} FROM subject_statistics FINAL WHERE kind = '${kind}' AND count > 0 ${NEWEST('subject')} ORDER BY bucket, subject`;
    const opcodes = await rowsOf(
      `SELECT toUInt32(intDiv(created_at, 3600) * 3600) AS bucket,
         if(opcode IS NULL, '', concat('0x', lower(leftPad(hex(assumeNotNull(opcode)), 8, '0')))) AS subject, count() AS count,
         uniqExact(source) AS senders, uniqExact(destination) AS receivers
       FROM messages FINAL WHERE source != toFixedString('', 36) AND destination != toFixedString('', 36)
         AND out_mc_seqno > 0 AND ${OVER('created_at', 3600)} GROUP BY bucket, subject ORDER BY bucket, subject`,
    );
    expect(await rowsOf(kept('opcode', 'count, senders, receivers'))).toEqual(opcodes);
    const jettons = await rowsOf(
      `SELECT toUInt32(intDiv(transaction_now, 3600) * 3600) AS bucket, hex(substring(jetton_master, 5)) AS id,
         count() AS count, toString(sumIf(amount, NOT transaction_aborted)) AS amount FROM jetton_transfers FINAL
       WHERE ${OVER('transaction_now', 3600)} GROUP BY bucket, id ORDER BY bucket, id`,
    );
    const ofJettons = await rowsOf(
      `SELECT bucket, splitByChar(':', subject)[2] AS id, count, toString(amount) AS amount FROM subject_statistics FINAL
       WHERE kind = 'jetton' ${NEWEST('subject')} ORDER BY bucket, id`,
    );
    expect(ofJettons).toEqual(jettons);
    expect(jettons.length).toBeGreaterThan(2);
    const types = await rowsOf(
      `SELECT toUInt32(intDiv(trace_end_utime, 3600) * 3600) AS bucket, type AS subject, count() AS count,
         countIf(NOT success) AS failed FROM ton.actions
       WHERE NOT is_part AND ${OVER('trace_end_utime', 3600)} GROUP BY bucket, subject ORDER BY bucket, subject`,
    );
    expect(await rowsOf(kept('action', 'count, failed'))).toEqual(types);
    expect(types.length).toBeGreaterThan(5);
  });

  it.each(isLong ? [1, 40] : [1])(
    'are the same in batches of %i steps as in some that are assembled before those before them are written',
    async (batchSteps) => {
      const other = await fresh(`batches_${batchSteps}`);
      const { heard, labels } = hearing(other);
      await projectInto(heard, batchSteps);
      const ahead = labels.filter((label) => label.startsWith('counting ahead the hour'));
      // Into two tables, the empty hour before the first step, too. In a batch of many an hour is over and counted at once.
      expect(ahead.length).toBe(batchSteps === 1 ? 2 * (HOURS + 1) : 0);
      expect(await tableHashes(other)).toEqual(await tableHashes(good));
    },
  );

  it('are not counted ahead for a batch of which nothing can be decoded', async () => {
    const { heard, labels } = hearing(good);
    const { signal } = new AbortController();
    const open = openStatistics(heard);
    for (const rows of [[], [createStepRows(23)]]) {
      const batch = await open.begin({ number: 1, firstMcSeqno: 24 }, [], signal);
      const step = madeBlock({ mcSeqno: 23, utime: 1_700_000_000 + secondsOf(23) });
      rows[0]?.add(blocks, blockRow(step, Buffer.alloc(0)));
      await batch.project(rows);
      await batch.count?.(signal);
      expect(labels.length > 0).toBe(rows.length > 0);
    }
    await open.close?.();
  });

  it('are the same after a projector that ended behind any statement that counts', async () => {
    const other = await fresh('ended');
    for (let nth = 1 + random(4); ; nth += 4) {
      let statements = 0;
      const ending: ClickHouse = {
        ...other,
        async command(sql, options) {
          await other.command(sql, options);
          if (sql.startsWith('INSERT INTO') && ++statements === nth) throw new Error('ended');
        },
        async insert(table, ...rest) {
          await other.insert(table, ...rest);
          if (table.endsWith('_statistics') && ++statements === nth) throw new Error('ended');
        },
      };
      const ended = await projectInto(ending, 2).then(
        () => false,
        (error: Error) => {
          expect(error.message).toBe('ended');
          return true;
        },
      );
      if (!ended) break;
    }
    expect((await tableHashes(other)).chain_statistics).toBe((await tableHashes(good)).chain_statistics);
    expect((await tableHashes(other)).subject_statistics).toBe((await tableHashes(good)).subject_statistics);
  });

  it('have no actions of an hour whose actions are all told again as none', async () => {
    const { signal } = new AbortController();
    const retold = connect('retold');
    await cloneTables(retold, 'good');
    const mcSeqno = STEPS + 1;
    const [{ hour }] = await retold.json(
      "SELECT min(bucket) AS hour FROM subject_statistics WHERE kind = 'action'",
      z.object({ hour: z.number() }),
    );
    const ofHour = `trace_end_utime >= ${hour} AND trace_end_utime < ${hour + 3_600}`;
    await retold.command(
      `INSERT INTO actions SELECT * REPLACE (${mcSeqno} AS mc_seqno, '' AS type, [] AS ancestors) FROM actions WHERE ${ofHour}`,
    );
    const rows = createStepRows(mcSeqno);
    rows.add(blocks, blockRow(madeBlock({ mcSeqno, utime: 1_700_000_000 + secondsOf(STEPS) }), Buffer.alloc(0)));
    rows.add(actions, { traceEndUtime: hour } as ActionRow);
    const open = openStatistics(retold);
    const batch = await open.begin({ number: 1, firstMcSeqno: mcSeqno }, [], signal);
    await batch.project([rows]);
    await batch.count?.(signal);
    await open.close?.();

    const told = await sourceAt(retold, mcSeqno).statistics.subjects(
      {
        resolution: 'hour',
        range: () => ({ from: hour, to: hour + 3_600 }),
        kind: 'action',
        subject: undefined,
        limit: 256,
      },
      { signal, timeoutMs: 10_000 },
    );
    expect(told?.points.map(({ value }) => value)).toEqual([[]]);
    expect(await compareStatistics(retold, mcSeqno, signal)).toEqual([]);
    await makeViews(retold, 'ton_retold', signal);
    const seen = `SELECT count() AS types FROM ton_retold.hourly_actions WHERE hour = ${hour} SETTINGS log_comment = '${mcSeqno}'`;
    expect(await rowsOf(seen)).toEqual([{ types: '0' }]);
  });

  it('are found right by verify, which shows how far it is with each part', async () => {
    const { shown, restore } = terminal();
    try {
      expect(await verify('good')).toContain('0 differences');
    } finally {
      restore();
    }
    expect(shown.join('')).toMatch(/\rverifying .*\rcomparing tables .*\rcounting statistics anew /s);
  });

  it('are recounted by verify', async () => {
    const changed = connect('changed');
    await cloneTables(changed, 'good');
    for (const sql of [
      "DELETE FROM chain_statistics WHERE resolution = 'day'",
      "INSERT INTO chain_statistics SELECT * REPLACE (fees + 1 AS fees) FROM chain_statistics WHERE resolution = 'hour' LIMIT 1",
      "DELETE FROM subject_statistics WHERE kind = 'jetton'",
      'DELETE FROM actions WHERE mc_seqno < 15',
    ]) {
      await changed.command(sql);
    }
    const found = [...(await verify(changed.database)).matchAll(/^differs: (\w+_statistics (?:by|of) \w+) of /gm)];
    // Each by one of the changes.
    expect([...new Set(found.map(([, what]) => what))].sort()).toEqual([
      'chain_statistics by day',
      'chain_statistics by hour',
      'subject_statistics of actions',
      'subject_statistics of jettons',
    ]);
  });

  /** Of everything, or over the other tables as they are. */
  const rebuilds: string[][] = isLong ? [[], ['statistics']] : [random(2) === 0 ? [] : ['statistics']];
  it.each(rebuilds.map((names) => [names]))('are made again by a rebuild of %j', async (names) => {
    const before = await tableHashes(good);
    await good.command('TRUNCATE TABLE chain_statistics');
    await command((running) => runRebuild(running, names, 0), 'good');
    expect(await tableHashes(good)).toEqual(before);
  });
});

describe('/api/stats', () => describeStatsApi(() => good, STEPS));
