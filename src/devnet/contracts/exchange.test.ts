import { type Address, beginCell, type Cell, comment, toNano } from '@ton/core';
import type { Blockchain } from '@ton/sandbox';
import { beforeAll, expect, test } from 'vitest';
import {
  EXCHANGE_OPS,
  EXCHANGE_PAID,
  exchangePayload,
  exchangePoolAddress,
  exchangePoolCode,
  exchangePoolData,
  exchangeRouterAddress,
  exchangeRouterCode,
  exchangeRouterData,
  readExchangePool,
} from './exchange.ts';
import {
  jettonMasterAddress,
  jettonMasterCode,
  jettonMasterData,
  jettonTransfer,
  jettonWalletAddress,
  jettonWalletCode,
  jettonWalletData,
  readJettonWallet,
} from './jettons.ts';
import { dataOf, outcomeOf, sandboxWith, type TestAccount } from './test-sandbox.ts';

const RESERVE = 1_000_000n;
const OWN = 50_000n;
const balance = toNano('1');
const [dust, gold] = ['dust', 'gold'].map((name) => jettonMasterAddress(exchangeRouterAddress, comment(name)));
const pool = exchangePoolAddress(dust, gold);

type Treasury = Awaited<ReturnType<Blockchain['treasury']>>;
let blockchain: Blockchain;
let trader: Treasury;

function walletOf(owner: Address, master: Address, units: bigint): TestAccount {
  const data = jettonWalletData({ balance: units, owner, master });
  return { address: jettonWalletAddress(owner, master), balance, code: jettonWalletCode, data };
}

beforeAll(async () => {
  const { address: owner } = await (await sandboxWith([])).treasury('trader');
  const router = { address: exchangeRouterAddress, code: exchangeRouterCode, data: exchangeRouterData };
  blockchain = await sandboxWith([
    { ...router, balance },
    { address: pool, balance, code: exchangePoolCode, data: exchangePoolData(dust, gold, RESERVE) },
    ...['dust', 'gold'].map((name) => {
      const content = comment(name);
      const data = jettonMasterData({ totalSupply: RESERVE, admin: exchangeRouterAddress, content });
      return { address: jettonMasterAddress(exchangeRouterAddress, content), balance, code: jettonMasterCode, data };
    }),
    ...[dust, gold].map((master) => walletOf(exchangeRouterAddress, master, RESERVE)),
    walletOf(owner, dust, OWN),
  ]);
  trader = await blockchain.treasury('trader');
});

async function unitsOf(owner: Address, master: Address): Promise<bigint> {
  return readJettonWallet(await dataOf(blockchain, jettonWalletAddress(owner, master))).balance;
}

function give(master: Address, amount: bigint, forwardPayload: Cell) {
  const body = jettonTransfer({
    queryId: 7n,
    amount,
    destination: exchangeRouterAddress,
    responseDestination: trader.address,
    forwardTonAmount: toNano('0.2'),
    forwardPayload,
  });
  return trader.send({ to: jettonWalletAddress(trader.address, master), value: toNano('0.3'), bounce: true, body });
}

const asking = (bought: Address, minOut: bigint): Cell => exchangePayload({ bought, minOut, to: trader.address });

/** In the order of the two jettons, not of their pool. */
async function reserves(): Promise<bigint[]> {
  const held = readExchangePool(await dataOf(blockchain, pool));
  const { stackReader } = await blockchain.runGetMethod(pool, 'get_reserves');
  expect([stackReader.readBigNumber(), stackReader.readBigNumber()]).toEqual(held);
  const [dusts, golds] = [dust, gold].map((master) => jettonWalletAddress(exchangeRouterAddress, master));
  return dusts.hash.compare(golds.hash) < 0 ? held : held.toReversed();
}

test('what is sold is paid for by the product of the reserves, less 3 in 1,000', async () => {
  // 10,000 * 997 * 1,000,000 / (1,000,000 * 1,000 + 10,000 * 997) = 9,871.58…
  await give(dust, 10_000n, asking(gold, 9_871n));
  expect(await unitsOf(trader.address, gold)).toBe(9_871n);
  expect(await unitsOf(trader.address, dust)).toBe(OWN - 10_000n);
  expect(await reserves()).toEqual([1_010_000n, 990_129n]);
  // 9,871 * 997 * 1,010,000 / (990,129 * 1,000 + 9,871 * 997) = 9,940.27…
  await give(gold, 9_871n, asking(dust, 1n));
  expect(await unitsOf(trader.address, dust)).toBe(OWN - 10_000n + 9_940n);
  expect(await reserves()).toEqual([1_000_060n, 1_000_000n]);
  for (const [master, units] of [[dust, 1_000_060n] as const, [gold, 1_000_000n] as const]) {
    expect(await unitsOf(exchangeRouterAddress, master)).toBe(units);
  }
});

test('nothing changes hands where the price is not met, or nothing is asked for', async () => {
  const before = [await unitsOf(trader.address, dust), ...(await reserves())];
  const { transactions } = await give(dust, 10_000n, asking(gold, 10_000n));
  const paid = transactions.find(({ inMessage }) => inMessage?.body.beginParse().remainingBits === 396);
  const body = paid?.inMessage?.body.beginParse();
  expect(body?.loadUint(32)).toBe(EXCHANGE_OPS.payTo);
  expect(body?.skip(64).loadAddress().equals(trader.address)).toBe(true);
  expect(body?.loadUint(32)).toBe(EXCHANGE_PAID.refused);
  await give(dust, 10_000n, comment('a gift?'));
  expect([await unitsOf(trader.address, dust), ...(await reserves())]).toEqual(before);
});

test('nobody but the pool has the router pay, and nobody but the router has the pool trade', async () => {
  const [token0, token1] = [dust, gold].map((master) => jettonWalletAddress(exchangeRouterAddress, master));
  const amounts = beginCell().storeCoins(5n).storeAddress(token0).storeCoins(0n).storeAddress(token1).endCell();
  const pay = beginCell().storeUint(EXCHANGE_OPS.payTo, 32).storeUint(1, 64).storeAddress(trader.address);
  const order = pay.storeUint(EXCHANGE_PAID.traded, 32).storeBit(true).storeRef(amounts).endCell();
  const users = beginCell().storeAddress(trader.address).endCell();
  const swap = beginCell().storeUint(EXCHANGE_OPS.swap, 32).storeUint(1, 64).storeAddress(trader.address);
  const trade = swap.storeAddress(token0).storeCoins(5n).storeCoins(1n).storeBit(false).storeRef(users).endCell();
  const refusal = async (to: Address, body: Cell) => {
    const { transactions } = await trader.send({ to, value: toNano('0.2'), bounce: true, body });
    return transactions.map(outcomeOf)[1];
  };
  expect(await refusal(exchangeRouterAddress, order)).toMatchObject({ aborted: true, exitCode: 80 });
  expect(await refusal(pool, trade)).toMatchObject({ aborted: true, exitCode: 81 });
});
