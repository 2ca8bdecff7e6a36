/** Deep pages of holders, over a real server with rows that are made up. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressOf } from '../../src/chain/address.ts';
import type { ContractSource } from '../../src/chain/contract-records.ts';
import type { QueryContext } from '../../src/chain/records.ts';
import { WALLETS } from '../../test/token-filters.ts';
import { type ClickHouse, createClickHouse } from '../client.ts';
import { createQueryGate } from '../gate.ts';
import { bytes } from '../literal.ts';
import { MIGRATED, startMigratedServer } from '../test-schema.ts';
import { silent, type TestServer } from '../test-server.ts';
import { contractQueries } from './contracts.ts';
import { createHead } from './head.ts';
import { createReading } from './reading.ts';

const HEAD = 10;
const context: QueryContext = { signal: new AbortController().signal, timeoutMs: 60_000 };

let test: TestServer;
let clickhouse: ClickHouse;
let reading: ReturnType<typeof createReading>;
let source: ContractSource;

beforeAll(async () => {
  test = await startMigratedServer();
  clickhouse = createClickHouse({ url: test.server.url, database: MIGRATED, logger: silent });
  const head = createHead(clickhouse);
  head.advance(HEAD);
  const gate = createQueryGate({ maxConcurrent: 4, maxQueued: 100 });
  reading = createReading(clickhouse, gate, head);
  source = contractQueries(reading, async () => []);
});
afterAll(async () => {
  await clickhouse?.close();
  await test?.remove();
});

describe('an order that is kept by signed rows', () => {
  it('lists holders as deep as one asks, past those that were taken back', async () => {
    const jetton = addressOf(0, Buffer.alloc(32, 0x65));
    const standing = 150_000;
    const each = `toFixedString(concat(${bytes(Buffer.from([0x80, 0, 0, 0]))}, SHA256(toString(number))), 36)`;
    const insertSome = (count: number, balance: string, lt: number, sign: number): Promise<void> =>
      clickhouse.command(
        `INSERT INTO jetton_holders (jetton, balance, address, lt, mc_seqno, sign)
         SELECT ${bytes(jetton)}, ${balance}, ${each}, ${lt}, 5, ${sign} FROM numbers(${count})`,
      );
    // The greatest balances are those of before.
    await insertSome(1_000, '10000000 + number', 1, 1);
    await insertSome(1_000, '10000000 + number', 1, -1);
    await insertSome(standing, 'number', 2, 1);
    await clickhouse.command(
      `INSERT INTO jetton_wallets (address, id, mc_seqno, last_transaction_lt, code_hash, data_hash, balance, owner, jetton, mintless_is_claimed)
       SELECT ${each}, number, 5, 2, toFixedString('', 32), toFixedString('', 32), number, ${bytes(jetton)}, ${bytes(jetton)}, NULL FROM numbers(${standing})`,
    );
    const balances = async (offset: number, limit: number): Promise<string[]> => {
      const asked = { ...WALLETS, jettons: [jetton], byBalance: 'desc' as const, page: { offset, limit } };
      return (await source.jettonWallets(asked, context)).map(({ balance }) => balance);
    };
    expect(await balances(0, 2)).toEqual(['149999', '149998']);
    // The first time, then from where the page was.
    for (let i = 0; i < 3; i++) expect(await balances(140_000, 3)).toEqual(['9999', '9998', '9997']);
    // Of those before the page, and of it, some go and some come.
    await insertSome(1_000, '10000000 + number', 3, 1);
    expect(await balances(140_000, 3)).toEqual(['10999', '10998', '10997']);
    for (const number of [149_000, 10_998]) {
      const gone = `INSERT INTO jetton_holders (jetton, balance, address, lt, mc_seqno, sign)
        SELECT ${bytes(jetton)}, number, ${each}, 2, 5, -1 FROM numbers(${number}, 1)`;
      await clickhouse.command(gone);
    }
    for (let i = 0; i < 3; i++) expect(await balances(140_000, 3)).toEqual(['10997', '10996', '10995']);
    expect(await balances(140_002, 2)).toEqual(['10995', '10994']);
    expect(await balances(139_900, 2)).toEqual(['11098', '11097']);
    const all = standing + 1_000 - 2;
    for (let i = 0; i < 2; i++) expect(await balances(all - 2, 3)).toEqual(['1', '0']);
    for (let i = 0; i < 2; i++) expect(await balances(all, 3)).toEqual([]);
  });

  it('gives wallets the balances by which they are in order, whatever comes between its statements', async () => {
    const jetton = addressOf(0, Buffer.alloc(32, 0x66));
    const wallet = (n: number): string => bytes(addressOf(0, Buffer.alloc(32, n)));
    const states = async (n: number, balance: number, lt: number, before?: number): Promise<void> => {
      const signed = [
        `(${bytes(jetton)}, ${balance}, ${wallet(n)}, ${lt}, 5, 1)`,
        ...(before === undefined ? [] : [`(${bytes(jetton)}, ${before}, ${wallet(n)}, ${lt - 1}, 5, -1)`]),
      ];
      await clickhouse.command(
        `INSERT INTO jetton_holders (jetton, balance, address, lt, mc_seqno, sign) VALUES ${signed.join()}`,
      );
      await clickhouse.command(
        `INSERT INTO jetton_wallets (address, id, mc_seqno, last_transaction_lt, code_hash, data_hash, balance, owner, jetton, mintless_is_claimed)
         VALUES (${wallet(n)}, ${n}, 5, ${lt}, toFixedString('', 32), toFixedString('', 32), ${balance}, ${wallet(n)}, ${bytes(jetton)}, NULL)`,
      );
    };
    for (const [n, balance] of [30, 20, 10].entries()) await states(n + 1, balance, 1);
    let isFirst = true;
    const between = contractQueries(
      {
        ...reading,
        async rows(sql, label, asked) {
          const found = await reading.rows(sql, label, asked);
          if (label === 'jetton holders' && isFirst) {
            isFirst = false;
            await states(1, 5, 2, 30);
          }
          return found;
        },
      },
      async () => [],
    );
    const ask = async (): Promise<string[]> =>
      (await between.jettonWallets({ ...WALLETS, jettons: [jetton], byBalance: 'desc' }, context)).map(
        ({ balance }) => balance,
      );
    expect(await ask()).toEqual(['30', '20', '10']);
    expect(await ask()).toEqual(['20', '10', '5']);
  });
});
