import { beginCell, Cell, comment } from '@ton/core';
import { describe, expect, it } from 'vitest';
import { commentOf } from './comment.ts';

const long = 'Привет, мир! 🙂 '.repeat(40);

describe('plain comments', () => {
  it.each(['', 'x', 'a "quoted"\nline', long])('reads what @ton/core wrote: %j', (text) => {
    expect(commentOf(comment(text).toBoc())).toBe(text);
  });

  it.each([
    ['another opcode', beginCell().storeUint(1, 32).storeStringTail('x').endCell()],
    ['no opcode', beginCell().storeUint(0, 31).endCell()],
    ['half a byte', beginCell().storeUint(0, 36).endCell()],
    ['bytes that are not UTF-8', beginCell().storeUint(0, 32).storeUint(0xff, 8).endCell()],
    ['two references', beginCell().storeUint(0, 32).storeRef(Cell.EMPTY).storeRef(Cell.EMPTY).endCell()],
  ])('gives null for %s', (_what, body) => {
    expect(commentOf(body.toBoc())).toBeNull();
  });
});
