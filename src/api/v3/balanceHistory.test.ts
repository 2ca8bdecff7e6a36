/** Points of balances, page by page, over transactions that are given. */
import { afterEach, expect, it } from 'vitest';
import { z } from 'zod';
import { u64 } from '../../../clickhouse/literal.ts';
import { type ApiServer, serveApi } from '../../../test/api-server.ts';
import { createFakeSource, noContracts } from '../../../test/fake-source.ts';
import { addressOf, rawAddress } from '../../chain/address.ts';
import type { JettonWalletRecord } from '../../chain/contract-records.ts';
import type { TransactionFilter, TransactionRecord } from '../../chain/records.ts';
import { balanceHistory } from './schemas.ts';

const ACCOUNT = addressOf(0, Buffer.alloc(32, 7));
const WALLET = addressOf(0, Buffer.alloc(32, 8));
/** Steps of the transactions in the order of their lts: lt is the place, the balance ten times the lt. */
const STEPS = [1, 1, 1, 2, 4, 4, 5, 5, 5, 5, 9];
/** What was left when each step was done. */
const POINTS = [
  [1, 3],
  [2, 4],
  [4, 6],
  [5, 10],
  [9, 11],
];

function transactions({ ltWindow: { start = '0', end = '999' }, sort, page }: TransactionFilter) {
  // As the tables take them.
  for (const lt of [start, end]) u64(lt);
  const rows = STEPS.map((mcSeqno, i) => {
    const transaction = { account: ACCOUNT, lt: String(i + 1), now: 1_000 + i };
    return { transaction, mcSeqno, after: { balance: String(10 * (i + 1)) } } as unknown as TransactionRecord;
  }).filter((_, i) => i + 1 >= Number(start) && i + 1 <= Number(end));
  if (sort === 'desc') rows.reverse();
  return rows.slice(page.offset, page.offset + page.limit);
}

let server: ApiServer;
afterEach(() => server.close());

async function open(): Promise<void> {
  server = await serveApi(
    createFakeSource({ transactions: async (filter) => ({ rows: transactions(filter), nextCursor: null }) }).source,
  );
}

async function ask(query: string) {
  const response = await fetch(`${server.url}/api/v3/balanceHistory?${query}`);
  const body: unknown = await response.json();
  return response.status === 200 ? balanceHistory.parse(body) : z.object({ error: z.string() }).parse(body).error;
}

const shown = async (query: string) => {
  const answer = await ask(`address=${rawAddress(ACCOUNT)}&${query}`);
  if (typeof answer === 'string') throw new Error(answer);
  return answer;
};

it.each(['asc', 'desc'])('gives a point for each step, the last one of it, %s and page by page', async (sort) => {
  await open();
  const all = sort === 'asc' ? POINTS : POINTS.toReversed();
  for (const limit of [1, 2, 3, 100]) {
    const found: number[][] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: z.infer<typeof balanceHistory> = await shown(`sort=${sort}&limit=${limit}&cursor=${cursor}`);
      for (const { mc_seqno, lt, utime, balance } of page.points) {
        expect([utime, balance]).toEqual([999 + Number(lt), `${lt}0`]);
        found.push([mc_seqno, Number(lt)]);
      }
      cursor = page.next_cursor;
    }
    expect(found).toEqual(all);
  }
});

it('says that an account has nothing once it is not there, of which no state is shown', async () => {
  const left = ['active', 'nonexist', 'active'].map((endStatus, i) => {
    const transaction = { account: ACCOUNT, lt: String(i + 1), now: 1_000, endStatus };
    return { transaction, mcSeqno: i + 1, after: i === 0 ? { balance: '7' } : null } as unknown as TransactionRecord;
  });
  server = await serveApi(createFakeSource({ transactions: async () => ({ rows: left, nextCursor: null }) }).source);
  const { points } = await shown('sort=asc');
  expect(points.map(({ balance }) => balance)).toEqual(['7', '0', null]);
});

it('tells when a balance came about whose wallet was confirmed in a later step', async () => {
  const transaction = { account: WALLET, lt: '7', now: 1_700 };
  const { source } = createFakeSource({
    // Of step 11: it is found by who looks there.
    transactionsAt: async (places) =>
      places.some(({ since, mcSeqno }) => (since ?? mcSeqno) <= 11)
        ? [{ transaction, mcSeqno: 11 } as unknown as TransactionRecord]
        : [],
    contracts: {
      ...noContracts(),
      jettonWallets: async () => [{ address: WALLET } as unknown as JettonWalletRecord],
      jettonBalances: async () => [{ lt: '7', mcSeqno: 12, balance: '5' }],
    },
  });
  server = await serveApi(source);
  const { points } = await shown(`jetton=${rawAddress(ACCOUNT)}`);
  expect(points).toEqual([{ mc_seqno: 12, lt: '7', utime: 1_700, balance: '5' }]);
});

it('keeps to the window', async () => {
  await open();
  const { points } = await shown('start_lt=4&end_lt=6');
  expect(points.map(({ mc_seqno }) => mc_seqno)).toEqual([4, 2]);
  const all = await shown(`end_lt=${2n ** 64n - 1n}`);
  expect(all.points).toHaveLength(POINTS.length);
});

it.each(['asc', 'desc'])('has no point of a step that goes on behind the window, %s and page by page', async (sort) => {
  await open();
  for (const limit of [1, 2, 100]) {
    const found: number[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: z.infer<typeof balanceHistory> = await shown(`end_lt=8&sort=${sort}&limit=${limit}&cursor=${cursor}`);
      found.push(...page.points.map(({ mc_seqno }) => mc_seqno));
      cursor = page.next_cursor;
    }
    expect(found).toEqual(sort === 'asc' ? [1, 2, 4] : [4, 2, 1]);
  }
});

it('refuses a question without an account, and a foreign cursor', async () => {
  await open();
  expect(await ask('')).toBe('address is required');
  expect(await ask(`address=${rawAddress(ACCOUNT)}&cursor=nonsense`)).toContain('cursor');
});
