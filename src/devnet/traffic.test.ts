/** The actors on the chain engine: what they do is seen in the blocks, by the decoder that reads other networks. */
import type { Address, Cell } from '@ton/core';
import { beforeAll, describe, expect, test } from 'vitest';
import { blockTransactions } from '../chain/accounts.ts';
import { addressOf } from '../chain/address.ts';
import { decodeBlock } from '../chain/block.ts';
import { openBoc } from '../chain/boc.ts';
import type { Message, Transaction } from '../chain/model.ts';
import { type Actors, createActors } from './actors/actors.ts';
import { createCast } from './actors/cast.ts';
import { initialAccounts } from './actors/initial-accounts.ts';
import type { Ledger } from './actors/ledger.ts';
import { createChain } from './chain.ts';
import { chainLedger, genesisOf } from './chain-ledger.ts';
import { exchangeRouterAddress } from './contracts/exchange.ts';
import { faultsAddress } from './contracts/faults.ts';
import { JETTON_OPS, jettonWalletAddress, readJettonMaster, readJettonWallet } from './contracts/jettons.ts';
import { NFT_OPS, nftItemAddress, readNftCollection } from './contracts/nfts.ts';
import type { Chain, ProducedStep } from './model.ts';

const START = 1_760_000_000;
const identity = { seed: 'traffic test', traders: 24 };
const cast = createCast(identity);

interface Run {
  chain: Chain;
  actors: Actors;
  ledger: Ledger;
  transactions: Transaction[];
  rootHashes: string[];
}

/** Blocks with traffic, then blocks without until nothing is on its way. */
async function run(busyBlocks: number, rate: number): Promise<Run> {
  const genesis = genesisOf(initialAccounts(cast));
  const chain = await createChain({
    folder: null,
    seed: 'x',
    genesis,
    blockTimeMs: 1000,
    startUtime: START,
    splitAt: 20,
    mergeAt: 60,
  });
  const ledger = chainLedger(chain);
  const actors = createActors({ ...identity, ledger, now: { seqno: 0, nowMs: START * 1000 }, rate });
  const transactions: Transaction[] = [];
  const rootHashes: string[] = [];

  function take({ mc, shards }: ProducedStep): number {
    rootHashes.push(mc.rootHash.toString('hex'));
    const found = [mc, ...shards].flatMap(({ bytes }) => [...blockTransactions(decodeBlock(openBoc(bytes)))]);
    transactions.push(...found);
    return found.filter(({ inMsg }) => inMsg !== null).length;
  }

  for (let seqno = 1, quiet = 0; quiet < 3 && seqno < busyBlocks + 50; seqno++) {
    const messages = take(chain.produce(START + seqno));
    if (seqno > busyBlocks) quiet = messages === 0 ? quiet + 1 : 0;
    else await actors.step({ seqno, nowMs: (START + seqno) * 1000 });
  }
  return { chain, actors, ledger, transactions, rootHashes };
}

describe('100 blocks of traffic, through a split and a merge', () => {
  let all: Run;
  beforeAll(async () => {
    all = await run(100, 8);
  });

  test('every message sent is received once, and nothing else is received', () => {
    const sent = new Map<string, Message>();
    for (const message of all.transactions.flatMap(({ outMsgs }) => outMsgs)) {
      if (message.destination !== null) sent.set(message.hash.toString('hex'), message);
    }
    const received = all.transactions
      .map(({ inMsg }) => inMsg)
      .flatMap((message) => (message === null || message.source === null ? [] : [message.hash.toString('hex')]));
    expect(sent.size).toBeGreaterThan(800);
    expect(new Set(received)).toEqual(new Set(sent.keys()));
    expect(received.length).toBe(sent.size);
  });

  test('every message taken in is executed, and none of a wallet fails', () => {
    const roots = all.transactions.filter(({ inMsg }) => inMsg !== null && inMsg.source === null);
    const { counts } = all.actors;
    const submitted = Object.values(counts.submitted).reduce((sum, count) => sum + count, 0);
    expect(counts).toMatchObject({ refused: 0, expired: 0 });
    // Beside the traffic there are the guests' and the treasury's own.
    expect(roots.length).toBeGreaterThanOrEqual(submitted);
    expect(roots.length).toBeGreaterThan(700);
    const failed = roots.filter(({ description }) => description.aborted);
    expect(failed.length).toBe(counts.submitted.externalFailure);
    expect(failed.every(({ account }) => account.equals(addressOf(faultsAddress.workChain, faultsAddress.hash)))).toBe(
      true,
    );
  });

  test('all that the traffic can do is in the blocks', () => {
    expect(Object.entries(all.actors.counts.submitted).filter(([, count]) => count === 0)).toEqual([]);
    const done = all.transactions.filter(({ description }) => !description.aborted);
    const opcodes = new Set(done.map(({ inMsg }) => inMsg?.opcode));
    const { mint, transfer, internalTransfer, transferNotification, burn, burnNotification, excesses } = JETTON_OPS;
    const jetton = [mint, transfer, internalTransfer, transferNotification, burn, burnNotification, excesses];
    for (const op of [...jetton, NFT_OPS.deploy, NFT_OPS.transfer, NFT_OPS.ownershipAssigned, 0, 0xffffffff]) {
      expect(opcodes).toContain(op);
    }
    const changes = new Set(all.transactions.map(({ origStatus, endStatus }) => `${origStatus} ${endStatus}`));
    for (const change of ['nonexist uninit', 'nonexist active', 'uninit active', 'active nonexist']) {
      expect(changes).toContain(change);
    }
    expect(all.transactions.some(({ outMsgs }) => outMsgs.some(({ destination }) => destination === null))).toBe(true);
  });

  test('the supply is the sum of the jetton wallets, and the items are as many as the collection says', () => {
    const { ledger } = all;
    const { totalSupply } = readJettonMaster(dataOf(ledger, cast.jetton.master));
    const owners = [...[...cast.demo, ...cast.traders].map(({ address }) => address), exchangeRouterAddress];
    const wallets = owners.map((owner) =>
      readJettonWallet(dataOf(ledger, jettonWalletAddress(owner, cast.jetton.master))),
    );
    expect(wallets.reduce((sum, { balance }) => sum + balance, 0n)).toBe(totalSupply);
    const { nextIndex } = readNftCollection(dataOf(ledger, cast.collection.address));
    const minted = all.actors.counts.submitted.mintItem;
    expect(nextIndex).toBe(26n + BigInt(minted));
    for (let index = 0n; index < nextIndex; index++) dataOf(ledger, nftItemAddress(index, cast.collection.address));
  });
});

test('the same seed gives the same blocks', async () => {
  const [one, two] = [await run(12, 4), await run(12, 4)];
  expect(one.rootHashes).toEqual(two.rootHashes);
  expect(one.transactions.length).toBeGreaterThan(60);
});

function dataOf(ledger: Ledger, address: Address): Cell {
  const account = ledger.account(address);
  if (account === null || account instanceof Promise || account.data === null) {
    throw new Error(`${address.toString()} has no data`);
  }
  return account.data;
}
