import { expect, it } from 'vitest';
import { runsOf } from './compare.ts';

const steps = (count: number): number[] => Array.from({ length: count }, (_, i) => 3 * i);

it('draws runs of neighbours from all over the steps, the first and the last among them, and all where they are few', () => {
  for (const [count, wanted, expected] of [
    [0, 16, 0],
    [1, 16, 1],
    [13, 16, 2],
    [16, 16, 2],
    [17, 16, 2],
    [1_000, 1, 1],
    [1_000, 40, 5],
    [1_000, 41, 6],
  ]) {
    const all = steps(count);
    const runs = runsOf(all, wanted);
    expect(runs.length).toBe(expected);
    for (const run of runs) expect(run).toEqual(all.slice(run[0] / 3, run[0] / 3 + run.length));
    const compared = new Set(runs.flat());
    expect(compared.size).toBeGreaterThanOrEqual(Math.min(count, wanted));
    if (count > 0) expect(compared.has(0)).toBe(true);
    if (expected > 1) expect(compared.has(all[count - 1])).toBe(true);
  }
});
