import { expect, test } from 'vitest';
import { actionTypes, supportedTypes } from './supported.ts';

test('what v1 stands for is always supported', () => {
  expect(supportedTypes([]).has('ton_transfer')).toBe(true);
  expect(supportedTypes(['nft']).has('jetton_transfer')).toBe(true);
});

test('versions are as large as the reference expands them', () => {
  const sizes = ['v1', 'v2', 'v3', 'v4', 'latest'].map((name) => supportedTypes([name]).size);
  expect(sizes).toEqual([23, 46, 63, 75, 75]);
});

test('types in no version are there when they are asked for', () => {
  const versions = supportedTypes(['latest']);
  const others = [...actionTypes].filter((type) => !versions.has(type));
  expect(others.every((type) => type.startsWith('tgbtc_'))).toBe(true);
  expect(supportedTypes(['tgbtc']).size).toBe(23 + others.length);
  expect(others.length).toBe(7);
});

test('an empty name is none: it stands for actions that are told no more', () => {
  expect(supportedTypes([''])).toEqual(supportedTypes(['v1']));
  expect(supportedTypes(['', 'nft']).has('')).toBe(false);
});

test('a name that is no shortcut is a type', () => {
  expect(supportedTypes(['something_new']).has('something_new')).toBe(true);
});
