/** Shard blocks between their signatures and the masterchain block that registers them. */
import { beforeEach, describe, expect, test } from 'vitest';
import { createTestWallet } from '../../test/devnet-wallets.ts';
import { decodeBlock } from '../chain/block.ts';
import { openBoc } from '../chain/boc.ts';
import { blockIdExtToTl } from '../node/lite-api.ts';
import { createChain } from './chain.ts';
import { createBlocks } from './liteserver/blocks.ts';
import { nonfinalHandlers } from './liteserver/nonfinal.ts';
import type { Chain, ProducedStep } from './model.ts';
import { transactionsOf } from './test-traces.ts';

const START = 1_760_000_000;
const alice = createTestWallet(0);
const bob = createTestWallet(1);

let chain: Chain;
let now: number;

beforeEach(async () => {
  now = START;
  const genesis = [alice, bob].map((wallet) => wallet.genesis(1_000_000_000_000n));
  chain = await createChain({ folder: null, seed: 'signed', genesis, blockTimeMs: 1000, startUtime: START });
  chain.produce(++now);
});

function pay(seqno: number, value = 10_000_000n): Buffer {
  alice.seqno = seqno;
  return alice.pay({ to: bob.address, value });
}

/** External messages that a step took in. */
const taken = (step: ProducedStep): number =>
  transactionsOf(step).filter(({ inMsg }) => inMsg?.kind === 'external_in').length;

test('what is signed is registered as it is, at a later time', () => {
  chain.submit(pay(0));
  const [signed] = chain.collate(++now);
  expect(chain.head().mc.seqno).toBe(1);
  now += 5;
  const { mc, shards } = chain.produce(now);
  expect(shards.map(({ rootHash }) => rootHash)).toEqual([signed.block.rootHash]);
  expect([shards[0].genUtime, mc.genUtime, shards[0].mcSeqno]).toEqual([now - 5, now, mc.seqno]);
  expect(chain.signed()).toEqual([]);
  expect(chain.state(shards[0])?.hash()).toEqual(signed.state.hash());
});

test('a clock that goes back makes no masterchain block that is older than its shard blocks', () => {
  for (let n = 0; n < 3; n++) {
    chain.submit(pay(n));
    now += 2;
    chain.collate(now + 3);
    const { mc, shards } = chain.produce(now);
    expect(mc.genUtime).toBe(shards[0].genUtime);
  }
});

test('with or without a pause between them the blocks are the same', async () => {
  chain.submit(pay(0));
  const [{ block }] = chain.collate(++now);
  const paused = chain.produce(now);
  const genesis = [alice, bob].map((wallet) => wallet.genesis(1_000_000_000_000n));
  const other = await createChain({ folder: null, seed: 'signed', genesis, blockTimeMs: 1000, startUtime: START });
  other.produce(START + 1);
  other.submit(pay(0));
  expect(other.produce(now).mc.rootHash).toEqual(paused.mc.rootHash);
  expect(block.transactions).toBe(2);
});

test('a message that comes meanwhile is checked against the signed state and waits for the step after', () => {
  chain.submit(pay(0));
  chain.collate(++now);
  expect(chain.submit(pay(0, 5n))).toMatchObject({ accepted: false, exitCode: 33 });
  expect(chain.submit(pay(1))).toMatchObject({ accepted: true });
  expect(taken(chain.produce(now))).toBe(1);
  expect(chain.pending()).toBe(1);
  expect(taken(chain.produce(++now))).toBe(1);
});

test('a shard block that is replaced leaves nothing, and what is held back comes with the next step', () => {
  chain.submit(pay(0));
  const [first] = chain.collate(++now);
  const [second] = chain.collate(now, 1);
  expect(second.block.seqno).toBe(first.block.seqno);
  expect(second.block.rootHash).not.toEqual(first.block.rootHash);
  expect(chain.signed(true).map(({ block }) => block.rootHash)).toEqual([first.block.rootHash, second.block.rootHash]);
  const step = chain.produce(now);
  expect(step.shards.map(({ rootHash }) => rootHash)).toEqual([second.block.rootHash]);
  expect(taken(step)).toBe(0);
  expect(taken(chain.produce(++now))).toBe(1);
});

test('a rival is taken in beside another of the same seqno, one of them is executed; a lost one is told of alone', () => {
  const heard: Buffer[] = [];
  const end = chain.onExternal((boc) => void heard.push(boc));
  const [first, rival, lost] = [pay(0), pay(0, 7n), pay(0, 9n)];
  expect(chain.submit(first).accepted).toBe(true);
  expect(chain.submit(rival).accepted).toBe(false);
  expect(chain.submit(rival, 'rival').accepted).toBe(true);
  expect(chain.submit(lost, 'lost').accepted).toBe(true);
  expect(heard).toEqual([first, rival, lost]);
  expect(chain.pending()).toBe(2);
  expect(taken(chain.produce(++now))).toBe(1);
  expect(chain.pending()).toBe(0);
  end();
  chain.submit(pay(1));
  expect(heard.length).toBe(3);
});

describe('over the lite protocol', () => {
  const ask = (filter: { mode: number; wc?: number; shard?: bigint } = { mode: 0 }) => {
    const handler = nonfinalHandlers(chain)['nonfinal.getPendingShardBlocks'];
    const call = { signal: new AbortController().signal, peer: 'test' };
    return handler?.({ method: 'nonfinal.getPendingShardBlocks', ...filter }, call);
  };

  test('signed blocks are listed until they are registered, and found with their states by whole ids', async () => {
    expect(await ask()).toEqual({ signedBlocks: [], candidates: [] });
    chain.submit(pay(0));
    const [{ block }] = chain.collate(++now);
    const id = blockIdExtToTl(block);
    expect(await ask()).toEqual({ signedBlocks: [id], candidates: [] });
    expect(await ask({ mode: 1, wc: 0, shard: id.shard })).toEqual({ signedBlocks: [id], candidates: [] });
    expect(await ask({ mode: 1, wc: -1, shard: id.shard })).toEqual({ signedBlocks: [], candidates: [] });
    const blocks = createBlocks(chain);
    const found = blocks.find(id);
    expect(decodeBlock(openBoc(blocks.bytes(found))).header.seqno).toBe(block.seqno);
    expect(blocks.state(found).hash()).toEqual(chain.signed()[0].state.hash());
    chain.collate(now, 1);
    expect(blocks.bytes(blocks.find(id))).toEqual(block.bytes);
    chain.produce(now);
    expect(await ask()).toEqual({ signedBlocks: [], candidates: [] });
    expect(() => blocks.find(id)).toThrow(/not in db/);
  });
});
