import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openEmbeddedLog } from './embedded.ts';
import { createFollower, type Follower } from './follow.ts';
import type { EventLog } from './log.ts';

const TOPIC = 'numbers';
let folder: string;
let log: EventLog;
let stops: (() => Promise<void>)[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tonstream-follow-'));
  log = openEmbeddedLog({ folder });
  stops = [];
  await log.ensureTopic(TOPIC);
});
afterEach(async () => {
  for (const stop of stops) await stop();
  await log.close();
  rmSync(folder, { recursive: true, force: true });
});

async function append(...numbers: number[]): Promise<void> {
  await log.append(
    TOPIC,
    numbers.map((number) => ({ key: '', headers: {}, value: Buffer.from(String(number)) })),
  );
}

interface Options {
  position?: number | null;
  /** Instead of taking them. */
  fail?: (numbers: number[]) => void;
}

/** What is taken is noted, and where to go on. */
function follow({ position = null, fail }: Options = {}) {
  const taken: number[] = [];
  const trouble: unknown[] = [];
  const state = { position };
  const follower: Follower = createFollower<{ numbers: number[]; nextOffset: number }>({
    log,
    topic: TOPIC,
    async *read(from, options) {
      for await (const batch of log.read(TOPIC, from, options)) {
        const nextOffset = batch[batch.length - 1].offset + 1;
        yield { items: { numbers: batch.map(({ value }) => Number(value.toString())), nextOffset }, nextOffset };
      }
    },
    position: async () => state.position,
    async take({ numbers, nextOffset }) {
      fail?.(numbers);
      taken.push(...numbers);
      state.position = nextOffset;
    },
    onTrouble: (error) => trouble.push(error),
  });
  const abort = new AbortController();
  const running = follower.run(abort.signal);
  const stop = async (): Promise<void> => {
    abort.abort();
    await running;
  };
  stops.push(stop);
  return { follower, taken, trouble, state, stop };
}

it('takes what is there and what comes, from its position on', async () => {
  await append(1, 2, 3);
  const all = follow();
  const later = follow({ position: 2 });
  await expect.poll(() => [all.taken, later.taken]).toEqual([[1, 2, 3], [3]]);
  await append(4);
  all.follower.wake();
  await expect
    .poll(() => [all.taken, later.taken])
    .toEqual([
      [1, 2, 3, 4],
      [3, 4],
    ]);
  await all.stop();
  await append(5);
  const again = follow({ position: all.state.position });
  await expect.poll(() => again.taken).toEqual([5]);
});

it('tries again from its position what it could not take', async () => {
  let fails = 1;
  const { taken, trouble } = follow({
    fail: () => {
      if (fails-- > 0) throw new Error('no room');
    },
  });
  await append(1, 2);
  await expect.poll(() => taken).toEqual([1, 2]);
  expect(trouble).toEqual([new Error('no room')]);
});

it('goes on at the oldest record that is kept when what came next was trimmed, without trouble', async () => {
  await append(1, 2, 3, 4);
  await log.trim(TOPIC, 2);
  const { taken, trouble } = follow({ position: 1 });
  await expect.poll(() => taken).toEqual([3, 4]);
  expect(trouble).toEqual([]);
});

it('begins anew with a topic that ends before its position', async () => {
  await append(1, 2);
  const { taken } = follow({ position: 7 });
  await expect.poll(() => taken).toEqual([1, 2]);
});
