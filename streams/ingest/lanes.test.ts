import { expect, it } from 'vitest';
import { createLanes } from './lanes.ts';

it('runs a bounded number at a time, the lowest rank first, also behind failures', async () => {
  const lanes = createLanes(2);
  const started: number[] = [];
  const releases: (() => void)[] = [];
  const work = (rank: number) =>
    lanes.run(rank, async () => {
      started.push(rank);
      await new Promise<void>((resolve) => releases.push(resolve));
      if (rank === 9) throw new Error('nine');
    });
  const all = Promise.allSettled([9, 8, 5, 3, 4].map(work));
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  await turn();
  expect(started).toEqual([9, 8]);
  for (let at = 0; at < 5; at++) {
    releases[at]();
    await turn();
  }
  expect(started).toEqual([9, 8, 3, 4, 5]);
  expect((await all).map(({ status }) => status)).toEqual(['rejected', ...Array(4).fill('fulfilled')]);
});
