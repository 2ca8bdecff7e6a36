import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { decodeBlock } from '../src/chain/block.ts';
import { openBoc } from '../src/chain/boc.ts';
import type { Chain } from '../src/devnet/model.ts';
import { openProducer, produceOne } from './devnet-producer.ts';
import { ended, home, isOpen, killAll, PATIENCE_MS, run, TEST_TIMEOUT_MS } from './live-crash.ts';
import { waitFor } from './processes.ts';
import { startProgram } from './program.ts';

const PRODUCER = fileURLToPath(new URL('./devnet-producer.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'devnet-crash-'));
afterAll(async () => {
  await killAll();
  rmSync(folder, { recursive: true });
});

/** Runs a producer until it has printed so many steps, kills it, and returns what it printed. */
async function produceAndKill(steps: number): Promise<[number, string][]> {
  const child = startProgram(PRODUCER, folder);
  const printed: [number, string][] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const [seqno, rootHash] = line.split(' ');
    printed.push([Number(seqno), rootHash]);
    if (printed.length === steps) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  expect(child.signalCode).toBe('SIGKILL');
  return printed;
}

function checkHistory(chain: Chain, printed: ReadonlyMap<number, string>): void {
  const head = chain.head().mc;
  let prev = chain.zeroState.mc.rootHash;
  for (let seqno = 1; seqno <= head.seqno; seqno++) {
    const bytes = chain.block({ workchain: -1, shard: '8000000000000000', seqno });
    if (bytes === null) throw new Error(`block ${seqno} is gone`);
    const block = decodeBlock(openBoc(bytes));
    expect(block.header.prev[0].rootHash).toEqual(prev);
    prev = Buffer.from(block.header.rootHash);
    if (printed.has(seqno)) expect(prev.toString('hex')).toBe(printed.get(seqno));
    for (const top of block.shardHashes().filter((each) => each.seqno > 0)) {
      const shard = chain.block(top);
      if (shard === null) throw new Error(`block of ${top.shard} at ${seqno} is gone`);
      expect(decodeBlock(openBoc(shard)).header.rootHash).toEqual(top.rootHash);
    }
  }
}

test('a killed chain has every step it told of, and goes on', async () => {
  const printed = new Map<number, string>();
  for (const steps of [1, 9, 14, 4, 17]) {
    const lines = await produceAndKill(steps);
    for (const [seqno, rootHash] of lines) {
      expect(printed.has(seqno)).toBe(false);
      printed.set(seqno, rootHash);
    }
    const { chain, wallets } = await openProducer(folder);
    expect(chain.head().mc.seqno).toBeGreaterThanOrEqual(Math.max(...printed.keys()));
    checkHistory(chain, printed);
    const { seqno, rootHash } = produceOne(chain, wallets);
    printed.set(seqno, rootHash);
    chain.close();
  }
  // Past the split and the merge.
  expect(Math.max(...printed.keys())).toBeGreaterThan(41);
});

test('a second devnet in a folder is refused', { timeout: TEST_TIMEOUT_MS }, async () => {
  const words = ['devnet', '--data-dir', join(home, 'twice'), '--port', '0', '--block-time', '100ms'];
  const first = run(...words);
  await waitFor('the first devnet', first, async () => isOpen(first), PATIENCE_MS);
  const second = run(...words);
  const hasEnded = async () => second.child.exitCode !== null || isOpen(second);
  await waitFor('the second devnet', null, hasEnded, PATIENCE_MS);
  expect(second.output()).toContain(`twice/devnet is in use by process ${first.child.pid}:`);
  expect(await second.ended).toBe(1);
  await ended(first);
  // One that was killed does not count.
  const third = run(...words);
  await waitFor('the third devnet', third, async () => isOpen(third), PATIENCE_MS);
  await third.kill();
  const fourth = run(...words);
  await waitFor('the fourth devnet', fourth, async () => isOpen(fourth), PATIENCE_MS);
  await ended(fourth);
});
