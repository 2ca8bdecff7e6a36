import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ClickHouse, createClickHouse } from '../client.ts';
import { migrate } from '../migrate.ts';
import { silent, startTestServer, type TestServer } from '../test-server.ts';
import { makeViews, VIEWS } from './all.ts';

const { signal } = new AbortController();
const column = z.object({ table: z.string(), name: z.string(), type: z.string() });

let test: TestServer;
let clickhouse: ClickHouse;

beforeAll(async () => {
  test = await startTestServer();
  clickhouse = createClickHouse({ url: test.server.url, database: 'declared', logger: silent });
  await migrate({ clickhouse, logger: silent });
  await makeViews(clickhouse, 'ton', signal);
});

afterAll(async () => {
  await clickhouse?.close();
  await test?.remove();
});

const columnsOf = async () =>
  await clickhouse.json(
    "SELECT table, name, type FROM system.columns WHERE database = 'ton' ORDER BY table, position",
    column,
  );

describe('the views', () => {
  it('have the columns that are declared', async () => {
    const found = await columnsOf();
    for (const view of VIEWS) {
      const names = found.filter(({ table }) => table === view.name).map(({ name }) => name);
      expect([view.name, names]).toEqual([view.name, Object.keys(view.columns)]);
      expect(Object.keys(view.columns)).toEqual(expect.arrayContaining([...(view.order ?? [])]));
    }
  });

  it('have values that every format of an answer knows', async () => {
    // Parquet writes wide integers as bytes.
    const types = new Set((await columnsOf()).map(({ type }) => type));
    expect([...types].filter((type) => /128|256|FixedString|Enum/.test(type.replace('Decimal128', '')))).toEqual([]);
  });

  it('show a message on its way to an account up to the step that receives it', async () => {
    // Sent in step 5, received in step 7.
    for (const received of [0, 7]) {
      await clickhouse.command(
        `INSERT INTO messages_by_destination (destination, created_lt, hash, out_mc_seqno, in_mc_seqno)
         VALUES (unhex('${'80000000'.padEnd(72, 'a')}'), 1, unhex('${'b'.repeat(64)}'), 5, ${received})`,
      );
    }
    const shown = (head: number) =>
      clickhouse.json(
        `SELECT direction, mc_block_seqno AS step FROM ton.account_messages SETTINGS log_comment = '${head}'`,
        z.object({ direction: z.string(), step: z.number() }),
      );
    expect(await Promise.all([4, 5, 6, 7, 8].map(shown))).toEqual([
      [],
      [{ direction: 'in', step: 5 }],
      [{ direction: 'in', step: 5 }],
      [{ direction: 'in', step: 7 }],
      [{ direction: 'in', step: 7 }],
    ]);
  });

  it('tell the time of the newest step that has blocks, where that of the head has none', async () => {
    await clickhouse.command('INSERT INTO blocks (mc_seqno, workchain, gen_utime) VALUES (5, -1, 100), (5, 0, 90)');
    const head = `SELECT mc_seqno, gen_utime FROM ton.head SETTINGS log_comment = '6'`;
    expect(await clickhouse.json(head, z.unknown())).toEqual([{ mc_seqno: 6, gen_utime: 100 }]);
  });

  it('read those actions alone that the steps asked for have, and those that were told again', async () => {
    await clickhouse.command(
      `INSERT INTO actions (trace_end_lt, trace_id, mc_seqno, end_mc_seqno, type)
       SELECT number, toString(number), number, number, 'ton_transfer' FROM numbers(20000)`,
    );
    const few = "SETTINGS log_comment = '20000', max_rows_to_read = 5000";
    const found = await clickhouse.json(
      `SELECT count() AS actions FROM ton.actions WHERE mc_block_seqno = 7 ${few}`,
      z.object({ actions: z.coerce.number() }),
    );
    expect(found).toEqual([{ actions: 1 }]);
  });

  it('read the trace alone that is asked for, as the step has it', async () => {
    await clickhouse.command(
      `INSERT INTO traces (trace_id, mc_seqno, end_lt, transactions, state)
       SELECT unhex(leftPad(hex(number DIV 2), 64, '0')), number % 2, number, number, number % 2 FROM numbers(80000)`,
    );
    const id = Buffer.from((20_000).toString(16).padStart(64, '0'), 'hex').toString('base64');
    const at = (head: number) =>
      clickhouse.json(
        `SELECT transactions, state, mc_block_seqno AS step FROM ton.traces WHERE trace_id = '${id}'
         SETTINGS log_comment = '${head}', max_rows_to_read = 10000`,
        z.unknown(),
      );
    expect(await Promise.all([at(0), at(1)])).toEqual([
      [{ transactions: 40_000, state: 'pending', step: 0 }],
      [{ transactions: 40_001, state: 'complete', step: 1 }],
    ]);
  });

  it('of the tables of another database are left to it, until it is gone', async () => {
    const other = createClickHouse({ url: test.server.url, database: 'other', logger: silent });
    try {
      await migrate({ clickhouse: other, logger: silent });
      const before = await columnsOf();
      await expect(makeViews(other, 'ton', signal)).rejects.toThrow(
        'the views in the database ton read the tables of the database declared, not of other: start with another --sql-database, or drop the database ton if it is used no more',
      );
      await makeViews(clickhouse, 'ton', signal);
      expect(await columnsOf()).toEqual(before);
      await makeViews(other, 'ton_other', signal);
      await clickhouse.command('DROP DATABASE other');
      await makeViews(clickhouse, 'ton_other', signal);
    } finally {
      await other.close();
    }
  });

  it('are left alone when nothing has changed, and cleared of others', async () => {
    const uuids = () =>
      clickhouse.json(
        "SELECT name, toString(uuid) AS uuid FROM system.tables WHERE database = 'ton' ORDER BY name",
        z.looseObject({ name: z.string() }),
      );
    const before = await uuids();
    await clickhouse.command('CREATE VIEW ton.former AS SELECT 1');
    await makeViews(clickhouse, 'ton', signal);
    expect(await uuids()).toEqual(before);
  });
});
