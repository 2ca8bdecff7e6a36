import { afterAll, beforeAll, expect, it } from 'vitest';
import { emulateSent } from '../../test/emulated-devnet.ts';
import { differenceOf } from '../../test/emulated-truth.ts';
import { createPeopledDevnet, type PeopledDevnet } from '../../test/peopled-devnet.ts';
import { blockTransactions } from '../chain/accounts.ts';
import { addressOf } from '../chain/address.ts';
import { decodeBlock } from '../chain/block.ts';
import { openBoc } from '../chain/boc.ts';
import { Builder, Cell, toBoc } from '../chain/builder.ts';
import { readExternalMessage, writeExternalMessage } from '../chain/external-message.ts';
import { hashKey } from '../chain/hash.ts';
import type { Transaction } from '../chain/model.ts';
import { DEEDS } from '../devnet/actors/traffic.ts';
import { configurationOf } from '../devnet/liteserver/settings.ts';
import type { ProducedStep } from '../devnet/model.ts';
import { createTvmPool, tvmConfig } from '../tvm/pool.ts';
import { beginningOf, readMessage } from './emulator.ts';
import { EMULATION_LIMITS, emulate, NotAccepted } from './trace.ts';

const STEPS = 10;
const pool = createTvmPool({ workers: 1, maxQueued: 1000, timeoutMs: 60_000 });
let devnet: PeopledDevnet;

beforeAll(async () => {
  devnet = await createPeopledDevnet('emulated', 6, { weights: DEEDS });
});
afterAll(async () => {
  devnet?.close();
  await pool.close();
});

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
    for (const boc of sent.splice(0)) {
      const { transactions, isIncomplete } = await emulateSent(devnet.chain, pool, boc);
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
  const refused = await emulateSent(devnet.chain, pool, message.toBoc()).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(NotAccepted);
  expect(refused).toMatchObject({ exitCode: expect.any(Number) });
});

it('leaves out what is behind the limits, and says so', async () => {
  expect(EMULATION_LIMITS).toEqual({ transactions: 256, depth: 32, bytes: 4 * 1024 * 1024 });
  const sent: Buffer[] = [];
  const stop = devnet.chain.onExternal((boc) => void sent.push(boc));
  const run = (boc: Buffer, limits = EMULATION_LIMITS) => emulateSent(devnet.chain, pool, boc, limits);
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
  const MANY = 1e9;
  const bocs = (transactions: typeof whole) => transactions.map((one) => one.boc);
  const few = await run(boc, { transactions: 2, depth: 32, bytes: MANY });
  expect([bocs(few.transactions), few.isIncomplete]).toEqual([bocs(whole.slice(0, 2)), true]);
  const shallow = await run(boc, { transactions: 256, depth: 2, bytes: MANY });
  expect(shallow.isIncomplete).toBe(true);
  expect(bocs(shallow.transactions)).toEqual(bocs(whole.filter(({ depth }) => depth < 2)));
  const depth = 3 + Math.max(...whole.map((one) => one.depth));
  const all = await run(boc, { transactions: whole.length, depth, bytes: MANY });
  expect([bocs(all.transactions), all.isIncomplete]).toEqual([bocs(whole), false]);
  // The one that is above is the last.
  const light = await run(boc, { transactions: 256, depth, bytes: whole[0].boc.length + 1 });
  expect([bocs(light.transactions), light.isIncomplete]).toEqual([bocs(whole.slice(0, 2)), true]);
});

it('lets contracts load the libraries that their data names', async () => {
  const { mc } = devnet.chain.head();
  const state = devnet.chain.state(mc);
  if (state === null) throw new Error('the devnet keeps its newest state');
  const library = new Builder().u(7, 8).cell();
  const named = new Cell(Buffer.concat([Buffer.of(2), library.hash()]), 264, [], true);
  // ACCEPT, then c4: CTOS, PLDREF, CTOS, DROP.
  const code = new Builder().bytes(Buffer.from('f800ed44d0d74cd030', 'hex')).cell();
  const id = Buffer.alloc(32, 0x11);
  const account = new Builder().u(12, 4).i(0, 8).bytes(id).varUint(0n, 3).varUint(0n, 3).u(0, 3).u(mc.genUtime, 32);
  account.bit(0).big(0n, 64).grams(1_000_000_000n).bit(0);
  account.u(0b100, 3).maybeRef(code).maybeRef(new Builder().ref(named).cell()).bit(0);
  const message = writeExternalMessage({ address: addressOf(0, id), body: new Builder().cell(), init: null });
  const config = tvmConfig(configurationOf(state, () => undefined));
  const asked: string[] = [];
  const view = {
    config,
    prevBlocks: null,
    library: async (hash: Buffer) => {
      asked.push(hash.toString('hex'));
      return hash.equals(library.hash()) ? library : null;
    },
  };
  const none = { lastTransactionHash: Buffer.alloc(32), lastTransactionLt: '0' };
  const { transactions } = await emulate(
    [beginningOf(readMessage(toBoc(message)))],
    { pool, view, tops: [], account: async () => ({ boc: toBoc(account.cell()), ...none }) },
    { nowMs: (mc.genUtime + 1) * 1000, randSeed: Buffer.alloc(32), signal: new AbortController().signal },
  );
  expect(transactions.map(({ transaction }) => transaction.description.compute)).toMatchObject([{ exitCode: 0 }]);
  expect(asked).toContain(library.hash().toString('hex'));
});
