import { expect, test } from 'vitest';
import { Builder, type Cell } from '../chain/builder.ts';
import type { StackValue } from '../tvm/stack.ts';
import { pairStack, typedStack } from './v2/stack.ts';
import { stackEntities } from './v3/stack.ts';

test('a large cell, left as often as a contract may leave values, ends at a limit', () => {
  // 100 KB.
  let large: Cell = new Builder().cell();
  for (let i = 0; i < 800; i++) large = new Builder().u(i, 32).bytes(Buffer.alloc(120)).ref(large).cell();
  const values = Array<StackValue>(7_999).fill({ type: 'cell', cell: large });
  const refusal = expect.objectContaining({ status: 500, message: 'TVM stack size exceeds limit' });
  expect(() => pairStack(values)).toThrow(refusal);
  expect(() => typedStack([{ type: 'tuple', items: values }])).toThrow(refusal);
  expect(() => stackEntities(values)).toThrow(refusal);
  expect(pairStack(values.slice(0, 10))).toHaveLength(10);
});
