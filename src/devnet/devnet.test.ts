import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Address, toNano } from '@ton/core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { chainLedger } from './chain-ledger.ts';
import { type Devnet, type DevnetOptions, startDevnet } from './devnet.ts';
import { IdentityError } from './identity.ts';
import type { Chain } from './model.ts';

let folder: string;
let stop: AbortController;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'devnet-'));
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  rmSync(folder, { recursive: true, force: true });
});

function start(options: Partial<DevnetOptions> = {}): Promise<Devnet> {
  const own = { folder: join(folder, 'chain'), seed: 'devnet test', blockTimeMs: 40, rate: 50, traders: 10 };
  return startDevnet({ ...own, ...options }, stop.signal);
}

/** Resolves when the chain has made the block. */
function block(chain: Chain, seqno: number): Promise<void> {
  if (chain.head().mc.seqno >= seqno) return Promise.resolve();
  return new Promise((resolve) => {
    const end = chain.onStep(({ mc }) => {
      if (mc.seqno < seqno) return;
      end();
      resolve();
    });
  });
}

async function end(devnet: Devnet): Promise<void> {
  stop.abort();
  await devnet.done;
  stop = new AbortController();
}

test('blocks come with traffic, the faucet gives, and the next start goes on', async () => {
  const first = await start();
  const { chain, faucet, demo } = first;
  const someone = new Address(0, Buffer.alloc(32, 5));
  const { messageHash } = await faucet.give(someone, toNano('7'));
  expect(messageHash.length).toBe(32);
  await block(chain, 30);
  expect((await chainLedger(chain).account(someone))?.balance).toBe(toNano('7'));
  expect(first.actors.counts.executed).toBeGreaterThan(5);
  expect(first.actors.counts).toMatchObject({ refused: 0, expired: 0 });
  const { seqno, rootHash } = chain.head().mc;
  await end(first);
  await expect(faucet.give(someone, 1n)).rejects.toMatchObject({ code: 'unavailable' });

  const second = await start({ traders: 500 });
  const place = second.chain.lookup({ workchain: -1, shard: chain.head().mc.shard, seqno });
  expect(place?.rootHash.equals(rootHash)).toBe(true);
  expect(second.demo).toEqual(demo);
  expect(second.actors.cast.traders.length).toBe(10);
  await block(second.chain, seqno + 10);
  expect(second.actors.counts).toMatchObject({ refused: 0, expired: 0 });
  await end(second);
});

test('time is that of the clock, and does not go back with it', async () => {
  let time = 1_800_000_000_500;
  const devnet = await start({ folder: null, rate: 0, clock: () => time });
  await block(devnet.chain, 2);
  expect(devnet.chain.head().mc.genUtime).toBe(1_800_000_000);
  time += 10_000;
  await block(devnet.chain, devnet.chain.head().mc.seqno + 2);
  expect(devnet.chain.head().mc.genUtime).toBe(1_800_000_010);
  time -= 5_000;
  await block(devnet.chain, devnet.chain.head().mc.seqno + 2);
  expect(devnet.chain.head().mc.genUtime).toBe(1_800_000_010);
  await end(devnet);
});

test('a gift asked for right after a start that comes days later arrives', async () => {
  let time = 1_800_000_000_000;
  const clock = () => time;
  const first = await start({ rate: 0, clock });
  await block(first.chain, 2);
  await end(first);
  time += 3 * 86_400_000;
  const { chain, faucet, done } = await start({ rate: 0, clock });
  const someone = new Address(0, Buffer.alloc(32, 6));
  await faucet.give(someone, toNano('2'));
  await block(chain, chain.head().mc.seqno + 3);
  expect((await chainLedger(chain).account(someone))?.balance).toBe(toNano('2'));
  stop.abort();
  await done;
});

test('what serves the chain is opened behind the first key block and closed before the chain is', async () => {
  const seen: string[] = [];
  const devnet = await start({
    rate: 0,
    async serve(chain) {
      seen.push(`open at ${chain.head().mc.seqno}`);
      return { close: () => void seen.push(chain.block(chain.head().mc) === null ? 'late' : 'close') };
    },
  });
  await block(devnet.chain, 1);
  await end(devnet);
  expect(seen).toEqual(['open at 1', 'close']);
  await expect(start({ serve: () => Promise.reject(new Error('port in use')) })).rejects.toThrow('port in use');
  // The folder was let go of.
  await end(await start({ rate: 0 }));
});

test('a folder of another seed is refused', async () => {
  await end(await start({ rate: 0 }));
  await expect(start({ seed: 'another' })).rejects.toThrow(IdentityError);
});
