import { expect, it } from 'vitest';
import { Builder, type Cell } from '../../../src/chain/builder.ts';
import { entries, OtherKind } from './stack.ts';

const KEY_BITS = 264;

/** A dictionary of 2^forks entries in as many cells as forks. */
function shared(forks: number): Cell {
  const left = KEY_BITS - forks;
  let node = new Builder()
    .u(0b10, 2)
    .u(left, 32 - Math.clz32(left))
    .bytes(Buffer.alloc(31))
    .u(0, left - 248)
    .cell();
  for (let i = 0; i < forks; i++) node = new Builder().u(0, 2).ref(node).ref(node).cell();
  return node;
}

const keysOf = (forks: number): Buffer[] => entries(shared(forks), KEY_BITS, (_, key) => key);

it('entries of a dictionary are as many as the values of a result, however few cells stand for more', () => {
  expect(new Set(keysOf(9).map((key) => key.toString('hex'))).size).toBe(512);
  expect(() => keysOf(10)).toThrow(OtherKind);
  expect(() => keysOf(16)).toThrow('a dictionary of more than 1000 entries');
});
