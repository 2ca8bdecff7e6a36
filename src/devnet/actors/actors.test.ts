import { Address, type Cell, toNano } from '@ton/core';
import { beforeAll, describe, expect, test } from 'vitest';
import { exchangeRouterAddress } from '../contracts/exchange.ts';
import { faultsAddress } from '../contracts/faults.ts';
import { JETTON_OPS, jettonWalletAddress, readJettonMaster, readJettonWallet } from '../contracts/jettons.ts';
import { NFT_OPS, nftItemAddress, readNftCollection, readNftItem } from '../contracts/nfts.ts';
import { outcomeOf, TEST_TIME } from '../contracts/test-sandbox.ts';
import { type Actors, createActors, demoWallets } from './actors.ts';
import { createCast, FIRST_ITEMS } from './cast.ts';
import { type InitialAccount, initialAccounts } from './initial-accounts.ts';
import type { Ledger } from './ledger.ts';
import { sandboxLedger, type TestLedger } from './test-ledger.ts';
import { DEED_NAMES } from './traffic.ts';

const seed = 'actors test';
const cast = createCast({ seed, traders: 20 });
const genesis = initialAccounts(cast);
const now = { seqno: 1, nowMs: TEST_TIME * 1000 };

describe('200 messages in the sandbox', () => {
  let ledger: TestLedger;
  let actors: Actors;

  beforeAll(async () => {
    ledger = await sandboxLedger(genesis);
    actors = createActors({ seed, traders: 20, ledger, now, rate: 10 });
    for (let steps = 0; steps < 80 && ledger.submitted.length < 200; steps++) await actors.step(ledger.tick());
  });

  test('all are valid', () => {
    expect(ledger.submitted.length).toBeGreaterThanOrEqual(200);
    expect(actors.counts).toMatchObject({ refused: 0, expired: 0, lastRefusal: null });
    for (const { inMessage, description } of ledger.transactions) {
      if (inMessage?.info.type !== 'external-in' || inMessage.info.dest.equals(faultsAddress)) continue;
      expect(description).toMatchObject({ type: 'generic', aborted: false, actionPhase: { success: true } });
    }
  });

  test('everything that the traffic can do is done', () => {
    expect(Object.entries(actors.counts.submitted).filter(([, count]) => count === 0)).toEqual([]);
    expect(Object.keys(actors.counts.submitted)).toEqual(DEED_NAMES);
    const outcomes = ledger.transactions.map(outcomeOf);
    const seen = new Set(outcomes.filter(({ aborted }) => !aborted).map(({ opcode }) => opcode));
    const jettonOps = Object.values(JETTON_OPS).filter(
      (op) => op !== JETTON_OPS.provideWalletAddress && op !== JETTON_OPS.takeWalletAddress,
    );
    for (const op of [...jettonOps, NFT_OPS.deploy, NFT_OPS.transfer, NFT_OPS.ownershipAssigned, 0, 0xffffffff]) {
      expect(seen).toContain(op);
    }
    const codes = new Set(outcomes.map(({ exitCode }) => exitCode));
    for (const code of [0, 47, 100, -14, null]) expect(codes).toContain(code);
    expect(outcomes.some(({ actionCode }) => actionCode === 37)).toBe(true);
    expect(ledger.externalsOut).toBeGreaterThan(0);
    const changes = ledger.transactions.map(({ oldStatus, endStatus }) => `${oldStatus} ${endStatus}`);
    for (const change of ['uninitialized active', 'active non-existing']) expect(changes).toContain(change);
  });

  test('the jettons of all wallets are the supply, and every item is with somebody', async () => {
    const master = await data(ledger, cast.jetton.master);
    const owners = [...cast.demo, ...cast.traders];
    let sum = 0n;
    for (const address of [...owners.map((owner) => owner.address), exchangeRouterAddress]) {
      sum += readJettonWallet(await data(ledger, jettonWalletAddress(address, cast.jetton.master))).balance;
    }
    expect(sum).toBe(readJettonMaster(master).totalSupply);
    const { nextIndex } = readNftCollection(await data(ledger, cast.collection.address));
    expect(nextIndex).toBeGreaterThan(26n);
    const known = new Set(owners.map(({ address }) => address.toRawString()));
    for (let index = 0n; index < nextIndex; index++) {
      const item = readNftItem(await data(ledger, nftItemAddress(index, cast.collection.address)));
      // Two are at the market.
      if (index === BigInt(FIRST_ITEMS) || index === BigInt(FIRST_ITEMS) + 1n) continue;
      expect(known).toContain(item?.owner.toRawString());
    }
  });

  test('demo wallets are left alone', async () => {
    for (const { address } of cast.demo) {
      expect((await ledger.account(address))?.balance).toBe(toNano('1000'));
    }
  });
});

async function data(ledger: Ledger, address: Address): Promise<Cell> {
  const account = await ledger.account(address);
  if (!account?.data) throw new Error(`${address.toString()} has no data`);
  return account.data;
}

/** A chain that takes everything in and executes nothing. */
function stalled(accounts: readonly InitialAccount[]): Ledger & { submitted: Cell[] } {
  const byAddress = new Map(accounts.map((account) => [account.address.toRawString(), account]));
  const submitted: Cell[] = [];
  return {
    submitted,
    account(address) {
      const found = byAddress.get(address.toRawString());
      return found ? { status: 'active', balance: found.balance, data: found.data } : null;
    },
    submit(message) {
      submitted.push(message);
      return { accepted: true };
    },
  };
}

function steps(actors: Actors, count: number, ms = 1000): Promise<number[]> {
  const all = Array.from({ length: count }, (_, n) => ({ seqno: 2 + n, nowMs: now.nowMs + (n + 1) * ms }));
  return all.reduce<Promise<number[]>>(
    async (before, moment) => [...(await before), await actors.step(moment)],
    Promise.resolve([]),
  );
}

test('a chain that executes nothing is not flooded; what expired is given up and sent anew', async () => {
  const ledger = stalled(genesis);
  const actors = createActors({ seed, traders: 20, ledger, now, rate: 100 });
  await steps(actors, 55);
  // One of each wallet; the failing external has none, and comes once in 100 at most.
  const before = ledger.submitted.length;
  expect(before).toBeGreaterThanOrEqual(20);
  expect(before).toBeLessThan(30 + cast.players.length);
  for (let n = 56; n < 64; n++) await actors.step({ seqno: 2 + n, nowMs: now.nowMs + n * 1000 });
  expect(actors.counts.expired).toBeGreaterThan(0);
  expect(ledger.submitted.length).toBeGreaterThan(before);
});

test('the rate is kept, also with blocks of 400 ms; 0 switches the traffic off; a long stall is not caught up with', async () => {
  const ledger = stalled(genesis);
  const actors = createActors({ seed, traders: 20, ledger, now, rate: 2 });
  const sent = (await steps(actors, 11, 400)).reduce((sum, count) => sum + count, 0);
  expect(sent).toBe(8);
  actors.setRate(0);
  expect(await actors.step({ seqno: 50, nowMs: now.nowMs + 10_000 })).toBe(0);
  actors.setRate(2);
  expect(await actors.step({ seqno: 51, nowMs: now.nowMs + 3_600_000 })).toBeLessThanOrEqual(4);
});

test('the same seed and chain give the same messages, another seed others', async () => {
  const hashes = async (name: string): Promise<string[]> => {
    const accounts = initialAccounts(createCast({ seed: name, traders: 20 }));
    const ledger = stalled(accounts);
    await steps(createActors({ seed: name, traders: 20, ledger, now, rate: 5 }), 4);
    return ledger.submitted.map((message) => message.hash().toString('hex'));
  };
  const first = await hashes('one');
  expect(first.length).toBeGreaterThan(10);
  expect(await hashes('one')).toEqual(first);
  const others = new Set(await hashes('two'));
  expect(first.filter((hash) => others.has(hash))).toEqual([]);
});

test('a chain that refuses is asked a few times in a step, and the refusals are counted', async () => {
  const ledger: Ledger = { ...stalled(genesis), submit: () => ({ accepted: false, reason: 'full' }) };
  const actors = createActors({ seed, traders: 20, ledger, now, rate: 10 });
  await steps(actors, 3);
  expect(actors.counts.lastRefusal).toBe('full');
  expect(actors.counts.refused).toBe(10);
});

test('weights choose what is done', async () => {
  const ledger = stalled(genesis);
  const weights = { transfer: 9, burn: 1 };
  const actors = createActors({ seed, traders: 20, ledger, now, rate: 10, weights });
  await steps(actors, 3);
  const { transfer, burn, ...others } = actors.counts.submitted;
  expect(transfer).toBeGreaterThan(burn);
  expect(burn).toBeGreaterThan(0);
  expect(Object.values(others).every((count) => count === 0)).toBe(true);
});

test('the treasury fills up who is low', async () => {
  const poor = genesis.map((account) =>
    account.address.equals(cast.traders[3].address) ? { ...account, balance: toNano('5') } : account,
  );
  const ledger = await sandboxLedger(poor);
  const actors = createActors({ seed, traders: 20, ledger, now, rate: 0.001 });
  await actors.step(ledger.tick());
  const balance = (await ledger.account(cast.traders[3].address))?.balance ?? 0n;
  expect(balance).toBeGreaterThan(toNano('99.9'));
  expect(ledger.submitted.length).toBe(1);
});

test('initial accounts are apart from each other and demo keys are printed', () => {
  expect(new Set(genesis.map(({ address }) => address.toRawString())).size).toBe(genesis.length);
  const shown = demoWallets(cast);
  expect(shown.map(({ version }) => version)).toEqual(['v3r2', 'v4r2', 'v5r1']);
  expect(shown.every(({ secretSeed }) => /^[0-9a-f]{64}$/.test(secretSeed))).toBe(true);
  expect(Address.parse(shown[0].address).equals(cast.demo[0].address)).toBe(true);
});
