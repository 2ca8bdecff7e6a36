import { afterAll, beforeAll, expect, it } from 'vitest';
import { differenceOf } from '../../test/emulated-truth.ts';
import { createPeopledDevnet, type PeopledDevnet } from '../../test/peopled-devnet.ts';
import { blockTransactions } from '../chain/accounts.ts';
import { workchainOf } from '../chain/address.ts';
import { decodeBlock } from '../chain/block.ts';
import { openBoc } from '../chain/boc.ts';
import { parseBoc, toBoc } from '../chain/builder.ts';
import { readExternalMessage } from '../chain/external-message.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, Transaction } from '../chain/model.ts';
import { DEEDS } from '../devnet/actors/traffic.ts';
import { configurationOf } from '../devnet/liteserver/settings.ts';
import type { ProducedStep } from '../devnet/model.ts';
import { createTvmPool, tvmConfig } from '../tvm/pool.ts';
import { type AccountBefore, EMULATION_LIMITS, emulate, NotAccepted, type Surroundings } from './trace.ts';

const STEPS = 10;
const SIGNAL = new AbortController().signal;
const NOBODY: AccountBefore = { boc: null, lastTransactionHash: Buffer.alloc(32), lastTransactionLt: '0' };
const pool = createTvmPool({ workers: 1, maxQueued: 1000, timeoutMs: 60_000 });
let devnet: PeopledDevnet;

beforeAll(async () => {
  devnet = await createPeopledDevnet('emulated', 6, { weights: DEEDS });
});
afterAll(async () => {
  devnet?.close();
  await pool.close();
});

/** The chain as it stands. */
function surroundings(): Surroundings {
  const { mc, shards } = devnet.chain.head();
  const state = devnet.chain.state(mc);
  if (state === null) throw new Error('the devnet keeps its newest state');
  const config = tvmConfig(configurationOf(state, () => undefined));
  return {
    pool,
    view: { config, prevBlocks: null, library: async () => null },
    tops: [mc, ...shards].map((place) => ({ ...place, endLt: place.endLt.toString() })),
    async account(address: Address) {
      const found = devnet.chain.account(workchainOf(address), address.subarray(4));
      if (found === null) return NOBODY;
      const { account, lastTransactionHash, lastTransactionLt } = found;
      return { boc: toBoc(account), lastTransactionHash, lastTransactionLt: lastTransactionLt.toString() };
    },
  };
}

function emulateSent(boc: Buffer, nowMs: number) {
  const { destination } = readExternalMessage(boc);
  const beginning = { message: parseBoc(boc), destination, createdLt: null, hop: 0, depth: 0 };
  return emulate([beginning], surroundings(), { nowMs, randSeed: Buffer.alloc(32), signal: SIGNAL });
}

function transactionsOf({ mc, shards }: ProducedStep): Transaction[] {
  return [...shards, mc].flatMap(({ bytes }) => [...blockTransactions(decodeBlock(openBoc(bytes)))]);
}

it('tells what becomes of a message, as it comes in the next block', async () => {
  const differing: string[] = [];
  let same = 0;
  const sent: Buffer[] = [];
  const stop = devnet.chain.onExternal((boc) => void sent.push(boc));
  const real = new Map<string, Transaction>();
  const emulated: { root: string; transactions: Transaction[] }[] = [];
  for (let n = 0; n < STEPS; n++) {
    const nowMs = (devnet.chain.head().mc.genUtime + 1) * 1000;
    for (const boc of sent.splice(0)) {
      const { transactions, isIncomplete } = await emulateSent(boc, nowMs);
      expect(isIncomplete).toBe(false);
      const root = hashKey(readExternalMessage(boc).hash);
      emulated.push({ root, transactions: transactions.map(({ transaction }) => transaction) });
    }
    for (const one of transactionsOf(await devnet.step())) if (one.inMsg) real.set(hashKey(one.inMsg.hash), one);
  }
  stop();
  for (const { root, transactions } of emulated) {
    const difference = differenceOf(root, transactions, real.values());
    if (difference === null) same++;
    else differing.push(difference);
  }
  expect(emulated.length).toBeGreaterThan(40);
  if (differing.length > 0) process.stdout.write(`emulated otherwise: ${differing.join('\n')}\n`);
  expect(same / emulated.length).toBeGreaterThanOrEqual(0.99);
});

it('says with which exit code a contract refuses a message', async () => {
  const [wallet] = devnet.cast.traders;
  const message = wallet.order({ seqno: 1_000_000, validUntil: 4_000_000_000, messages: [] });
  const refused = await emulateSent(message.toBoc(), Date.now()).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(NotAccepted);
  expect(refused).toMatchObject({ exitCode: expect.any(Number) });
});

it('leaves out what is behind the limits, and says so', async () => {
  expect(EMULATION_LIMITS).toEqual({ transactions: 256, depth: 32 });
  const sent: Buffer[] = [];
  const stop = devnet.chain.onExternal((boc) => void sent.push(boc));
  const run = (boc: Buffer, limits = EMULATION_LIMITS) => {
    const { destination } = readExternalMessage(boc);
    const beginning = { message: parseBoc(boc), destination, createdLt: null, hop: 0, depth: 0 };
    const nowMs = (devnet.chain.head().mc.genUtime + 1) * 1000;
    return emulate([beginning], surroundings(), { nowMs, randSeed: Buffer.alloc(32), signal: SIGNAL, limits });
  };
  const deepest = async () => {
    for (let n = 0; n < STEPS; n++) {
      await devnet.step();
      for (const boc of sent.splice(0)) {
        const { transactions } = await run(boc);
        if (transactions.some(({ depth }) => depth > 1)) return { boc, transactions };
      }
    }
    throw new Error('nobody sends on what was received');
  };
  const { boc, transactions: whole } = await deepest();
  stop();
  const bocs = (transactions: typeof whole) => transactions.map((one) => one.boc);
  const few = await run(boc, { transactions: 2, depth: 32 });
  expect([bocs(few.transactions), few.isIncomplete]).toEqual([bocs(whole.slice(0, 2)), true]);
  const shallow = await run(boc, { transactions: 256, depth: 2 });
  expect(shallow.isIncomplete).toBe(true);
  expect(bocs(shallow.transactions)).toEqual(bocs(whole.filter(({ depth }) => depth < 2)));
  const all = await run(boc, { transactions: whole.length, depth: 3 + Math.max(...whole.map(({ depth }) => depth)) });
  expect([bocs(all.transactions), all.isIncomplete]).toEqual([bocs(whole), false]);
});
