import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { rounds } from '../../test/chance.ts';
import { type Audit, createAudit } from '../../test/devnet-audit.ts';
import { createTestWallet, type TestWallet } from '../../test/devnet-wallets.ts';
import { addressOf } from '../chain/address.ts';
import { decodeBlock } from '../chain/block.ts';
import { openBoc } from '../chain/boc.ts';
import { Builder, parseBoc, toBoc } from '../chain/builder.ts';
import { writeExternalMessage } from '../chain/external-message.ts';
import { createChain } from './chain.ts';
import { derive } from './configuration.ts';
import type { BlockPlace, Chain, ChainOptions, ProducedStep } from './model.ts';
import { readState } from './state.ts';

/** Of the chain that is audited. */
const STEPS = rounds(120, 400);
const START = 1_700_000_000;
const BALANCE = 1_000_000_000_000n;
const COIN = 1_000_000_000n;

function createWallets(): TestWallet[] {
  return Array.from({ length: 12 }, (_, i) => createTestWallet(i, i < 2 ? -1 : 0));
}

function options(wallets: readonly TestWallet[], more: Partial<ChainOptions> = {}): ChainOptions {
  return {
    folder: null,
    seed: 'chain test',
    genesis: wallets.map((wallet) => wallet.genesis(BALANCE)),
    blockTimeMs: 1000,
    startUtime: START,
    ...more,
  };
}

/** Of the test wallets and the two system accounts. */
const SUPPLY = 12n * BALANCE + 2n * 1_000_000_000_000n;

/** The same payments for the same wallets and step, some of them many at once, to strangers and across workchains. */
function submitSome(chain: Chain, wallets: readonly TestWallet[], step: number): void {
  for (let i = 0; i < 2; i++) {
    const dice = derive('payments', step, i);
    const from = wallets[dice[0] % wallets.length];
    const payments = Array.from({ length: 1 + (dice[1] % 3) }, (_, k) => {
      const stranger = dice[8 + k] % 8 === 0;
      const to = stranger ? createTestWallet(1000 + dice[9 + k]) : wallets[dice[2 + k] % wallets.length];
      return {
        to: to.address,
        value: COIN / 10n + BigInt(dice[12 + k]),
        bounce: dice[16 + k] % 2 === 0,
        comment: `${step}`,
      };
    });
    const result = chain.submit(from.pay(...payments));
    expect(result).toMatchObject({ accepted: true });
  }
}

function run(chain: Chain, wallets: readonly TestWallet[], steps: number, audit: Audit | null = null): ProducedStep[] {
  return Array.from({ length: steps }, () => {
    const { seqno } = chain.head().mc;
    if (seqno > 0) submitSome(chain, wallets, seqno);
    const step = chain.produce(START + seqno);
    audit?.step(step);
    return step;
  });
}

const folders: string[] = [];
function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'devnet-'));
  folders.push(folder);
  return folder;
}
afterAll(() => folders.forEach((folder) => void rmSync(folder, { recursive: true })));

function rootHashes(steps: readonly ProducedStep[]): string[] {
  return steps.flatMap(({ shards, mc }) => [...shards, mc].map(({ fileHash }) => fileHash.toString('hex')));
}

test('many blocks with a split and a merge agree with themselves and with each other', async () => {
  const wallets = createWallets();
  const chain = await createChain(options(wallets, { splitAt: STEPS / 4, mergeAt: (STEPS * 3) / 4 }));
  const audit = createAudit(chain, SUPPLY);
  const steps = run(chain, wallets, STEPS + 1, audit);
  for (let i = 0; i < 5; i++) audit.step(chain.produce(START + 1000));
  expect(steps.reduce((sum, { shards }) => sum + shards.length + 1, 0)).toBeGreaterThan(2.4 * STEPS);
  expect(audit.inFlight().size).toBe(0);
  expect(chain.head().shards.map((place) => queueOf(chain, place))).toEqual([{ queued: 0 }]);
  expect(audit.transactions()).toBeGreaterThan(5 * STEPS);
  // in: msg_import_ext, _imm, _fin; out: msg_export_new, _imm, _deq_imm (after the merge), _deq_short
  expect([...audit.kinds.keys()].sort()).toEqual(['in 0', 'in 3', 'in 4', 'out 1', 'out 2', 'out 4', 'out 6']);
  chain.close();
});

/** Size of the out queue as the state tells it. */
function queueOf(chain: Chain, place: BlockPlace): { queued: number } {
  const state = chain.state(place);
  if (state === null) throw new Error('no state');
  return { queued: readState(state).queue.entries.length };
}

test('a split and a merge are announced, flagged and registered', async () => {
  const wallets = createWallets();
  const chain = await createChain(options(wallets, { splitAt: 5, mergeAt: 8 }));
  const steps = run(chain, wallets, 9);
  const headers = steps.map(({ shards }) => shards.map(({ bytes }) => decodeBlock(openBoc(bytes)).header));
  const tops = steps.map(({ mc }) => decodeBlock(openBoc(mc.bytes)).shardHashes());
  // The first masterchain block registers the zero state.
  expect(headers[0]).toEqual([]);
  expect(tops[0].map(({ shard, seqno }) => [shard, seqno])).toEqual([['8000000000000000', 0]]);
  expect(tops[0][0].rootHash).toEqual(chain.zeroState.shard.rootHash);
  expect(headers[3].map(({ beforeSplit }) => beforeSplit)).toEqual([true]);
  expect(tops[2].map(({ wantSplit }) => wantSplit)).toEqual([true]);
  expect(tops[3].map(({ beforeSplit }) => beforeSplit)).toEqual([true]);
  expect(headers[4].map(({ shard, seqno, afterSplit }) => [shard, seqno, afterSplit])).toEqual([
    ['4000000000000000', 4, true],
    ['c000000000000000', 4, true],
  ]);
  expect(headers[4].map(({ prev }) => prev.map(({ shard, seqno }) => [shard, seqno]))).toEqual([
    [['8000000000000000', 3]],
    [['8000000000000000', 3]],
  ]);
  expect(tops[6].map(({ beforeMerge }) => beforeMerge)).toEqual([true, true]);
  expect(headers[7].map(({ shard, seqno, afterMerge }) => [shard, seqno, afterMerge])).toEqual([
    ['8000000000000000', 7, true],
  ]);
  expect(headers[7][0].prev.map(({ shard, seqno }) => [shard, seqno])).toEqual([
    ['4000000000000000', 6],
    ['c000000000000000', 6],
  ]);
  expect(tops[8].map(({ shard, seqno }) => [shard, seqno])).toEqual([['8000000000000000', 8]]);
  chain.close();
});

test('the same seed and messages give the same bytes, another seed other ones', async () => {
  const produce = async (seed: string) => {
    const wallets = createWallets();
    const chain = await createChain(options(wallets, { seed, splitAt: 5, mergeAt: 9 }));
    const hashes = rootHashes(run(chain, wallets, 11));
    chain.close();
    return hashes;
  };
  const first = await produce('one');
  expect(await produce('one')).toEqual(first);
  expect(await produce('two')).not.toEqual(first);
});

test('a full block leaves messages in the queue, which later blocks empty in order', async () => {
  const wallets = createWallets();
  const chain = await createChain(options(wallets, { limits: { maxTransactions: 4 } }));
  const audit = createAudit(chain, SUPPLY);
  audit.step(chain.produce(START));
  for (const wallet of wallets.slice(2, 8)) {
    const payments = [2, 3, 4].map((i) => ({ to: wallets[i].address, value: COIN }));
    expect(chain.submit(wallet.pay(...payments))).toMatchObject({ accepted: true });
  }
  let longest = 0;
  for (let i = 1; i < 20; i++) {
    const step = chain.produce(START + i);
    audit.step(step);
    expect(step.shards[0].transactions).toBeLessThanOrEqual(4);
    longest = Math.max(longest, queueOf(chain, chain.head().shards[0]).queued);
  }
  expect(longest).toBeGreaterThan(4);
  expect(chain.pending()).toBe(0);
  expect(audit.inFlight().size).toBe(0);
  // Six external messages and the eighteen they send; nine in the masterchain's first twenty ticks and tocks
  expect(audit.transactions()).toBe(6 + 18 + 20 * 3);
  expect(audit.kinds.get('out 4')).toBeGreaterThan(0);
  chain.close();
});

test('queues of full blocks are divided at a split and joined at a merge', async () => {
  const wallets = createWallets();
  const chain = await createChain(options(wallets, { splitAt: 7, mergeAt: 11, limits: { maxTransactions: 6 } }));
  const audit = createAudit(chain, SUPPLY);
  audit.step(chain.produce(START));
  const queued: number[][] = [];
  for (let i = 1; i < 45; i++) {
    for (const wallet of i < 12 ? [wallets[i], wallets[(i * 5) % 12]] : []) {
      const payments = [1, 4, 7].map((k) => ({ to: wallets[(i + k) % 12].address, value: COIN }));
      // A wallet whose last message still waits behind a full block may be refused.
      if (!chain.submit(wallet.pay(...payments)).accepted) wallet.takeBack();
    }
    audit.step(chain.produce(START + i));
    queued.push(chain.head().shards.map((place) => queueOf(chain, place).queued));
  }
  // Before the split, between split and merge, after the merge
  for (const seqno of [6, 9, 11]) expect(Math.max(...queued[seqno - 2])).toBeGreaterThan(0);
  expect(queued[43]).toEqual([0]);
  expect(audit.inFlight().size).toBe(0);
  chain.close();
});

test('refuses what no contract accepts', async () => {
  const wallets = createWallets();
  const chain = await createChain(options(wallets));
  chain.produce(START);
  const reason = (boc: Buffer) => chain.submit(boc);
  expect(reason(Buffer.from('no boc'))).toMatchObject({ accepted: false, exitCode: null });
  const library = new Builder().u(2, 8).bytes(Buffer.alloc(32, 7)).cell(true);
  const asBody = { address: addressOf(0, wallets[2].address.hash), body: library, init: null };
  expect(reason(toBoc(writeExternalMessage(asBody)))).toMatchObject({
    accepted: false,
    reason: 'not a message: body: exotic cell of type 2',
  });
  const payment = { to: wallets[3].address, value: COIN };
  const good = wallets[2].pay(payment);
  expect(chain.submit(good)).toMatchObject({ accepted: true });
  expect(chain.submit(good)).toMatchObject({ accepted: false, reason: 'the message already waits' });
  // The next seqno is good while the first one waits, the one after it is not: 133 of wallet v5r1, 33 of older ones
  expect(chain.submit(wallets[2].pay(payment))).toMatchObject({ accepted: true });
  wallets[2].pay(payment);
  expect(chain.submit(wallets[2].pay(payment))).toMatchObject({ accepted: false, exitCode: 133 });
  expect(chain.submit(createTestWallet(500).pay(payment))).toMatchObject({ accepted: false });
  expect(chain.pending()).toBe(2);
  chain.close();
});

test('messages with wrong bits are refused and harm nothing', async () => {
  const wallets = createWallets();
  const chain = await createChain(options(wallets));
  chain.produce(START);
  const good = wallets[2].pay({ to: wallets[3].address, value: COIN });
  fc.assert(
    fc.property(fc.nat(good.length * 8 - 1), fc.boolean(), (bit, checksum) => {
      const bad = Buffer.from(checksum ? good : good.subarray(0, -4));
      if (!checksum) bad[4] &= ~0x40;
      bad[(bit >> 3) % bad.length] ^= 1 << (bit & 7);
      expect(chain.submit(bad)).toMatchObject({ accepted: false });
    }),
    { numRuns: 150, seed: 7 },
  );
  expect(chain.submit(good)).toMatchObject({ accepted: true });
  expect(chain.produce(START + 1).shards[0]?.transactions).toBe(2);
  chain.close();
});

test('walks the transactions of an account and finds blocks by lt and time', async () => {
  const wallets = createWallets();
  const chain = await createChain(options(wallets, { splitAt: 6, mergeAt: 10 }));
  run(chain, wallets, 14);
  const { hash } = wallets[5].address;
  const account = chain.account(0, hash);
  if (account === null) throw new Error('no account');
  const from = { lt: account.lastTransactionLt, hash: account.lastTransactionHash };
  const walked = chain.transactions(0, hash, from, 1000);
  expect(walked.length).toBeGreaterThan(3);
  expect(walked[walked.length - 1].prevLt).toBe(0n);
  for (const { block, lt, boc, hash: own } of walked) {
    expect(parseBoc(boc).hash()).toEqual(own);
    expect(chain.lookup({ workchain: 0, shard: block.shard, lt })).toEqual(block);
  }
  expect(chain.transactions(0, hash, from, 2).map(({ lt }) => lt)).toEqual(walked.slice(0, 2).map(({ lt }) => lt));
  const place = chain.lookup({ workchain: -1, shard: '8000000000000000', utime: START + 7 });
  expect(place?.genUtime).toBe(START + 7);
  expect(chain.lookup({ workchain: -1, shard: '8000000000000000', utime: START - 1 })).toBeNull();
  expect(chain.account(0, Buffer.alloc(32))).toBeNull();
  chain.close();
});

test('a chain that was closed goes on as one that was not', async () => {
  const more = { splitAt: 6, mergeAt: 12, limits: { checkpointSteps: 5 } };
  const straight = createWallets();
  const whole = await createChain(options(straight, more));
  const expected = rootHashes(run(whole, straight, 16));
  whole.close();
  const folder = createFolder();
  const wallets = createWallets();
  const found: string[] = [];
  for (const steps of [3, 5, 2, 6]) {
    const chain = await createChain(options(wallets, { ...more, folder }));
    const before = chain.head().mc.seqno;
    found.push(...rootHashes(run(chain, wallets, steps)));
    expect(chain.block(chain.head().mc)?.length).toBeGreaterThan(0);
    expect(chain.head().mc.seqno).toBe(before + steps);
    chain.close();
  }
  expect(found).toEqual(expected);
  await expect(createChain(options(wallets, { seed: 'another', folder }))).rejects.toThrow('another genesis');
});

test('a torn end is cut off and the chain goes on', async () => {
  const folder = createFolder();
  const wallets = createWallets();
  const first = await createChain(options(wallets, { folder }));
  const steps = run(first, wallets, 6);
  // No close: as if killed, with half a step written.
  const path = join(folder, 'blocks');
  const size = statSync(path).size;
  const last = steps[5];
  truncateSync(path, size - Math.floor(last.mc.bytes.length / 2));
  const again = await createChain(options(wallets, { folder }));
  expect(again.head().mc.seqno).toBe(5);
  expect(again.head().mc.rootHash).toEqual(steps[4].mc.rootHash);
  const lost = again.block({ workchain: 0, shard: '8000000000000000', seqno: last.shards[0].seqno });
  expect(lost).toBeNull();
  const step = again.produce(START + 6);
  expect(decodeBlock(openBoc(step.mc.bytes)).header.prev[0].rootHash).toEqual(steps[4].mc.rootHash);
  // A byte that changed in the last step counts as torn, too.
  again.close();
  const bytes = readFileSync(path);
  bytes[bytes.length - 9] ^= 1;
  writeFileSync(path, bytes);
  rmSync(join(folder, 'states-6.boc'));
  const third = await createChain(options(wallets, { folder }));
  expect(third.head().mc.seqno).toBe(5);
  third.close();
});
