import { expect, it } from 'vitest';
import { rangeOf } from './parameters.ts';

it('an answer is bounded over all its buckets', () => {
  const asked = { resolution: 'hour', from: 0, to: undefined } as const;
  const longIndex = { mcSeqno: 1, time: 1_999 * 3_600, first: 0 };
  const range = (most: number, of = longIndex) => rangeOf(asked, most)(of);
  expect(range(10)).toEqual({ from: 0, to: longIndex.time + 1 });
  expect(() => range(256)).toThrow('more than 50000 rows');
  expect(() => range(1, { ...longIndex, time: 2_001 * 3_600 })).toThrow('more than 2000 buckets');
});
