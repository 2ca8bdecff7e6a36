import { expect, test } from 'vitest';
import { supportedTypes } from './supported.ts';

test('what v1 stands for is always supported', () => {
  expect(supportedTypes([]).has('ton_transfer')).toBe(true);
  expect(supportedTypes(['nft']).has('jetton_transfer')).toBe(true);
});

test('a later version holds the earlier ones', () => {
  expect(supportedTypes([]).has('unknown')).toBe(false);
  for (const version of ['v2', 'v3', 'v4', 'latest']) expect(supportedTypes([version]).has('unknown')).toBe(true);
});

test('a name that is no shortcut is a type', () => {
  expect(supportedTypes(['something_new']).has('something_new')).toBe(true);
});
