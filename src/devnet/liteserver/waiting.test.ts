import { expect, test } from 'vitest';
import { FULL_SHARD } from '../../chain/shard-ident.ts';
import type { BlockPlace, Chain, ProducedStep } from '../model.ts';
import { createWaiting } from './waiting.ts';

const never = new AbortController().signal;
const LONG = 60_000;

function place(seqno: number): BlockPlace {
  const hashes = { rootHash: Buffer.alloc(32), fileHash: Buffer.alloc(32) };
  const rest = { startLt: 0n, endLt: 0n, genUtime: 0, mcSeqno: seqno, transactions: 0 };
  return { workchain: -1, shard: FULL_SHARD, seqno, ...hashes, ...rest };
}

/** A chain that only counts. */
function counter(start: number) {
  const listeners = new Set<(step: ProducedStep) => void>();
  let seqno = start;
  const chain: Pick<Chain, 'head' | 'onStep'> = {
    head: () => ({ mc: place(seqno), shards: [] }),
    onStep: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const step = (): void => {
    seqno++;
    for (const listener of listeners) listener({ mc: { ...place(seqno), bytes: Buffer.alloc(0) }, shards: [] });
  };
  return { chain, step, listeners };
}

test('calls wait for their own block and no other', async () => {
  const { chain, step } = counter(10);
  const waiting = createWaiting(chain, 10);
  expect(await waiting.wait(10, LONG, never)).toBe(true);
  const ended: number[] = [];
  const waits = [11, 12, 12].map(async (seqno) => {
    expect(await waiting.wait(seqno, LONG, never)).toBe(true);
    ended.push(seqno);
  });
  step();
  await waits[0];
  expect(ended).toEqual([11]);
  expect(waiting.count()).toBe(2);
  step();
  await Promise.all(waits);
  expect(waiting.count()).toBe(0);
});

test('time-outs, clients that go, and the end of the server', async () => {
  const { chain, listeners } = counter(10);
  const waiting = createWaiting(chain, 10);
  expect(await waiting.wait(11, 1, never)).toBe(false);
  const controller = new AbortController();
  const gone = waiting.wait(11, LONG, controller.signal);
  controller.abort();
  expect(await gone).toBe(false);
  const left = waiting.wait(11, LONG, never);
  waiting.close();
  expect(await left).toBe(false);
  expect(await waiting.wait(11, LONG, AbortSignal.abort())).toBe(false);
  expect([waiting.count(), listeners.size]).toEqual([0, 0]);
});

test('blocks that are far off, and more calls than may wait, are refused at once', async () => {
  const { chain } = counter(10);
  const waiting = createWaiting(chain, 2);
  await expect(waiting.wait(111, LONG, never)).rejects.toMatchObject({ code: 651 });
  const waits = [waiting.wait(110, LONG, never), waiting.wait(11, LONG, never)];
  await expect(waiting.wait(11, LONG, never)).rejects.toMatchObject({ code: 652 });
  waiting.close();
  expect(await Promise.all(waits)).toEqual([false, false]);
});
