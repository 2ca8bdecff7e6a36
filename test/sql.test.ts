/** SQL by HTTP over recorded blocks: what it answers, and what it must not do. */
import { isUtf8 } from 'node:buffer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { textLiteral as literal } from '../clickhouse/literal.ts';
import { phaseColumns } from '../clickhouse/tables/phases.ts';
import { columnNames } from '../clickhouse/tables/sql.ts';
import { EXAMPLES } from '../src/api/sql/examples.ts';
import { runRebuild } from '../src/commands/rebuild.ts';
import { readConfig } from '../src/config.ts';
import { statements, withTimes } from './boards.ts';
import { random, rounds } from './chance.ts';
import { runCommand } from './command-line.ts';
import { shelf } from './shelf.ts';
import { compareWithSql } from './sql/agreement.ts';
import { describeExports } from './sql/exports.ts';
import { fuzz } from './sql/fuzzing.ts';
import { describeRefusals } from './sql/refusals.ts';
import { ask, type SqlService, startSql } from './sql/service.ts';

const FUZZED = rounds(300, 1_000_000);
const SEVERAL = rounds(3, 200);
const HOURLY = 120;

/** Columns of messages that are there for analysts alone. */
const MESSAGE_FACTS = [
  ...['traceId', 'inNow', 'ihrDisabled', 'bounce', 'bounced', 'fwdFee', 'ihrFeeOrFlags', 'importFee', 'initHash'],
  'comment',
];

let service: SqlService;

const answer = z.object({
  mc_seqno: z.number(),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  rows: z.array(z.array(z.unknown())),
  truncated: z.boolean(),
  rows_read: z.number(),
  elapsed_ms: z.number(),
});
const refusal = z.object({ error: z.string() });

async function rowsOf(sql: string, more: object = {}): Promise<unknown[][]> {
  const { status, text } = await ask(service, { sql, ...more });
  if (status !== 200) throw new Error(`${status} ${text}`);
  return answer.parse(JSON.parse(text)).rows;
}

const listed = z.object({ transactions: z.array(z.object({ account: z.string(), mc_block_seqno: z.number() })) });

/** Column by column, for steps and accounts that some of these transactions are of. */
async function agree(transactions: z.output<typeof listed>['transactions']): Promise<void> {
  const { api, head } = service;
  // Of some steps the masterchain block was not recorded: v3 does not show them as such.
  const steps = await rowsOf('SELECT DISTINCT mc_block_seqno FROM ton.blocks WHERE workchain = -1 AND tx_count > 0');
  for (let i = 0; i < SEVERAL; i++) {
    const from = Number(steps[random(steps.length)][0]);
    const { account } = transactions[random(transactions.length)];
    for (const of of [{ from, to: from }, { account }]) {
      const key = `agree-${from}-${account}`;
      const { differences, ...counts } = await compareWithSql({ url: api.url, key, of, head });
      expect(differences).toEqual([]);
      expect(counts.transactions).toBeGreaterThan(0);
    }
  }
}

const v3 = async (path: string): Promise<unknown> => (await fetch(`${service.api.url}/api/v3/${path}`)).json();

describe.skipIf(shelf === null)('SQL', () => {
  beforeAll(async () => {
    const hourly = ['--sql-hourly-queries', String(HOURLY)];
    service = await startSql([...hourly, '--sql-timeout-ms', '3000', '--sql-memory', '100M', '--sql-rows', '5000']);
  });
  afterAll(() => service?.close());

  describe('answers', () => {
    it('as the API does about transactions', async () => {
      const schema = z.object({
        transactions: z.array(
          z.object({
            account: z.string(),
            hash: z.string(),
            lt: z.string(),
            mc_block_seqno: z.number(),
            account_state_after: z.object({ balance: z.string().nullable(), code_hash: z.string().nullable() }),
          }),
        ),
      });
      const { transactions } = schema.parse(await v3('transactions?limit=1000&sort=asc'));
      expect(transactions.length).toBeGreaterThan(500);
      await agree(transactions);
      for (let i = 0; i < SEVERAL; i++) {
        const one = transactions[random(transactions.length)];
        const [[hash, balance, code]] = await rowsOf(
          `SELECT hash, account_state_balance_after, account_state_code_hash_after
           FROM ton.account_transactions WHERE account = {a:String} AND lt = {lt:UInt64}`,
          { params: { a: one.account, lt: one.lt } },
        );
        expect(hash).toBe(one.hash);
        // Of states that the log has not shown the API knows the status alone.
        if (balance === null) continue;
        // An account that is gone has nothing.
        const { balance: told, code_hash: known } = one.account_state_after;
        expect([balance, code]).toEqual([told ?? '0', known]);
      }
    });

    it('as the API does about jettons and actions', async () => {
      const transfers = z.object({
        jetton_transfers: z.array(
          z.object({
            transaction_lt: z.string(),
            amount: z.string(),
            jetton_master: z.string(),
            source: z.string(),
            destination: z.string(),
          }),
        ),
      });
      const told = transfers.parse(await v3('jetton/transfers?limit=1000'));
      const found = await rowsOf(
        "SELECT tx_lt, amount, jetton_master, source, destination FROM ton.jetton_events WHERE type = 'transfer'",
      );
      const listed = told.jetton_transfers.map((one) => [
        one.transaction_lt,
        one.amount,
        one.jetton_master,
        one.source,
        one.destination,
      ]);
      expect(found.toSorted()).toEqual(listed.toSorted());
      const actions = z.object({
        actions: z.array(z.object({ action_id: z.string(), type: z.string(), success: z.boolean() })),
      });
      const listedActions = actions.parse(
        await v3('actions?limit=1000&supported_action_types=latest&include_accounts=false'),
      );
      const own = new Map(
        (await rowsOf('SELECT action_id, success FROM ton.actions')).map(([id, success]) => [id, success]),
      );
      const both = listedActions.actions.filter(({ action_id }) => own.has(action_id));
      expect(both.map(({ action_id, success }) => [action_id, success])).toEqual(
        both.map(({ action_id }) => [action_id, own.get(action_id)]),
      );
    });

    it.each([
      ['blocks', 'seqno, workchain, shard, root_hash', 'seqno, root_hash'],
      ['transactions', 'now, hash, account, total_fees', 'now, hash'],
      ['account_transactions', 'lt, account, hash, in_value', 'lt, account'],
      ['jetton_balances', 'lt, jetton_wallet, owner, amount', 'lt, jetton_wallet'],
    ])('a page of %s further down, in an order of its own', async (view, columns, order) => {
      const page = (limits: string) => rowsOf(`SELECT ${columns} FROM ton.${view} ORDER BY ${order} LIMIT ${limits}`);
      expect(await page('5 OFFSET 3')).toEqual((await page('8')).slice(3));
    });

    it('by reading what a condition on an account or a step leaves', async () => {
      const read = async (sql: string): Promise<number> =>
        answer.parse(JSON.parse((await ask(service, sql)).text)).rows_read;
      await service.owner.command('OPTIMIZE TABLE transactions FINAL');
      const [[account, seqno]] = await rowsOf(
        'SELECT account, mc_block_seqno FROM ton.transactions ORDER BY lt LIMIT 1',
      );
      const whole = await read('SELECT max(hash) FROM ton.account_transactions');
      expect(await read(`SELECT max(hash) FROM ton.account_transactions WHERE account = '${account}'`)).toBeLessThan(
        whole / 2,
      );
      const all = await read('SELECT max(hash) FROM ton.transactions');
      expect(await read(`SELECT max(hash) FROM ton.transactions WHERE mc_block_seqno <= ${seqno}`)).toBeLessThan(all);
    });

    it('from columns that cost at most 120 bytes a transaction more', async () => {
      const { owner } = service;
      const own = Object.keys(phaseColumns);
      let sum = 0;
      for (const [table, added] of [
        ['transactions_by_lt', ['hash', 'traceId', 'aborted', 'totalFees', ...own]],
        ['transactions', own],
        ['messages', MESSAGE_FACTS],
      ] as const) {
        await owner.command(
          `CREATE TABLE measured AS ${table}
           SETTINGS min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0, index_granularity = 512`,
        );
        await owner.command(`INSERT INTO measured SELECT * FROM ${table} FINAL`);
        const [{ bytes }] = await owner.json(
          `SELECT sum(column_data_compressed_bytes) / (SELECT count() FROM transactions FINAL) AS bytes
           FROM system.parts_columns WHERE database = currentDatabase() AND table = 'measured' AND active
             AND column IN (${columnNames(added).map(literal).join(', ')})`,
          z.object({ bytes: z.number() }),
        );
        await owner.command('DROP TABLE measured');
        process.stderr.write(`SQL: ${bytes.toFixed(1)} bytes a transaction more in ${table}\n`);
        sum += bytes;
      }
      expect(sum).toBeGreaterThan(32);
      expect(sum).toBeLessThan(120);
    });

    it('of one step, now and as of an earlier one', async () => {
      const steps = (await rowsOf('SELECT DISTINCT mc_block_seqno FROM ton.blocks ORDER BY 1')).map(([seqno]) =>
        Number(seqno),
      );
      for (const seqno of [steps[0], steps[Math.floor(steps.length / 2)], service.head]) {
        const [[head]] = await rowsOf('SELECT mc_seqno FROM ton.head', { as_of: seqno });
        expect(head).toBe(seqno);
        for (const view of ['blocks', 'transactions', 'messages', 'account_transactions', 'actions']) {
          const [[counted]] = await rowsOf(`SELECT count() FROM ton.${view}`, { as_of: seqno });
          const [[direct]] = await rowsOf(`SELECT count() FROM ton.${view} WHERE mc_block_seqno <= ${seqno}`);
          expect([view, counted]).toEqual([view, direct]);
        }
      }
      const [{ n }] = await service.owner.json(
        'SELECT toUInt32(count()) AS n FROM transactions FINAL',
        z.object({ n: z.number() }),
      );
      expect(await rowsOf('SELECT toUInt32(count()) FROM ton.transactions')).toEqual([[n]]);
      expect((await ask(service, { sql: 'SELECT 1', as_of: service.head + 1 })).status).toBe(422);
    });

    it('in every format, and says when it left rows out', async () => {
      const sql = "SELECT number, 'a\"b,\n' AS text FROM (SELECT arrayJoin(range(12)) AS number)";
      const limited = { sql, limit: 10 };
      const json = answer.parse(JSON.parse((await ask(service, limited)).text));
      expect([json.rows.length, json.truncated, json.mc_seqno, json.rows[3]]).toEqual([
        10,
        true,
        service.head,
        [3, 'a"b,\n'],
      ]);
      // A limit is one of the whole answer.
      const numbers = (count: number) => `SELECT arrayJoin(range(${count})) AS n`;
      for (const [combined, rows, truncated] of [
        [`${numbers(9)} EXCEPT ${numbers(7)}`, [[7], [8]], false],
        [`${numbers(9)} INTERSECT SELECT arrayJoin([6, 8]) AS n`, [[6], [8]], false],
        [`${numbers(2)} UNION ALL ${numbers(9)}`, [[0], [1], [0]], true],
        [`WITH 8 AS a ${numbers(9)} UNION DISTINCT SELECT a`, [[0], [1], [2]], true],
        // The last ones, and what looks like it.
        [`${numbers(9)} ORDER BY n LIMIT -2`, [[7], [8]], false],
        [`${numbers(9)} ORDER BY n LIMIT 1 - 3`, [[7], [8]], false],
        [`${numbers(9)} ORDER BY n LIMIT {two:Int8}`, [[7], [8]], false],
        [`${numbers(9)} ORDER BY n LIMIT -2 OFFSET -3`, [[4], [5]], false],
        [`${numbers(9)} ORDER BY n DESC LIMIT -5`, [[4], [3], [2]], true],
        [`${numbers(9)} WHERE -1 ORDER BY n DESC`, [[8], [7], [6]], true],
        [`${numbers(9)} ORDER BY n LIMIT toInt8('-2')`, [[7], [8]], false],
        ['SELECT 1, 1 LIMIT -1', [[1, 1]], false],
        // A part of the rows, and rows that are as good as the last one.
        [`${numbers(8)} ORDER BY n LIMIT 0.5`, [[0], [1], [2]], true],
        [`${numbers(9)} ORDER BY n > 8, n > 9 LIMIT 1 WITH TIES`, [[0], [1], [2]], true],
        ['SELECT TOP 1 WITH TIES arrayJoin(range(9)) AS n ORDER BY n > 8', [[0], [1], [2]], true],
        [`${numbers(9)} ORDER BY n > 8 OFFSET 1 ROW FETCH FIRST 1 ROWS WITH TIES`, [[1], [2], [3]], true],
      ] as const) {
        const asked = { sql: combined, limit: 3, params: { two: -2 } };
        const told = answer.parse(JSON.parse((await ask(service, asked)).text));
        expect([combined, told.rows, told.truncated]).toEqual([combined, rows, truncated]);
      }
      const whole = answer.parse(JSON.parse((await ask(service, { sql, limit: 12 })).text));
      expect([whole.rows.length, whole.truncated]).toEqual([12, false]);
      expect(answer.parse(JSON.parse((await ask(service, { sql: 'SELECT 1 WHERE 0' })).text)).rows).toEqual([]);
      const lines = (await ask(service, { ...limited, format: 'ndjson' })).text.trimEnd().split('\n');
      expect(lines.map((line) => JSON.parse(line).number)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      const csv = await ask(service, { ...limited, format: 'csv' });
      expect(csv.headers.get('x-truncated')).toBe('true');
      expect(csv.text).toBe(`"number","text"\n${json.rows.map(([n]) => `${n},"a""b,\n"\n`).join('')}`);
      const parquet = await ask(service, { sql, format: 'parquet' });
      expect([parquet.bytes.subarray(0, 4).toString(), parquet.bytes.subarray(-4).toString()]).toEqual([
        'PAR1',
        'PAR1',
      ]);
      expect((await ask(service, { ...limited, format: 'parquet' })).status).toBe(400);
      const arrow = await ask(service, { sql, format: 'arrow' });
      expect(arrow.headers.get('content-type')).toContain('arrow');
      expect(arrow.bytes.readInt32LE(0)).toBe(-1);
      const get = await fetch(
        `${service.api.url}/api/sql?sql=${encodeURIComponent('SELECT {x:UInt8} + 1 AS a')}&param_x=4`,
      );
      expect([get.status, get.headers.get('x-mc-seqno')]).toEqual([200, String(service.head)]);
      const exposed = get.headers.get('access-control-expose-headers')?.split(', ');
      expect(exposed).toEqual(expect.arrayContaining(['Retry-After', 'X-Mc-Seqno', 'X-Truncated']));
      expect(answer.parse(await get.json()).rows).toEqual([[5]]);
    });

    it('text of any bytes as JSON, which is UTF-8', async () => {
      const { bytes } = await ask(service, "SELECT unhex('ff41')");
      expect(isUtf8(bytes)).toBe(true);
      expect(answer.parse(JSON.parse(bytes.toString())).rows).toEqual([['\ufffdA']]);
    });

    it('takes addresses in parameters in any form', async () => {
      const friendly = 'EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs';
      const raw = '0:B113A994B5024A16719F69139328EB759596C38A25F59028B146FECDC3621DFE';
      expect(
        await rowsOf('SELECT {a:String}, {b:Array(String)}', { params: { a: friendly, b: [friendly, 'x'] } }),
      ).toEqual([[raw, [raw, 'x']]]);
    });

    it('about no parameter that would be another one to the server', async () => {
      const status = async (params: object) => (await ask(service, { sql: 'SELECT {a:UInt64}', params })).status;
      // Digits beyond 2^53 are gone when JSON is read; the server takes what is left over of a number that is too large.
      expect(await status({ a: 2 ** 53 })).toBe(422);
      expect(await status({ a: String(2n ** 64n) })).toBe(422);
      expect(await rowsOf('SELECT {a:Float64}, {b:UInt64}', { params: { a: 0.5, b: String(2n ** 64n - 1n) } })).toEqual(
        [[0.5, '18446744073709551615']],
      );
      // Longer ones the server does not read.
      const texts = (text: string) => ask(service, { sql: 'SELECT length({a:String})', params: { a: text } });
      expect((await texts('x'.repeat(131_000))).status).toBe(200);
      for (const text of ['x'.repeat(132_000), "'".repeat(66_000)]) {
        const { status, text: told } = await texts(text);
        expect([status, refusal.parse(JSON.parse(told)).error]).toEqual([422, 'params.a: longer than 131072 bytes']);
      }
    });

    it.each(EXAMPLES.map((one) => [one.title, one] as const))('the example "%s"', async (_, { sql, params = {} }) => {
      const { status, text } = await ask(service, { sql, params });
      expect([status, text.slice(0, 300)]).toEqual([200, expect.any(String)]);
    });

    it.each(statements)('the panel $title', async ({ kind, sql }) => {
      const [[first, last]] = await rowsOf('SELECT min(gen_utime), max(gen_utime) FROM ton.blocks');
      // Hours and days count by where they begin.
      const from = Math.floor(Number(first) / 86_400) * 86_400;
      const { status, text } = await ask(service, withTimes(sql, from, Number(last)));
      expect([status, text.slice(0, 300)]).toEqual([200, expect.any(String)]);
      const { columns, rows } = answer.parse(JSON.parse(text));
      // No jetton and no trade is known in these blocks.
      const [[facts]] = await rowsOf(`SELECT toUInt32(count()) FROM ${/ton\.\w+/.exec(sql)?.[0]}`);
      expect(rows.length > 0).toBe(Number(facts) > 0);
      if (kind === 'stat') expect([rows.length, columns.length]).toEqual([1, 1]);
      expect(rows.filter((row) => row.includes(''))).toEqual([]);
      if (kind !== 'timeseries') return;
      expect(columns[0].type).toMatch(/^Date/);
      const times = rows.map(([time]) => String(time));
      expect(times).toEqual(times.toSorted());
      const figures = columns.slice(1).filter(({ type }) => /^(?:Nullable\()?(?:U?Int|Float)/.test(type));
      const texts = columns.slice(1).filter(({ type }) => /String/.test(type));
      expect(figures.length).toBeGreaterThan(0);
      expect(figures.length + texts.length).toBe(columns.length - 1);
    });

    it('its schema, of which every column has a type', async () => {
      const response = await fetch(`${service.api.url}/api/sql/schema`);
      const column = z.object({ name: z.string(), type: z.string(), meaning: z.string() });
      const schema = z.object({ views: z.array(z.object({ name: z.string(), columns: z.array(column) })) });
      const { views } = schema.parse(await response.json());
      expect(views.map(({ name }) => name)).toContain('ton.transactions');
    });

    it('as the API does after a rebuild, too', async () => {
      const { projected } = service;
      await service.owner.command('TRUNCATE TABLE transactions_by_lt');
      const words = ['--data-dir', projected.folder, '--clickhouse-url', projected.url, '--log-level', 'silent'];
      await runCommand((running) => runRebuild(running, [], 0), readConfig(words, {}).config);
      const { transactions } = listed.parse(await v3('transactions?limit=1000&sort=desc'));
      await agree(transactions);
    });
  });

  describe('refuses', () => describeRefusals(() => service, HOURLY));
  describe('exports', () => describeExports(() => service));

  it(`lets nothing through that reads beyond the views, of ${FUZZED} statements made of words of the grammar`, async () => {
    const { made, answers, findings } = await fuzz(service, { count: FUZZED, lanes: 2, draw: random });
    expect(findings).toEqual([]);
    expect(made).toBe(FUZZED);
    // Some three in a hundred are answered: what gets through would be seen.
    expect(answers[200]).toBeGreaterThan(0);
  }, 36_000_000);

  it('reports nothing as its own failure', () =>
    expect([...service.api.reported, ...service.reported].map(String).slice(0, 3)).toEqual([]));
});
