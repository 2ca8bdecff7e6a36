/** Transfers and burns of tokens, over a real server with rows that are made up. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressOf } from '../../src/chain/address.ts';
import type { EventFilter } from '../../src/chain/contract-records.ts';
import type { Address, Transaction } from '../../src/chain/model.ts';
import type { QueryContext, TransactionRecord } from '../../src/chain/records.ts';
import { type ClickHouse, createClickHouse } from '../client.ts';
import { createQueryGate } from '../gate.ts';
import { bytes } from '../literal.ts';
import { jettonBalances, jettonBurns, jettonTransfers } from '../tables/jettons.ts';
import { nftItemStates, nftTransfers } from '../tables/nfts.ts';
import type { TableWith } from '../tables/table.ts';
import { MIGRATED, startMigratedServer } from '../test-schema.ts';
import { insertRows, rowsRead, silent, type TestServer } from '../test-server.ts';
import { type EventQueries, eventQueries } from './events.ts';
import { createHead } from './head.ts';
import { createReading } from './reading.ts';
import type { Place } from './transactions.ts';

const HEAD = 10;
const context: QueryContext = { signal: new AbortController().signal, timeoutMs: 60_000 };
const page = { limit: 100, offset: 0 };
const filter: EventFilter = { owners: [], contracts: [], utime: {}, ltWindow: {}, sort: 'desc', page };

const address = (n: number): Address => addressOf(0, Buffer.alloc(32, n));
const [ALICE, BOB, CAROL] = [address(0xa1), address(0xb0), address(0xc0)];
const [GOLD, SILVER, TIN, LEAD] = [0x61, 0x62, 0x63, 0x65].map(address);

/** Transactions of which nothing counts but the place: hashes sort against the addresses. */
async function transactionsAt(places: readonly (Place & { now?: number })[]): Promise<TransactionRecord[]> {
  return places.map(({ account, lt, mcSeqno, now = Number(lt) }) => {
    const hash = Buffer.alloc(32, 0xff - account[35]);
    const transaction = { account, lt, now, hash } satisfies Partial<Transaction>;
    // The queries ask for nothing else.
    return { transaction, mcSeqno } as unknown as TransactionRecord;
  });
}

let test: TestServer;
let clickhouse: ClickHouse;
let events: EventQueries;
/** Statements. */
const asked: string[] = [];

const insert = <R extends object>(table: TableWith<R>, rows: readonly R[]): Promise<void> =>
  insertRows(clickhouse, table, rows);

beforeAll(async () => {
  test = await startMigratedServer();
  clickhouse = createClickHouse({ url: test.server.url, database: MIGRATED, logger: silent });
  const head = createHead(clickhouse);
  head.advance(HEAD);
  const reading = createReading(clickhouse, createQueryGate({ maxConcurrent: 4, maxQueued: 100 }), head);
  const rows: typeof reading.rows = (sql, ...rest) => {
    asked.push(sql);
    return reading.rows(sql, ...rest);
  };
  events = eventQueries({ ...reading, rows }, transactionsAt);
});
afterAll(async () => {
  await clickhouse?.close();
  await test?.remove();
});

describe('transfers and burns', () => {
  const transfer = (
    lt: number,
    n: number,
    source_: Address | null,
    destination: Address,
    jetton = GOLD,
    more = {},
  ) => ({
    transactionLt: String(lt),
    sourceWallet: address(n),
    mcSeqno: 5,
    transactionNow: lt,
    transactionAborted: false,
    source: source_,
    destination,
    jettonMaster: jetton,
    amount: '1',
    transactionHash: null,
    ...more,
  });

  beforeAll(async () => {
    await insert(jettonTransfers, [
      transfer(10, 1, ALICE, BOB),
      transfer(20, 1, ALICE, ALICE),
      transfer(20, 2, BOB, ALICE, SILVER),
      transfer(20, 3, CAROL, BOB),
      transfer(30, 1, ALICE, BOB, GOLD, { transactionAborted: true }),
      transfer(40, 3, CAROL, BOB, GOLD, { mcSeqno: HEAD + 1 }),
      transfer(9, 3, null, BOB),
    ]);
    const burn = {
      mcSeqno: 5,
      transactionNow: 50,
      transactionAborted: true,
      jettonMaster: GOLD,
      amount: '1',
      transactionHash: null,
    };
    await insert(jettonBurns, [{ ...burn, transactionLt: '50', jettonWallet: address(1), owner: ALICE }]);
    const nft = {
      mcSeqno: 5,
      transactionNow: 60,
      transactionAborted: true,
      nftCollection: null,
      transactionHash: null,
    };
    await insert(nftTransfers, [
      { ...nft, transactionLt: '60', nftAddress: address(0x11), oldOwner: ALICE, newOwner: BOB },
    ]);
  });

  const transfers = async (more: Partial<EventFilter>) =>
    (await events.jettonTransfers({ ...filter, ...more }, context)).map(
      ({ transaction: { transaction } }) => `${transaction.lt}/${transaction.account[35]}`,
    );

  it('come by lt, those of one lt by hash, without aborted ones and those above the head', async () => {
    expect(await transfers({})).toEqual(['20/1', '20/2', '20/3', '10/1', '9/3']);
    expect(await transfers({ sort: 'asc' })).toEqual(['9/3', '10/1', '20/3', '20/2', '20/1']);
    expect(await transfers({ utime: { start: 10, end: 20 } })).toEqual(['20/1', '20/2', '20/3', '10/1']);
    expect(await transfers({ ltWindow: { start: '9', end: '10' } })).toEqual(['10/1', '9/3']);
  });

  it('come in pages that are cut between those of one lt', async () => {
    for (const sort of ['asc', 'desc'] as const) {
      const whole = await transfers({ sort });
      for (const limit of [1, 2, 3]) {
        const pages: string[] = [];
        for (let offset = 0; offset < whole.length; offset += limit) {
          pages.push(...(await transfers({ sort, page: { limit, offset } })));
        }
        expect(pages).toEqual(whole);
      }
    }
  });

  it('of one lt that come from several parts, and by several keys, stand each on one page', async () => {
    const [EVE, FAY] = [address(0xe0), address(0xf0)];
    for (const n of [0x20, 0x21, 0x22, 0x23]) {
      await insert(jettonTransfers, [transfer(5, n, n % 2 === 0 ? CAROL : EVE, n % 2 === 0 ? EVE : FAY, TIN)]);
    }
    for (const [sort, whole] of [
      ['desc', ['5/32', '5/33', '5/34', '5/35']],
      ['asc', ['5/35', '5/34', '5/33', '5/32']],
    ] as const) {
      const paged = [0, 1, 2, 3].map((offset) => transfers({ owners: [EVE, FAY], sort, page: { limit: 1, offset } }));
      expect((await Promise.all(paged)).flat()).toEqual(whole);
    }
  });

  it('of one lt at several times stand each on one page of a time window', async () => {
    const at = (now: number, lt: number, n: number) => transfer(lt, n, CAROL, CAROL, LEAD, { transactionNow: now });
    // Two shards: what one has done by an lt the other does a second later.
    await insert(jettonTransfers, [at(3, 4, 0x41), at(3, 3, 0x42), at(2, 4, 0x43), at(2, 4, 0x44), at(2, 3, 0x45)]);
    for (const [sort, whole] of [
      ['desc', ['4/65', '3/66', '4/67', '4/68', '3/69']],
      ['asc', ['3/69', '4/68', '4/67', '3/66', '4/65']],
    ] as const) {
      for (const limit of [1, 2, 3]) {
        const pages: string[] = [];
        for (let offset = 0; offset < whole.length; offset += limit) {
          pages.push(...(await transfers({ token: LEAD, utime: { start: 0 }, sort, page: { limit, offset } })));
        }
        expect(pages).toEqual(whole);
      }
    }
  });

  // Those of the test before.
  it('go on behind an event, whether it is there or not, and however many have its lt or time', async () => {
    for (const [by, isByTime, sort] of [
      [{ token: LEAD }, true, 'desc'],
      [{ contracts: [0x41, 0x42, 0x43, 0x44, 0x45].map(address) }, true, 'asc'],
      [{ owners: [CAROL], token: LEAD }, false, 'desc'],
      [{ token: LEAD }, false, 'asc'],
    ] as const) {
      const asking = { ...filter, ...(by as Partial<EventFilter>), utime: isByTime ? { start: 0 } : {}, sort };
      const shown = async (more: Partial<EventFilter>) =>
        (await events.jettonTransfers({ ...asking, ...more }, context)).map((event) => event.transaction.transaction);
      const whole = await shown({});
      expect(whole).toHaveLength(5);
      for (const [i, { lt, now, hash }] of whole.entries()) {
        const behind = { utime: isByTime ? now : null, lt, hash };
        const page = { limit: 2, offset: i % 2 };
        const pageFrom = (first: number) => whole.slice(first + page.offset, first + page.offset + page.limit);
        expect(await shown({ behind, page })).toEqual(pageFrom(i + 1));
        // Beside it, where there is none.
        const none = Buffer.from(hash);
        none[31] += sort === 'asc' ? -1 : 1;
        expect(await shown({ behind: { ...behind, hash: none }, page })).toEqual(pageFrom(i));
      }
    }
  });

  it('come by owner, side, wallet and jetton, each once', async () => {
    expect(await transfers({ owners: [ALICE] })).toEqual(['20/1', '20/2', '10/1']);
    expect(await transfers({ owners: [ALICE], direction: 'in' })).toEqual(['20/1', '20/2']);
    expect(await transfers({ owners: [ALICE], direction: 'out' })).toEqual(['20/1', '10/1']);
    expect(await transfers({ owners: [ALICE], token: SILVER })).toEqual(['20/2']);
    expect(await transfers({ contracts: [address(3)] })).toEqual(['20/3', '9/3']);
    expect(await transfers({ contracts: [address(3), address(2)], token: SILVER })).toEqual(['20/2']);
    expect(await transfers({ token: GOLD })).toEqual(['20/1', '20/3', '10/1', '9/3']);
    const [first] = await events.jettonTransfers({ ...filter, token: SILVER }, context);
    expect(first.token).toEqual(SILVER);
  });

  it('of burns and items show aborted ones', async () => {
    expect(await events.jettonBurns({ ...filter, owners: [ALICE] }, context)).toHaveLength(1);
    const [moved] = await events.nftTransfers({ ...filter, owners: [BOB], direction: 'in' }, context);
    expect(moved.token).toBeNull();
    expect(await events.nftTransfers({ ...filter, owners: [BOB], direction: 'out' }, context)).toEqual([]);
  });

  it('of contracts and their token are read by key, those of a contract that changed its token, too', async () => {
    const balance = (n: number, lt: number, jetton: Address) => ({
      ...{ address: address(n), lt: String(lt), mcSeqno: 5, jetton, balance: '1', owner: ALICE, utime: 1 },
      mintlessIsClaimed: null,
    });
    await insert(jettonBalances, [balance(1, 1, GOLD), balance(2, 1, SILVER), balance(2, 20, SILVER)]);
    await insert(jettonBalances, [balance(5, 50, SILVER), balance(5, 60, GOLD)]);
    await insert(jettonTransfers, [transfer(50, 5, ALICE, BOB, SILVER), transfer(60, 5, ALICE, BOB, GOLD)]);
    const moved = {
      mcSeqno: 5,
      transactionNow: 70,
      transactionAborted: false,
      oldOwner: ALICE,
      newOwner: BOB,
      transactionHash: null,
    };
    const move = (lt: string, nftCollection: Address) => ({
      ...moved,
      ...{ transactionLt: lt, nftAddress: address(0x12), nftCollection },
    });
    await insert(nftTransfers, [move('70', GOLD), move('71', SILVER)]);
    const item = (collectionAddress: Address, lt: number) => ({
      ...{ address: address(0x12), id: '1', mcSeqno: 5, lastTransactionLt: String(lt), init: true, nftIndex: '1' },
      ...{
        codeHash: Buffer.alloc(32, 1),
        dataHash: Buffer.alloc(32, 2),
        ownerAddress: ALICE,
        content: '{}',
        collectionAddress,
      },
    });
    await insert(nftItemStates, [item(GOLD, 70), item(SILVER, 71)]);
    await clickhouse.command(`INSERT INTO jetton_transfers
      SELECT 1000 + number, ${bytes(address(9))}, ${HEAD + 1}, 1000, false, source, destination, jetton_master, amount, transaction_hash
      FROM (SELECT * FROM jetton_transfers WHERE transaction_lt = 20 AND source_wallet = ${bytes(address(3))}) AS t
      CROSS JOIN numbers(100000) AS n`);
    asked.length = 0;
    const contracts = [1, 2, 3, 5].map(address);
    expect(await transfers({ contracts, token: GOLD })).toEqual(['60/5', '20/1', '20/3', '10/1', '9/3']);
    expect(await transfers({ contracts, token: SILVER })).toEqual(['50/5', '20/2']);
    expect(await transfers({ contracts, token: GOLD, page: { limit: 1, offset: 2 } })).toEqual(['20/3']);
    expect(await transfers({ contracts: [address(2)], token: GOLD })).toEqual([]);
    for (const sql of asked) await clickhouse.query(`${sql} SETTINGS max_rows_to_read = 20000`);
    const ofItem = { ...filter, contracts: [address(0x12)] };
    expect(await events.nftTransfers({ ...ofItem, token: GOLD }, context)).toHaveLength(1);
    expect(await events.nftTransfers({ ...ofItem, token: ALICE }, context)).toHaveLength(0);
    expect(await events.jettonBurns({ ...filter, contracts: [address(1)], token: GOLD }, context)).toHaveLength(1);
  });
});

describe('many transfers', () => {
  const COUNT = 60_000;
  const [DAVE, IRON] = [address(0xd0), address(0x64)];

  beforeAll(async () => {
    // Each lt has one of Dave to himself, by two keys, and one of Dave to Bob, which stands there twice.
    const row = (wallet: Address, to: Address) =>
      `SELECT 100000 + number, ${bytes(wallet)}, 5, 2000 + number, false, ${bytes(DAVE)}, ${bytes(to)}, ${bytes(IRON)}, 1, toFixedString('', 32)
       FROM numbers(${COUNT})`;
    for (const sql of [row(address(7), DAVE), row(address(8), BOB), row(address(8), BOB)]) {
      await clickhouse.command(
        `INSERT INTO jetton_transfers SETTINGS optimize_on_insert = 0, insert_deduplicate = 0 ${sql}`,
      );
    }
  });

  it.each([
    ['an owner', { owners: [DAVE] }],
    ['an owner, sent', { owners: [DAVE], direction: 'out' }],
    ['a jetton', { token: IRON }],
    ['an owner and a jetton', { owners: [DAVE], token: IRON }],
    ['a wallet', { contracts: [address(8)] }],
  ] as const)('of %s are read no further than a page goes', async (_, which) => {
    const each = 'contracts' in which ? 1 : 2;
    for (const sort of ['asc', 'desc'] as const) {
      asked.length = 0;
      const asking = { ...filter, ...(which as Partial<EventFilter>), sort, page: { limit: 10, offset: 3 } };
      const found = await events.jettonTransfers(asking, context);
      const places = found.map(({ transaction: { transaction } }) => Number(transaction.lt) - 100_000);
      const expected = Array.from({ length: 10 }, (_, i) => Math.floor((i + 3) / each));
      expect(places).toEqual(expected.map((n) => (sort === 'asc' ? n : COUNT - 1 - n)));
      for (const sql of asked) expect(await rowsRead(test.server, MIGRATED, sql)).toBeLessThan(COUNT / 10);
    }
  });
});
