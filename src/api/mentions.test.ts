import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { addressOf } from '../chain/address.ts';
import type { Address } from '../chain/model.ts';
import type { BookRecord } from '../chain/records.ts';
import { createMentions, type Mentions } from './mentions.ts';

const account = (n: number): Address => addressOf(0, Buffer.alloc(32, n));
const unknown = (n: number): BookRecord => ({ account: account(n), codeHash: null, methods: null });

let named: Address[][];
let asked: Address[][];
let metrics: Registry;
let fails: boolean;
let reported: unknown[];
let mentions: Mentions;

beforeEach(() => {
  vi.useFakeTimers();
  [named, asked, reported, fails] = [[], [], [], false];
  metrics = new Registry();
  mentions = createMentions({
    source: {
      async accountStates(accounts) {
        asked.push(accounts);
        if (fails) throw new Error('away');
        // Account 1 is known, though without a code.
        return accounts
          .filter((one) => one.equals(account(1)))
          .map((one) => ({
            account: one,
            status: 'uninit',
            balance: '0',
            extraCurrencies: {},
            frozenHash: null,
            codeHash: null,
            dataHash: null,
            hash: Buffer.alloc(32),
            lastTransactionHash: Buffer.alloc(32),
            lastTransactionLt: '1',
            codeBoc: null,
            dataBoc: null,
            methods: null,
          }));
      },
    },
    perSecond: 3,
    name: (accounts) => named.push([...accounts]),
    metrics,
    report: (error) => reported.push(error),
  });
});

afterEach(() => {
  mentions.close();
  vi.useRealTimers();
});

const second = () => vi.advanceTimersByTimeAsync(1_000);

it('names what nothing is known of, so many a second, once', async () => {
  const hash = Buffer.alloc(32, 9);
  mentions.note([unknown(1), unknown(2), { ...unknown(3), codeHash: hash }, unknown(4), unknown(5), unknown(2)]);
  await second();
  expect(named).toEqual([[account(2), account(4)]]);
  await second();
  expect(named).toEqual([[account(2), account(4)], [account(5)]]);
  mentions.note([unknown(1), unknown(2), unknown(5)]);
  await second();
  expect(asked).toEqual([[account(1), account(2), account(4)], [account(5)]]);
  const { values } = await metrics.getSingleMetric('tonstream_mentioned_accounts_total')!.get();
  expect(values.map(({ labels, value }) => [labels.outcome, value])).toEqual([
    ['named', 3],
    ['known', 1],
    ['dropped', 0],
  ]);
});

it('asks again when the tables are away, and drops what is too much', async () => {
  fails = true;
  mentions.note(Array.from({ length: 1_100 }, (_, n) => ({ ...unknown(0), account: addressOf(0, uniqueId(n)) })));
  await second();
  expect([named, reported.length]).toEqual([[], 1]);
  fails = false;
  await second();
  expect(named[0].length).toBe(3);
  const { values } = await metrics.getSingleMetric('tonstream_mentioned_accounts_total')!.get();
  expect(values.find(({ labels }) => labels.outcome === 'dropped')?.value).toBe(100);
});

function uniqueId(n: number): Buffer {
  const id = Buffer.alloc(32);
  id.writeUInt32BE(n);
  return id;
}
