import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { emulateSent } from '../../test/emulated-devnet.ts';
import { noContracts } from '../../test/fake-source.ts';
import { createPeopledDevnet, type PeopledDevnet } from '../../test/peopled-devnet.ts';
import { addressOf } from '../chain/address.ts';
import type { JettonWalletRecord } from '../chain/contract-records.ts';
import type { JettonWalletState } from '../chain/contracts/reader.ts';
import { hashKey } from '../chain/hash.ts';
import { nftAuctionCode, nftSaleCode } from '../devnet/contracts/market.ts';
import { createTvmPool } from '../tvm/pool.ts';
import { createKnowledge, traceOf } from './knowledge.ts';

const MOST_STEPS = 80;
const SIGNAL = new AbortController().signal;
const MARKET = new Set([nftSaleCode, nftAuctionCode].map((code) => hashKey(code.hash())));
const pool = createTvmPool({ workers: 1, maxQueued: 1000, timeoutMs: 60_000 });
let devnet: PeopledDevnet;

beforeAll(async () => {
  devnet = await createPeopledDevnet('knowledge', 6, { weights: { sale: 3, auction: 1 } });
});
afterAll(async () => {
  devnet?.close();
  await pool.close();
});

it('knows a sale that the trace ends, though the tables do not know it yet', async () => {
  const clickhouse = { query: async () => Buffer.alloc(0) } as unknown as ClickHouse;
  const { classify } = createKnowledge({
    clickhouse,
    contracts: noContracts(),
    pool,
    dnsCollections: [],
    globalId: () => null,
  });
  const sent: Buffer[] = [];
  const stop = devnet.chain.onExternal((boc) => void sent.push(boc));
  let told: string[] | null = null;
  for (let n = 0; n < MOST_STEPS && told === null; n++) {
    for (const boc of sent.splice(0)) {
      const found = await emulateSent(devnet.chain, pool, boc);
      const ended = found.transactions.some(
        ({ before, after }) => before.codeHash && MARKET.has(hashKey(before.codeHash)) && after.status !== 'active',
      );
      if (!ended) continue;
      const transactions = found.transactions.map(({ transaction }) => transaction);
      const ends = { id: null, externalHash: null, externalHashNorm: null, mcSeqnoEnd: n };
      const { actions } = await classify(traceOf(ends, transactions), found, n, SIGNAL);
      told = actions.map(({ type }) => type);
    }
    await devnet.step();
  }
  stop();
  expect(told).toEqual(expect.arrayContaining([expect.stringMatching(/^nft_(purchase|cancel_sale|cancel_auction)$/)]));
});

it('knows at a step what the step has made of a contract that was nothing before it', async () => {
  const clickhouse = { query: async () => Buffer.alloc(0) } as unknown as ClickHouse;
  const [account, owner, master] = [1, 2, 3].map((n) => addressOf(0, Buffer.alloc(32, n)));
  let mcSeqno = 5;
  const row = { address: account, owner, jetton: master } as JettonWalletRecord;
  const tokens = async () => ({ items: [], collections: [], masters: [], wallets: mcSeqno < 6 ? [] : [row] });
  const { wallets } = createKnowledge({
    clickhouse,
    contracts: { ...noContracts(), tokens },
    pool,
    dnsCollections: [],
    globalId: () => null,
  });
  const left = [{ account, dataHash: null, claims: { balance: '7', owner, master } as JettonWalletState }];
  expect(await wallets(left, null, mcSeqno, SIGNAL)).toEqual([null]);
  mcSeqno = 6;
  const known = [{ balance: '7', owner, jetton: master }];
  expect(await wallets(left, null, mcSeqno, SIGNAL)).toEqual(known);
  // Whoever is a step behind is told no less.
  expect(await wallets(left, null, mcSeqno - 1, SIGNAL)).toEqual(known);
});
