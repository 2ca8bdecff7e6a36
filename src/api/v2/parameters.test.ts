import { expect, it } from 'vitest';
import { shard } from './parameters.ts';

it.each([
  // As JavaScript writes the double that it stands for.
  [-9_223_372_036_854_776_000n, '8000000000000000'],
  [6_917_529_027_641_082_000n, '6000000000000000'],
  // In all digits, also those that no double has.
  [-9_223_372_036_854_775_808n, '8000000000000000'],
  [6_917_529_027_641_081_856n, '6000000000000000'],
  [81_985_529_216_486_897n, '0123456789abcdf1'],
  [-1, 'ffffffffffffffff'],
])('a shard that is the JSON number %s', (sent, told) => {
  expect(shard().parse(sent)).toBe(told);
});
