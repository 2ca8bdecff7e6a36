import { Cell as CoreCell } from '@ton/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { shelf } from '../../../test/shelf.ts';
import { specSchemas } from '../../../test/spec-schemas.ts';
import { Builder, type Cell, parseBoc, toBoc } from '../../chain/builder.ts';
import { listOf, NULL, type StackValue, writeStack } from '../../tvm/stack.ts';
import { pairStack, readPairs, readTyped, typedStack } from './stack.ts';

const int = (value: bigint | number): StackValue => ({ type: 'int', value: BigInt(value) });
const tuple = (...items: StackValue[]): StackValue => ({ type: 'tuple', items });
const leaf = new Builder().u(0b101, 3).cell();
const cell = new Builder().u(0xabcdef, 24).ref(leaf).cell();
const boc = toBoc(cell).toString('base64');
const pruned = toBoc(new Builder().u(0x0101, 16).bytes(Buffer.alloc(32, 7)).u(0, 16).cell(true)).toString('base64');
const same = (a: readonly StackValue[], b: readonly StackValue[]): void =>
  expect(writeStack(a).hash().toString('hex')).toBe(writeStack(b).hash().toString('hex'));

describe('what is asked', () => {
  test.each<[unknown, StackValue]>([
    [['num', '0x1f'], int(31)],
    [['num', '-0x1F'], int(-31)],
    [['num', '-5'], int(-5)],
    [['int', 5], int(5)],
    [['number', '0'], int(0)],
    [['integer', -(2 ** 53)], int(-(2n ** 53n))],
    [['num', 9007199254740993000], int(9007199254740993024n)],
    [['num', `0x${'f'.repeat(64)}`], int(2n ** 256n - 1n)],
    [['num', (-(2n ** 256n)).toString()], int(-(2n ** 256n))],
    [['tvm.Cell', boc], { type: 'cell', cell }],
    [['cell', boc], { type: 'cell', cell }],
    [['cell', { bytes: boc }], { type: 'cell', cell }],
    [['tvm.Slice', boc], { type: 'slice', cell }],
    [['slice', { bytes: boc }], { type: 'slice', cell }],
    [['null'], NULL],
    [['null', null], NULL],
    [['tuple', { '@type': 'tvm.tuple', elements: [] }], tuple()],
    [
      [
        'tvm.Tuple',
        {
          elements: [
            ['num', '1'],
            ['tuple', { elements: [['num', 2]] }],
          ],
        },
      ],
      tuple(int(1), tuple(int(2))),
    ],
    [
      [
        'list',
        {
          elements: [
            ['num', '1'],
            ['num', '2'],
          ],
        },
      ],
      listOf([int(1), int(2)]),
    ],
    [['tvm.List', { '@type': 'tvm.list', elements: [] }], NULL],
  ])('%j', (entry, value) => same(readPairs([entry]), [value]));

  test('cells as objects, also as text, with or without what stands behind their bits', () => {
    const object = {
      data: { b64: 'q83v', len: 24 },
      refs: [{ data: { b64: 'oA==', len: 3 }, refs: [], special: false }],
      special: false,
    };
    same(readPairs([['cell', object]]), [{ type: 'cell', cell }]);
    same(readPairs([['slice', JSON.stringify(object)]]), [{ type: 'slice', cell }]);
    const tagged = { ...object, refs: [{ data: { b64: 'sA==', len: 3 }, refs: [] }] };
    same(readPairs([['cell', tagged]]), [{ type: 'cell', cell }]);
    const library = new Builder().u(2, 8).bytes(Buffer.alloc(32, 9)).cell(true);
    const special = { data: { b64: library.data.toString('base64'), len: 264 }, refs: [], special: true };
    same(readPairs([['cell', special]]), [{ type: 'cell', cell: library }]);
  });

  test.each<[unknown, number, string]>([
    ['num', 422, 'pair'],
    [['num', '1', '2'], 422, 'pair'],
    [['num', ''], 422, 'Invalid number: '],
    [['num', '1.5'], 422, 'Invalid number'],
    [['num', 1.5], 422, 'Invalid number'],
    [['num', '0x'], 422, 'Invalid number'],
    [['num', 'f'], 422, 'Invalid number'],
    [['num', '- 1'], 422, 'Invalid number'],
    [['num', (2n ** 256n).toString()], 422, 'Invalid number'],
    [['num', '9'.repeat(100_000)], 422, 'Invalid number'],
    [['num'], 422, 'Invalid number'],
    [['num', null], 422, 'Invalid number'],
    [['tvm.Cell', ''], 422, 'Empty tvm.Cell'],
    [['tvm.Cell'], 422, 'Empty tvm.Cell'],
    [['cell', { bytes: '' }], 422, 'Empty cell'],
    [['tvm.Slice', '!!'], 422, 'not base64'],
    [['tvm.Slice', 'x'], 422, 'not base64'],
    [['tvm.Slice', 'AAAA'], 500, 'cannot deserialize bag-of-cells: '],
    [['cell', { bytes: 'AAAA' }], 500, 'cannot deserialize bag-of-cells: '],
    [['cell', pruned], 500, 'cannot deserialize bag-of-cells: pruned branches'],
    [['cell', '{'], 422, 'Invalid cell'],
    [['cell', {}], 422, 'Invalid cell'],
    [['cell', { data: { b64: 'AA==', len: 9 } }], 422, '9 bits'],
    [['cell', { data: { b64: 'AA==', len: -1 } }], 422, '-1 bits'],
    [['cell', { data: { b64: 'AA==', len: 8 }, refs: [1, 2, 3, 4, 5] }], 422, '5 references'],
    [['cell', { data: { b64: 'AA==', len: 8 }, special: true }], 422, 'Invalid cell'],
    [['tuple', []], 422, 'elements'],
    [['tuple', { elements: [1] }], 422, 'object'],
    [['tuple', { elements: [{ '@type': 'tvm.stackEntryNumber' }] }], 422, 'without its number'],
    [['tvm.Builder', boc], 542, 'Unsupported stack entry type: tvm.Builder'],
    [['x'.repeat(1000), 1], 542, 'Unsupported stack entry type'],
    [[1, 1], 422, 'pair'],
    [[], 422, 'pair'],
    [['tuple', { elements: [{}] }], 422, '@type'],
    [['tuple', { elements: [{ '@type': 'tvm.Cell' }] }], 422, '@type'],
    [['tuple', { elements: [{ '@type': 'tvm.stackEntryUnsupported' }] }], 542, 'tvm.stackEntryUnsupported'],
  ])('refuses %j', (entry, status, text) => {
    expect(() => readPairs([entry])).toThrow(
      expect.objectContaining({ status, message: expect.stringContaining(text) }),
    );
  });

  test('ends at its limits', () => {
    expect(() => readPairs(Array(8001).fill(['null']))).toThrow('more than 8000');
    let deep: unknown = ['null'];
    for (let i = 0; i < 10_000; i++) deep = ['tuple', { elements: [deep] }];
    expect(() => readPairs([deep])).toThrow('deeper than 1024');
    let wide: object = { data: { b64: '', len: 0 }, refs: [] };
    for (let i = 0; i < 20; i++) wide = { data: { b64: '', len: 0 }, refs: [wide, wide] };
    expect(() => readPairs([['cell', wide]])).toThrow('too many cells');
  });

  test('a deep cell given as objects is read once, not once for each level', () => {
    const cells = 1_000;
    let object: object = { data: { b64: 'AA==', len: 8 } };
    let deep = new Builder().u(0, 8).cell();
    for (let level = 1; level < cells; level++) {
      object = { data: { b64: 'AA==', len: 8 }, refs: [object] };
      deep = new Builder().u(0, 8).ref(deep).cell();
    }
    const bag = toBoc(deep).toString('base64');
    const cpuOf = (entry: unknown): number => {
      const before = process.cpuUsage();
      for (let times = 0; times < 5; times++) same(readPairs([entry]), [{ type: 'cell', cell: deep }]);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    cpuOf(['cell', bag]);
    expect(cpuOf(['cell', object])).toBeLessThan(30 * cpuOf(['cell', bag]));
  });

  test('an exotic cell that is none, with others above it', () => {
    const short = { data: { b64: 'AQc=', len: 16 }, special: true };
    const none = { data: { b64: '', len: 0 }, special: true };
    for (const exotic of [short, none]) {
      const above = { data: { b64: '', len: 0 }, refs: [{ data: { b64: '', len: 0 }, refs: [exotic] }] };
      expect(() => readPairs([['cell', above]])).toThrow(expect.objectContaining({ status: 422 }));
    }
  });
});

describe('what is answered', () => {
  const bytes = { '@type': 'tvm.cell', bytes: boc };
  const number = (text: string) => ({
    '@type': 'tvm.stackEntryNumber',
    number: { '@type': 'tvm.numberDecimal', number: text },
  });
  const list = (...elements: unknown[]) => ({ '@type': 'tvm.list', elements });

  test('pairs: numbers in hex, slices as cells, what is nested as objects', () => {
    const object = {
      data: { b64: 'q83v', len: 24 },
      refs: [{ data: { b64: 'sA==', len: 3 }, refs: [], special: false }],
      special: false,
    };
    const values: StackValue[] = [
      int(31),
      int(-1),
      int(0),
      { type: 'cell', cell },
      { type: 'slice', cell },
      NULL,
      listOf([int(1), { type: 'slice', cell }]),
      tuple(int(-7), NULL, listOf([int(2)]), { type: 'cell', cell }, { type: 'builder', cell }),
      tuple(),
      { type: 'builder', cell },
      { type: 'continuation' },
      { type: 'nan' },
    ];
    expect(pairStack(values)).toEqual([
      ['num', '0x1f'],
      ['num', '-0x1'],
      ['num', '0x0'],
      ['cell', { bytes: boc, object }],
      ['cell', { bytes: boc, object }],
      ['list', list()],
      ['list', list(number('1'), { '@type': 'tvm.stackEntrySlice', slice: { '@type': 'tvm.slice', bytes: boc } })],
      [
        'tuple',
        {
          '@type': 'tvm.tuple',
          elements: [
            number('-7'),
            { '@type': 'tvm.stackEntryList', list: list() },
            { '@type': 'tvm.stackEntryList', list: list(number('2')) },
            { '@type': 'tvm.stackEntryCell', cell: bytes },
            { '@type': 'tvm.stackEntryUnsupported' },
          ],
        },
      ],
      ['tuple', { '@type': 'tvm.tuple', elements: [] }],
      ['unsupported', ''],
      ['unsupported', ''],
      ['unsupported', ''],
    ]);
  });

  test('nothing deeper than the limit', () => {
    const nested = (depth: number): StackValue =>
      Array.from({ length: depth }).reduce<StackValue>((inner) => tuple(inner, int(1)), int(0));
    expect(pairStack([nested(99)])).toHaveLength(1);
    const refusal = expect.objectContaining({ status: 533, message: 'Result stack depth >= 100' });
    expect(() => pairStack([nested(100)])).toThrow(refusal);
    expect(() => typedStack([nested(100)])).toThrow(refusal);
    // A list is one level, however long.
    expect(pairStack([listOf(Array(500).fill(int(1)))])).toHaveLength(1);
  });

  test('cells that share what they hold are not written out as objects', () => {
    let shared: Cell = leaf;
    for (let i = 0; i < 60; i++) shared = new Builder().ref(shared).ref(shared).cell();
    const [pair] = pairStack([{ type: 'cell', cell: shared }]);
    expect(pair).toEqual(['cell', { bytes: toBoc(shared).toString('base64') }]);
  });

  test('many small cells that share much are written as objects no further than one large one', () => {
    let shared: Cell = leaf;
    for (let i = 0; i < 9; i++) shared = new Builder().ref(shared).ref(shared).cell();
    const pairs = pairStack(Array(1_000).fill({ type: 'cell', cell: shared }));
    const bytes = toBoc(shared).toString('base64');
    const [first] = pairStack([{ type: 'cell', cell: shared }]);
    expect(pairs[0]).toEqual(first);
    expect(pairs.at(-1)).toEqual(['cell', { bytes }]);
    expect(JSON.stringify(pairs).length).toBeLessThan(1_000 * 200 + 16 * JSON.stringify(first).length);
  });
});

const arbitraryCell = fc
  .tuple(fc.uint8Array({ maxLength: 30 }), fc.nat(7), fc.boolean())
  .map(([data, bits, ref]) => (ref ? new Builder().ref(leaf) : new Builder()).bytes(data).u(0, bits).cell());
const scalar: fc.Arbitrary<StackValue> = fc.oneof(
  fc.constant<StackValue>(NULL),
  fc.bigInt(-(2n ** 256n), 2n ** 256n - 1n).map(int),
  fc.tuple(fc.constantFrom('cell', 'slice'), arbitraryCell).map(([type, of]): StackValue => ({ type, cell: of })),
);
const { value } = fc.letrec<{ value: StackValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }).map((items) => tuple(...items)),
    fc.array(tie('value'), { maxLength: 4 }).map(listOf),
  ),
}));

test('what is answered can be asked again', () => {
  fc.assert(
    fc.property(fc.array(value, { maxLength: 5 }), (values) => {
      same(readTyped(typedStack(values)), values);
      const asCells = values.map((of): StackValue => (of.type === 'slice' ? { ...of, type: 'cell' } : of));
      same(readPairs(pairStack(values)), asCells);
    }),
    { numRuns: 100 },
  );
});

test.skipIf(shelf === null)('both hold to the contract', () => {
  const hold = specSchemas('v2');
  const odd: StackValue[] = [{ type: 'nan' }, { type: 'continuation' }, { type: 'builder', cell }];
  fc.assert(
    fc.property(fc.array(value, { maxLength: 4 }), (values) => {
      for (const pair of pairStack([...values, ...odd])) hold('LegacyStackEntry', pair);
      for (const typed of typedStack([...values, ...odd, tuple(...odd)])) hold('TvmStackEntry', typed);
    }),
    { numRuns: 50 },
  );
});

test('cells come as bags that another implementation reads', () => {
  const [pair] = pairStack([{ type: 'slice', cell }]);
  const { bytes } = pair[0] === 'cell' ? pair[1] : { bytes: '' };
  expect(
    CoreCell.fromBase64(bytes)
      .hash()
      .equals(parseBoc(Buffer.from(boc, 'base64')).hash()),
  ).toBe(true);
});
