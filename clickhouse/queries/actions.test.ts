/**
 * Pages over actions of which most were told again as something else: what counts is far behind what was found. And of
 * several accounts of which some have more than is read at once. And traces of many steps.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAX_TRANSACTIONS } from '../../src/chain/actions/classify.ts';
import { type ActionFilter, ANY_ACTION } from '../../src/chain/records.ts';
import { type ClickHouse, createClickHouse } from '../client.ts';
import { createQueryGate } from '../gate.ts';
import { migrate } from '../migrate.ts';
import { MIGRATED, startMigratedServer } from '../test-schema.ts';
import { rowsRead, silent, type TestServer } from '../test-server.ts';
import { actionQueries } from './actions.ts';
import { createReading } from './reading.ts';
import { traceQueries } from './traces.ts';

const ACTIONS = 600;
/** One in so many is still what it was told as at first. */
const STAYS = 100;
const AGAIN_LATER = 1_000;
const HEAD = 5_000;

/** Of alice, who was taken for the one that bob is. */
const [alice, bob] = [Buffer.alloc(36, 1), Buffer.alloc(36, 2)];

let server: TestServer;
let clickhouse: ClickHouse;
let queries: ReturnType<typeof actionQueries>;

const sqlBytes = (bytes: Buffer): string => `unhex('${bytes.toString('hex')}')`;

beforeAll(async () => {
  server = await startMigratedServer();
  clickhouse = createClickHouse({ url: server.server.url, database: MIGRATED, logger: silent });
  const none = "toFixedString('', 32)";
  for (const again of [false, true]) {
    const type = again ? 'call_contract' : 'ton_transfer';
    const end = 'toUInt32(1 + intDiv(number, 5))';
    const place = `number AS trace_end_lt, ${none} AS trace_id, 0 AS n, ${end}${again ? ` + ${AGAIN_LATER}` : ''} AS told, ${end} AS end`;
    const told = again ? `WHERE number % ${STAYS} != 0` : '';
    await clickhouse.command(`INSERT INTO actions
      (trace_end_lt, trace_id, number, mc_seqno, end_mc_seqno, trace_end_utime, type, action_id)
      SELECT ${place}, end, '${type}', toFixedString(toString(trace_end_lt), 32) FROM numbers(${ACTIONS}) ${told}`);
    const accounts = again
      ? `[(${sqlBytes(alice)}, ''), (${sqlBytes(bob)}, '${type}')]`
      : `[(${sqlBytes(alice)}, '${type}')]`;
    await clickhouse.command(`INSERT INTO action_accounts
      (trace_end_lt, trace_id, number, mc_seqno, end_mc_seqno, trace_end_utime, account, type)
      SELECT ${place}, end, named.1, named.2 FROM numbers(${ACTIONS}) ARRAY JOIN ${accounts} AS named ${told}`);
  }
  const head = { seqno: HEAD } as Parameters<typeof createReading>[2];
  queries = actionQueries(createReading(clickhouse, createQueryGate({ maxConcurrent: 4, maxQueued: 100 }), head));
}, 120_000);

afterAll(async () => {
  await clickhouse?.close();
  await server?.remove();
});

const filter: ActionFilter = { ...ANY_ACTION, sort: 'desc', page: { limit: 4, offset: 0 } };

async function found(asked: Partial<ActionFilter>): Promise<number[]> {
  const context = { signal: new AbortController().signal, timeoutMs: 60_000 };
  const { rows } = await queries.actions({ ...filter, ...asked }, context);
  return rows.map(({ traceEndLt }) => Number(traceEndLt));
}

const PAGES = [
  ['desc', filter.page],
  ['asc', { limit: 3, offset: 2 }],
  ['desc', { limit: 1_000, offset: 0 }],
] as const;

const all = Array.from({ length: ACTIONS }, (_, n) => n);
const staying = all.filter((n) => n % STAYS === 0);
const again = all.filter((n) => n % STAYS !== 0);

it('pages hold what the telling that counts says, however many of those before it said so', async () => {
  const asked: [Partial<ActionFilter>, number[]][] = [
    [{ types: ['ton_transfer'] }, staying],
    [{ excludeTypes: ['call_contract'] }, staying],
    [{ supported: new Set(['ton_transfer']) }, staying],
    [{ accounts: [alice] }, staying],
    [{ accounts: [alice], types: ['ton_transfer'] }, staying],
    [{ accounts: [alice], types: ['call_contract'] }, []],
    [{ accounts: [bob], types: ['call_contract'] }, again],
    [{ accounts: [alice, bob] }, all],
    [{ accounts: [alice, bob], types: ['ton_transfer'] }, staying],
    [{ excludeAccounts: [bob] }, staying],
    [{ types: ['call_contract'] }, again],
    [{}, all],
  ];
  for (const [which, passing] of asked) {
    for (const [sort, page] of PAGES) {
      const inOrder = sort === 'asc' ? passing : passing.toReversed();
      const expected = inOrder.slice(page.offset, page.offset + page.limit);
      expect(await found({ ...which, page, sort }), JSON.stringify([which, page, sort])).toEqual(expected);
    }
  }
});

it('pages by time hold the same, and those of an earlier step what was told by then', async () => {
  const times = { utime: { start: 1 } };
  expect(await found({ ...times, types: ['ton_transfer'] })).toEqual(staying.slice(-4).toReversed());
  expect(await found({ ...times, accounts: [alice], sort: 'asc' })).toEqual(staying.slice(0, 4));
  expect(await found({ told: AGAIN_LATER, accounts: [alice] })).toEqual(all.slice(-4).toReversed());
});

it('traces come with their transactions, and one of more than are shown without, however many steps it grew in', async () => {
  const [small, large, endless] = [61, 62, 63].map((byte) => Buffer.alloc(32, byte));
  const grow = (id: Buffer, steps: number, ends = true): Promise<void> =>
    clickhouse.command(`INSERT INTO traces (trace_id, mc_seqno, end_lt, transactions, state, places)
      SELECT ${sqlBytes(id)}, number + 1, number, number + 1, if(number + 1 = ${steps} AND ${ends}, 'complete', 'pending'),
        concat(${sqlBytes(alice)}, reverse(reinterpretAsFixedString(toUInt64(number + 256)))) FROM numbers(${steps})`);
  await grow(large, 2 * MAX_TRANSACTIONS + 1);
  await grow(endless, MAX_TRANSACTIONS + 1, false);
  await grow(small, 3);
  // A batch that was repeated.
  await grow(small, 3);
  const head = { seqno: 2 * HEAD } as Parameters<typeof createReading>[2];
  const reading = createReading(clickhouse, createQueryGate({ maxConcurrent: 4, maxQueued: 100 }), head);
  const asked = { traceIds: [small, large, endless], txHashes: [], messageHashes: [], utime: {}, ltWindow: {} };
  const context = { signal: new AbortController().signal, timeoutMs: 60_000 };
  const page = { limit: 10, offset: 0 };
  const found = async (growing: boolean) => {
    const { rows } = await traceQueries(reading).traces({ ...asked, growing, sort: 'asc', page }, context);
    return rows.map(({ transactions, mcSeqnoEnd, places }) => [transactions, mcSeqnoEnd, places]);
  };
  const places = [1, 2, 3].map((mcSeqno) => ({ account: alice, lt: String(mcSeqno + 255), mcSeqno }));
  const most = 2 * MAX_TRANSACTIONS + 1;
  const ended = [
    [3, 3, places],
    [most, most, []],
  ];
  expect(await found(false)).toEqual(ended);
  expect(await found(true)).toEqual([ended[0], [MAX_TRANSACTIONS + 1, MAX_TRANSACTIONS + 1, []], ended[1]]);
});

it('an action passes that has a transaction that is named and another one at an end of a message that is', async () => {
  const [trace, first, second, other] = [1, 2, 3, 4].map((n) => sqlBytes(Buffer.alloc(32, 40 + n)));
  // Found in the former two where these lie one behind the other.
  const across = Buffer.concat([Buffer.alloc(16, 42), Buffer.alloc(16, 43)]);
  const named = createClickHouse({ url: server.server.url, database: 'named', logger: silent });
  await migrate({ clickhouse: named, logger: silent });
  await named.command(`INSERT INTO transactions (account, lt, mc_seqno, hash, trace_id) VALUES
    (${sqlBytes(alice)}, 10, 1, ${first}, ${trace}), (${sqlBytes(bob)}, 20, 1, ${second}, ${trace}),
    (${sqlBytes(bob)}, 30, 1, ${sqlBytes(across)}, ${trace})`);
  const message = Buffer.alloc(32, 50);
  await named.command(`INSERT INTO messages (created_lt, hash, source, destination, in_mc_seqno, in_lt, in_tx_hash)
    VALUES (11, ${sqlBytes(message)}, ${sqlBytes(alice)}, ${sqlBytes(bob)}, 1, 20, ${second})`);
  await named.command(`INSERT INTO traces (trace_id, mc_seqno, state, end_lt) VALUES (${trace}, 1, 'complete', 20)`);
  // Both, the first alone, the second alone, neither.
  const transactions = [`concat(${first}, ${second})`, first, second, other];
  await named.command(`INSERT INTO actions
    (trace_end_lt, trace_id, number, mc_seqno, end_mc_seqno, type, action_id, transactions)
    VALUES ${transactions.map((some, n) => `(20, ${trace}, ${n}, 1, 1, 'ton_transfer', toFixedString('${n}', 32), ${some})`).join(', ')}`);
  const head = { seqno: HEAD } as Parameters<typeof createReading>[2];
  const { actions } = actionQueries(createReading(named, createQueryGate({ maxConcurrent: 4, maxQueued: 100 }), head));
  const context = { signal: new AbortController().signal, timeoutMs: 60_000 };
  const numbers = async (asked: Partial<ActionFilter>): Promise<number[]> => {
    const { rows } = await actions({ ...filter, sort: 'asc', ...asked }, context);
    return rows.map(({ number }) => number);
  };
  const txHashes = [Buffer.alloc(32, 42)];
  const messageHashes = [message];
  expect(await numbers({ txHashes })).toEqual([0, 1]);
  expect(await numbers({ txHashes: [across] })).toEqual([]);
  expect(await numbers({ messageHashes })).toEqual([0, 2]);
  expect(await numbers({ txHashes, messageHashes })).toEqual([0]);
  expect(await numbers({ txHashes: [Buffer.alloc(32, 44)], messageHashes })).toEqual([]);
  await named.close();
});

const MANY = 60_000;
/** One in so many is of dave, too, and one in many more of another type. */
const DAVES = 6_000;
const RARE = 20_000;
/** One in so many is no part of another one. */
const PARTS = 50;
const [carol, dave, nobody] = [Buffer.alloc(36, 3), Buffer.alloc(36, 4), Buffer.alloc(36, 5)];

describe('of many actions', () => {
  const lts = Array.from({ length: MANY }, (_, n) => 1000 * (1 + n));
  const context = { signal: new AbortController().signal, timeoutMs: 60_000 };
  let busy: ClickHouse;
  let reading: ReturnType<typeof createReading>;

  beforeAll(async () => {
    busy = createClickHouse({ url: server.server.url, database: 'busy', logger: silent });
    await migrate({ clickhouse: busy, logger: silent });
    const place = `1000 * (1 + number) AS trace_end_lt, toFixedString('', 32) AS trace_id, 0 AS n, toUInt32(1) AS told, toUInt32(1) AS end,
      if(number % ${RARE} = 7, 'nft_mint', 'ton_transfer') AS type`;
    await busy.command(`INSERT INTO actions (trace_end_lt, trace_id, number, mc_seqno, end_mc_seqno, type, ancestors, action_id)
    SELECT ${place}, if(number % ${PARTS} = 0, [], ['jetton_swap']), toFixedString(toString(trace_end_lt), 32)
    FROM numbers(${MANY})`);
    await busy.command(`INSERT INTO action_accounts (trace_end_lt, trace_id, number, mc_seqno, end_mc_seqno, type, account)
    SELECT ${place}, account FROM numbers(${MANY})
    ARRAY JOIN if(number % ${DAVES} = 0, [${sqlBytes(carol)}, ${sqlBytes(dave)}], [${sqlBytes(carol)}]) AS account`);
    const head = { seqno: HEAD } as Parameters<typeof createReading>[2];
    reading = createReading(busy, createQueryGate({ maxConcurrent: 4, maxQueued: 100 }), head);
  }, 120_000);

  afterAll(() => busy?.close());

  /** First pages, and those behind them. */
  async function expectPages(
    actions: ReturnType<typeof actionQueries>['actions'],
    asked: readonly [Partial<ActionFilter>, readonly number[]][],
  ): Promise<void> {
    for (const [which, passing] of asked) {
      for (const [sort, page] of PAGES) {
        const inOrder = sort === 'asc' ? passing : passing.toReversed();
        const expected = inOrder.slice(page.offset, page.offset + page.limit);
        const first = await actions({ ...filter, ...which, page, sort }, context);
        const told = JSON.stringify([which, page, sort]);
        expect(
          first.rows.map(({ traceEndLt }) => Number(traceEndLt)),
          told,
        ).toEqual(expected);
        if (first.nextCursor === null || page.offset > 0) continue;
        const next = await actions({ ...filter, ...which, page, sort, cursor: first.nextCursor }, context);
        expect(
          next.rows.map(({ traceEndLt }) => Number(traceEndLt)),
          `behind ${told}`,
        ).toEqual(inOrder.slice(page.limit, 2 * page.limit));
      }
    }
  }

  it('pages of several accounts are the first of all, however many actions one of them has', async () => {
    const outcomes: string[] = [];
    const { actions } = actionQueries({
      ...reading,
      async rows(sql, label, context) {
        const read = reading.rows(sql, label, context);
        await read.then(
          () => outcomes.push('read'),
          () => outcomes.push('refused'),
        );
        return read;
      },
    });
    const accounts = [carol, dave, nobody];
    const rare = lts.filter((_, n) => n % RARE === 7);
    const daves = lts.filter((_, n) => n % DAVES === 0);
    const asked: [Partial<ActionFilter>, number[]][] = [
      [{ accounts }, lts],
      [{ accounts, ltWindow: { start: '5000', end: '50000000' } }, lts.filter((lt) => lt >= 5_000 && lt <= 50_000_000)],
      [{ accounts, types: ['nft_mint'] }, rare],
      [{ accounts: [dave, nobody] }, daves],
      [{ accounts: [dave, nobody], ltWindow: { start: '1000', end: '1000' } }, [1000]],
    ];
    await expectPages(actions, asked);
    expect(outcomes).toContain('refused');
  });

  it('pages of types are the first of all, and cost what they show, however rare or common the types are', async () => {
    const most: number[] = [];
    const { actions } = actionQueries({
      ...reading,
      async rows(sql, label, context) {
        most.push(await rowsRead(server.server, 'busy', sql));
        return reading.rows(sql, label, context);
      },
    });
    const rare = lts.filter((_, n) => n % RARE === 7);
    const common = lts.filter((_, n) => n % RARE !== 7);
    const ltWindow = { start: '5000', end: '5000000' };
    await expectPages(actions, [
      [{ types: ['nft_mint'] }, rare],
      [{ types: ['ton_transfer'] }, common],
      [{ types: ['nft_mint', 'ton_transfer', 'dns_renew'] }, lts],
      [{ types: ['dns_renew'] }, []],
      [{ types: ['nft_mint', 'ton_transfer'], ltWindow }, lts.filter((lt) => lt >= 5_000 && lt <= 5_000_000)],
    ]);
    most.length = 0;
    for (const types of [['nft_mint'], ['ton_transfer'], ['nft_mint', 'ton_transfer']]) {
      for (const sort of ['desc', 'asc'] as const) await actions({ ...filter, types, sort }, context);
    }
    expect(Math.max(...most)).toBeLessThan(MANY / 10);
    // Of those that are a part of another one that is shown, more are found than there are rows of the page.
    const supported = new Set(['ton_transfer', 'nft_mint', 'jetton_swap']);
    await expectPages(actions, [
      [{ types: ['ton_transfer'], supported }, common.filter((_, n) => (common[n] / 1000 - 1) % PARTS === 0)],
    ]);
  });

  it('a page costs what it shows: the server reads little, and nothing of what is before it comes here', async () => {
    const asked: { sql: string; rows: number }[] = [];
    const { actions } = actionQueries({
      ...reading,
      async rows(sql, label, context) {
        const counted = `SELECT count() FROM (${sql})`;
        const rows = Number((await reading.rows(counted, label, context)).u64());
        asked.push({ sql, rows });
        return reading.rows(sql, label, context);
      },
    });
    const limit = 10;
    for (const [sort, offset] of [
      ['desc', 0],
      ['asc', 0],
      ['desc', MANY / 2],
      ['desc', MANY - 3],
      ['asc', 2 ** 31 - 1],
    ] as const) {
      asked.length = 0;
      const { rows } = await actions({ ...filter, sort, page: { limit, offset } }, context);
      const inOrder = sort === 'asc' ? lts : lts.toReversed();
      expect(rows.map(({ traceEndLt }) => Number(traceEndLt))).toEqual(inOrder.slice(offset, offset + limit));
      for (const { rows: answered } of asked) expect(answered).toBeLessThanOrEqual(limit);
      if (offset > 0) continue;
      for (const { sql } of asked) expect(await rowsRead(server.server, 'busy', sql)).toBeLessThan(MANY / 10);
    }
  });
});
