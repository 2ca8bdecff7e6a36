import { expect, test } from 'vitest';
import type { ObservedRun } from '../tvm/contract.ts';
import { NULL, type StackValue } from '../tvm/stack.ts';
import { createKeptRuns } from './kept-runs.ts';

const RUN: ObservedRun = {
  exitCode: 0,
  gasUsed: 100,
  stack: [{ type: 'int', value: 7n }],
  stackText: 'te6c',
  seen: 'nothing',
  missedLibrary: false,
};
const many = (count: number): StackValue[] => Array.from({ length: count }, () => NULL);

/** How often it is run when it is asked for twice. */
async function timesRun(run: ObservedRun, maxBytes = 1_000_000): Promise<number> {
  const runs = createKeptRuns(maxBytes);
  let times = 0;
  for (let asked = 0; asked < 2; asked++) {
    expect(
      await runs.once('key', async () => {
        times++;
        return run;
      }),
    ).toMatchObject({ exitCode: run.exitCode, gasUsed: run.gasUsed, stack: run.stack });
  }
  expect(runs.figures).toEqual({ made: times, kept: 2 - times });
  expect(runs.bytes > 0).toBe(times === 1);
  return times;
}

test.each<[string, Partial<ObservedRun>, number]>([
  ['that saw nothing but its contract', {}, 1],
  ['that saw its address', { seen: 'address' }, 1],
  ['that failed', { exitCode: 11 }, 1],
  ['that saw the time or the like', { seen: 'more' }, 2],
  ['that a library was missing for', { missedLibrary: true }, 2],
  ['that left many values', { stack: many(300) }, 2],
  ['that left much', { stackText: 'x'.repeat(20_000) }, 2],
])('a run %s', async (_, changed, times) => {
  expect(await timesRun({ ...RUN, ...changed })).toBe(times);
});

test('nothing is kept where there is no room', async () => {
  expect(await timesRun(RUN, 0)).toBe(2);
});

test('what has failed is run again', async () => {
  const runs = createKeptRuns(1_000_000);
  await expect(runs.once('key', () => Promise.reject(new Error('too long')))).rejects.toThrow('too long');
  expect(await runs.once('key', async () => RUN)).toBe(RUN);
});

test('what is kept is bounded', async () => {
  const runs = createKeptRuns(10_000);
  for (let at = 0; at < 100; at++) await runs.once(`key ${at}`, async () => RUN);
  expect(runs.bytes).toBeLessThanOrEqual(10_000);
  expect(runs.bytes).toBeGreaterThan(5_000);
});
