/** That a page is read where it is, whatever else the tables hold: rows the server reads, of many that are made up. */
import { beginCell, type Cell } from '@ton/core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { BlockFilter, MessageFilter, QueryContext, TransactionFilter } from '../../src/chain/records.ts';
import { type ClickHouse, createClickHouse } from '../client.ts';
import { createQueryGate } from '../gate.ts';
import { bytes } from '../literal.ts';
import { NO_LT, NO_TIME } from '../tables/columns.ts';
import { MIGRATED, startMigratedServer } from '../test-schema.ts';
import { rowsRead, silent, type TestServer } from '../test-server.ts';
import { blockQueries } from './blocks.ts';
import { messageQueries } from './messages.ts';
import { createReading, type NewestReading } from './reading.ts';
import { createSteps } from './steps.ts';
import { transactionQueries } from './transactions.ts';

const COUNT = 300_000;
/** The server reads so many at once at most, of each part. */
const AT_ONCE = 65_536;
const SHARDS = 4;
const BUSY = Buffer.alloc(36, 1);
const context: QueryContext = { signal: new AbortController().signal, timeoutMs: 60_000 };

let test: TestServer;
let clickhouse: ClickHouse;
let reading: NewestReading;

beforeAll(async () => {
  test = await startMigratedServer();
  clickhouse = createClickHouse({ url: test.server.url, database: MIGRATED, logger: silent });
  const hash = (of: string): string => `SHA256(concat('${of}', toString(number)))`;
  await clickhouse.command(`INSERT INTO transactions (account, lt, mc_seqno, hash, now)
    SELECT ${bytes(BUSY)}, 1000 + number, 1 + number, ${hash('t')}, 1000 + number FROM numbers(${COUNT})`);
  await clickhouse.command(`INSERT INTO messages (created_lt, hash, created_at, source, destination, in_mc_seqno, in_lt)
    SELECT 1000 + number, ${hash('m')}, 1000 + number, ${bytes(BUSY)}, ${bytes(BUSY)}, 1 + number, 1000 + number FROM numbers(${COUNT})`);
  // A masterchain block and one of each shard a second.
  await clickhouse.command(`INSERT INTO blocks (mc_seqno, workchain, shard, seqno, gen_utime, start_lt, end_lt, root_hash, file_hash)
    SELECT 1 + intDiv(number, 1 + ${SHARDS}) AS step, if(number % (1 + ${SHARDS}) = 0, -1, 0), number % (1 + ${SHARDS}),
      if(number % (1 + ${SHARDS}) = 0, step, 7 * step), 1000 + step, 1000 * step, 1000 * step + 9, ${hash('r')}, ${hash('f')}
    FROM numbers(${COUNT})`);
  const head = { seqno: COUNT } as Parameters<typeof createReading>[2];
  reading = createReading(clickhouse, createQueryGate({ maxConcurrent: 4, maxQueued: 100 }), head);
}, 120_000);

afterAll(async () => {
  await clickhouse?.close();
  await test?.remove();
});

/** The statement that finds a page: the first one. What the rows hold is made up, and not read here. */
async function statementOf(ask: (reading: NewestReading) => Promise<unknown>): Promise<string> {
  const asked: string[] = [];
  const stop = new Error('that is all');
  await ask({
    ...reading,
    rows(sql) {
      asked.push(sql);
      return Promise.reject(stop);
    },
  }).catch((error: unknown) => {
    if (error !== stop) throw error;
  });
  return asked[0] ?? '';
}

const page = { limit: 10, offset: 2 };
const TRANSACTIONS: [string, Partial<TransactionFilter>][] = [
  ['an account', { accounts: [BUSY] }],
  ['an account from an lt on', { accounts: [BUSY], ltWindow: { start: String(COUNT / 2) } }],
  ['all', {}],
  ['all from an lt on', { ltWindow: { start: String(COUNT / 2) } }],
  ['all up to a time', { utime: { end: COUNT / 2 } }],
];
const MESSAGES: [string, Partial<MessageFilter>][] = [
  ['a source', { source: BUSY }],
  ['a destination', { destination: BUSY }],
  ['all', {}],
];
const BLOCKS: [string, Partial<BlockFilter>][] = [
  ['all', {}],
  ['a workchain', { workchain: 0 }],
  ['all from an lt on', { lt: { start: String((1000 * COUNT) / 10) } }],
  ['all up to an lt', { lt: { end: String((1000 * COUNT) / 10) } }],
  ['a seqno of the masterchain', { workchain: -1, seqno: COUNT / 10 }],
  ['a seqno of any shard', { seqno: (7 * COUNT) / 10 }],
];

const cases = [
  ...TRANSACTIONS.map(([name, more]) => ({
    name: `transactions of ${name}`,
    ask: (asked: NewestReading, sort: 'asc' | 'desc') => {
      const any = { accounts: [], excludeAccounts: [], hashes: [], utime: {}, ltWindow: {}, page };
      return transactionQueries(asked, createSteps(asked)).transactions({ ...any, sort, ...more }, context);
    },
  })),
  ...MESSAGES.map(([name, more]) => ({
    name: `messages of ${name}`,
    ask: (asked: NewestReading, sort: 'asc' | 'desc') => {
      const any = { messageHashes: [], excludeExternals: false, onlyExternals: false, utime: {}, ltWindow: {}, page };
      return messageQueries(asked).messages({ ...any, sort, ...more }, context);
    },
  })),
  ...BLOCKS.map(([name, more]) => ({
    name: `blocks of ${name}`,
    ask: (asked: NewestReading, sort: 'asc' | 'desc') =>
      blockQueries(asked, createSteps(asked)).blocks({ utime: {}, lt: {}, page, sort, ...more }, context),
  })),
];

it.each(cases)('$name are read no further than a page goes', async ({ ask }) => {
  for (const sort of ['desc', 'asc'] as const) {
    const sql = await statementOf((asked) => ask(asked, sort));
    expect(sql).toContain('SELECT');
    expect(await rowsRead(test.server, MIGRATED, sql), sql).toBeLessThan(1.1 * AT_ONCE);
  }
});

/** A message from outside, behind a fee that nobody asks for. */
function knock(door: Buffer, fee: number): Cell {
  const head = beginCell().storeUint(0b1000, 4).storeUint(0b100, 3).storeInt(0, 8).storeBuffer(door.subarray(4));
  return head.storeCoins(fee).storeUint(0, 2).endCell();
}

it('a page of messages is full though one from outside was received again and again', async () => {
  const door = Buffer.alloc(36, 2);
  const knocks = [0, 1, 2].map((fee) => knock(door, fee)).sort((a, b) => b.hash().compare(a.hash()));
  for (const [i, cell] of knocks.entries()) {
    await clickhouse.command(`INSERT INTO messages (created_lt, hash, created_at, destination, in_mc_seqno, in_lt, payload)
      SETTINGS optimize_on_insert = 0, insert_deduplicate = 0
      SELECT ${NO_LT}, ${bytes(cell.hash())}, ${NO_TIME}, ${bytes(door)}, 1 + number, 1 + number, ${bytes(cell.toBoc())}
      FROM numbers(${i === 0 ? 90 : 1})`);
  }
  const any = { messageHashes: [], excludeExternals: false, onlyExternals: false, utime: {}, ltWindow: {} };
  const hashes = knocks.map((cell) => cell.hash().toString('hex'));
  for (const offset of [0, 1, 2]) {
    const asked = { ...any, destination: door, sort: 'desc', page: { limit: 2, offset } } as const;
    const { rows } = await messageQueries(reading).messages(asked, context);
    expect(rows.map(({ message }) => message.hash.toString('hex'))).toEqual(hashes.slice(offset, offset + 2));
  }
});

it('a message from outside that a step above the head has received again is told as it was before', async () => {
  const door = Buffer.alloc(36, 3);
  const cell = knock(door, 0);
  const [before, after] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  await clickhouse.command('SYSTEM STOP MERGES messages');
  for (const [step, transaction] of [
    [COUNT, before],
    [COUNT + 1, after],
  ] as const) {
    await clickhouse.command(`INSERT INTO messages (created_lt, hash, created_at, destination, in_mc_seqno, in_tx_hash, payload)
      VALUES (${NO_LT}, ${bytes(cell.hash())}, ${NO_TIME}, ${bytes(door)}, ${step}, ${bytes(transaction)}, ${bytes(cell.toBoc())})`);
  }
  const any = { messageHashes: [], excludeExternals: false, onlyExternals: false, utime: {}, ltWindow: {} };
  const asked = { ...any, destination: door, sort: 'desc', page: { limit: 10, offset: 0 } } as const;
  const { rows } = await messageQueries(reading).messages(asked, context);
  expect(rows.map(({ inTxHash }) => inTxHash)).toEqual([before]);
});
