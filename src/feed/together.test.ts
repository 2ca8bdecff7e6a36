import { expect, it } from 'vitest';
import { together } from './together.ts';

const context = () => ({ signal: new AbortController().signal, timeoutMs: 1_000 });

function asking() {
  const asked: string[][] = [];
  const ask = together(
    async (keys: string[]) => {
      asked.push(keys);
      if (keys.includes('bad')) throw new Error('bad');
      return keys.filter((key) => key !== 'none').map((key) => ({ key, row: key.toUpperCase() }));
    },
    ({ key }) => key,
  );
  return { ask, asked };
}

it('puts what is asked at the same time as one question, and each finds its own', async () => {
  const { ask, asked } = asking();
  const one = context();
  const [a, b, none] = await Promise.all([ask(['a', 'none'], one), ask(['b', 'c'], one), ask([], one)]);
  expect(asked).toEqual([['a', 'none', 'b', 'c']]);
  expect([a.get('a')?.row, a.get('none'), b.get('b')?.row, b.get('c')?.row, none.size]).toEqual([
    'A',
    undefined,
    'B',
    'C',
    0,
  ]);
  await ask(['d'], one);
  expect(asked[1]).toEqual(['d']);
});

it('asks apart for those who wait under other signals, and in parts of 500', async () => {
  const { ask, asked } = asking();
  const keys = Array.from({ length: 501 }, (_, i) => String(i));
  await Promise.all([ask(keys, context()), ask(['a'], context())]);
  expect(asked.map(({ length }) => length).sort((x, y) => x - y)).toEqual([1, 1, 500]);
});

it('fails all who asked together, and none of those who ask later', async () => {
  const { ask } = asking();
  const one = context();
  const failed = await Promise.allSettled([ask(['a'], one), ask(['bad'], one)]);
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect((await ask(['a'], one)).get('a')?.row).toBe('A');
});
