import { beginCell, Cell as CoreCell, parseTuple, serializeTuple, type TupleItem } from '@ton/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Builder, parseBoc, toBoc } from '../chain/builder.ts';
import { listItems, listOf, NULL, readStack, type StackValue, writeStack } from './stack.ts';

const leaf: fc.Arbitrary<TupleItem> = fc.oneof(
  fc.constant<TupleItem>({ type: 'null' }),
  fc.constant<TupleItem>({ type: 'nan' }),
  fc.bigInt(-(2n ** 256n), 2n ** 256n - 1n).map((value): TupleItem => ({ type: 'int', value })),
  fc.bigInt(-(2n ** 63n) - 2n, 2n ** 63n + 1n).map((value): TupleItem => ({ type: 'int', value })),
  fc
    .tuple(fc.constantFrom('cell', 'slice', 'builder'), fc.uint8Array({ maxLength: 100 }), fc.boolean())
    .map(([type, bytes, ref]): TupleItem => {
      const cell = beginCell().storeBuffer(Buffer.from(bytes));
      return { type, cell: (ref ? cell.storeRef(beginCell().storeUint(3, 3)) : cell).endCell() };
    }),
);
const { item } = fc.letrec<{ item: TupleItem }>((tie) => ({
  item: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.array(tie('item'), { maxLength: 6 }).map((items): TupleItem => ({ type: 'tuple', items })),
  ),
}));

/** The same value as another decoder holds it. */
function asCore(value: StackValue): TupleItem {
  if (value.type === 'continuation') throw new Error('no counterpart');
  if (value.type === 'tuple') return { type: 'tuple', items: value.items.map(asCore) };
  return 'cell' in value ? { type: value.type, cell: CoreCell.fromBoc(toBoc(value.cell))[0] } : value;
}

const plain = (items: TupleItem[]): string =>
  JSON.stringify(items, (_, value: unknown) => {
    if (typeof value === 'bigint') return `${value}`;
    return value instanceof CoreCell ? value.hash().toString('hex') : value;
  });

test('stacks are read and written as another implementation does', () => {
  fc.assert(
    fc.property(fc.array(item, { maxLength: 12 }), (items) => {
      const bag = serializeTuple(items).toBoc();
      const values = readStack(parseBoc(bag));
      expect(plain(values.map(asCore))).toBe(plain(items));
      expect(plain(parseTuple(CoreCell.fromBoc(toBoc(writeStack(values)))[0]))).toBe(plain(items));
    }),
    { numRuns: 200 },
  );
});

test('a slice is cut out of its cell', () => {
  const cell = new Builder().u(0b1011001, 7).ref(new Builder().cell()).ref(new Builder().u(1, 1).cell()).cell();
  const part = new Builder().u(4, 8).ref(cell).u(2, 10).u(6, 10).u(1, 3).u(2, 3).cell();
  const stack = new Builder().u(1, 24).ref(new Builder().cell()).append(part).cell();
  const expected = new Builder().u(0b1100, 4).ref(new Builder().u(1, 1).cell()).cell();
  const [value] = readStack(stack);
  expect(value.type === 'slice' && value.cell.equals(expected)).toBe(true);
  const beyond = new Builder().u(4, 8).ref(cell).u(2, 10).u(9, 10).u(1, 3).u(2, 3).cell();
  expect(() => readStack(new Builder().u(1, 24).ref(new Builder().cell()).append(beyond).cell())).toThrow(
    'reaches over',
  );
});

test('a slice of an exotic cell has its bits', () => {
  const library = new Builder().u(2, 8).bytes(Buffer.alloc(32, 7)).cell(true);
  const read = (fromBit: number, toBit: number): StackValue[] => {
    const part = new Builder().u(4, 8).ref(library).u(fromBit, 10).u(toBit, 10).u(0, 6);
    return readStack(new Builder().u(1, 24).ref(new Builder().cell()).append(part.cell()).cell());
  };
  const whole = new Builder().u(2, 8).bytes(Buffer.alloc(32, 7)).cell();
  expect(read(0, 264)).toEqual([{ type: 'slice', cell: whole }]);
  expect(read(8, 16)).toEqual([{ type: 'slice', cell: new Builder().u(7, 8).cell() }]);
  // The executor breaks down over one that is still exotic.
  expect(readStack(writeStack([{ type: 'slice', cell: library }]))).toEqual([{ type: 'slice', cell: whole }]);
  expect(readStack(writeStack([{ type: 'builder', cell: library }]))).toEqual([{ type: 'builder', cell: whole }]);
});

test('lists are chains of pairs that end in null', () => {
  const one: StackValue = { type: 'int', value: 1n };
  const list = listOf([one, NULL, listOf([one])]);
  expect(listItems(list)).toEqual([one, NULL, listOf([one])]);
  expect(listItems(NULL)).toEqual([]);
  expect(listItems(one)).toBeNull();
  expect(listItems({ type: 'tuple', items: [one, one] })).toBeNull();
  expect(listItems({ type: 'tuple', items: [one, NULL, NULL] })).toBeNull();
  expect(listItems({ type: 'tuple', items: [] })).toBeNull();
});

describe('hostile stacks', () => {
  const limits = { maxDepth: 20, maxValues: 50 };

  test('end at the limits', () => {
    const deep = Array.from({ length: 25 }).reduce<StackValue>((inner) => ({ type: 'tuple', items: [inner] }), NULL);
    expect(() => readStack(writeStack([deep]), limits)).toThrow('deeper than 20');
    expect(() => writeStack([deep], limits)).toThrow('deeper than 20');
    expect(() => readStack(writeStack(Array(51).fill(NULL)), limits)).toThrow('more than 50');
    expect(() => writeStack(Array(51).fill(NULL), limits)).toThrow('more than 50');
    expect(() => readStack(writeStack([{ type: 'tuple', items: Array(60).fill(NULL) }]), limits)).toThrow(
      'more than 50',
    );
  });

  test('that share what they hold cost no more than the limit', () => {
    let value = new Builder().u(0, 8).cell();
    for (let i = 0; i < 200; i++) value = new Builder().u(7, 8).u(2, 16).ref(value).ref(value).cell();
    const stack = new Builder().u(1, 24).ref(new Builder().cell()).append(value).cell();
    expect(() => readStack(stack, { maxDepth: 1024, maxValues: 8000 })).toThrow('more than 8000');
  });

  test('that are no stacks are told', () => {
    const cut = new Builder().u(5, 24).ref(new Builder().cell()).u(0, 8).cell();
    expect(() => readStack(cut)).toThrow('reference missing');
    const tag = new Builder().u(1, 24).ref(new Builder().cell()).u(9, 8).cell();
    expect(() => readStack(tag)).toThrow('tag 9');
    expect(() => readStack(new Builder().u(2 ** 24 - 1, 24).cell())).toThrow('more than 8000');
  });
});
