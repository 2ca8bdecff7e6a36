import { describe, expect, test } from 'vitest';
import { shelf } from '../../../test/shelf.ts';
import { specSchemas } from '../../../test/spec-schemas.ts';
import { Builder, toBoc } from '../../chain/builder.ts';
import { listOf, NULL, type StackValue, writeStack } from '../../tvm/stack.ts';
import { readEntities, stackEntities } from './stack.ts';

const cell = new Builder().u(0xabc, 12).cell();
const boc = toBoc(cell).toString('base64');
const int = (value: bigint | number): StackValue => ({ type: 'int', value: BigInt(value) });

describe('what is asked', () => {
  test.each<[string, unknown, StackValue]>([
    ['num', '0x1f', int(31)],
    ['num', '-0x1', int(-1)],
    ['num', '31', int(31)],
    ['num', 31, int(31)],
    ['cell', boc, { type: 'cell', cell }],
    ['slice', boc, { type: 'slice', cell }],
  ])('%s %s', (type, value, expected) => {
    expect(writeStack(readEntities([{ type, value }])).equals(writeStack([expected]))).toBe(true);
  });

  test.each<[string, unknown, number, string]>([
    ['num', 'x', 422, 'invalid number: x'],
    ['num', undefined, 422, 'invalid number'],
    ['num', `${2n ** 256n}`, 422, 'invalid number'],
    ['cell', '', 422, 'invalid cell'],
    ['cell', { bytes: boc }, 422, 'invalid cell'],
    ['slice', 'AAAA', 422, 'invalid slice'],
    ['tuple', [], 500, 'unsupported stack parameter type: tuple'],
    ['list', [], 500, 'unsupported stack parameter type: list'],
  ])('refuses %s %j', (type, value, status, text) => {
    const refusal = expect.objectContaining({ status, message: expect.stringContaining(text) });
    expect(() => readEntities([{ type, value }])).toThrow(refusal);
  });
});

describe('what is answered', () => {
  const values: StackValue[] = [
    int(31),
    int(-31),
    { type: 'cell', cell },
    { type: 'slice', cell },
    NULL,
    listOf([int(1), NULL]),
    { type: 'tuple', items: [int(2), { type: 'slice', cell }] },
    { type: 'tuple', items: [] },
  ];

  test('numbers in hex everywhere, null as the empty list', () => {
    expect(stackEntities(values)).toEqual([
      { type: 'num', value: '0x1f' },
      { type: 'num', value: '-0x1f' },
      { type: 'cell', value: boc },
      { type: 'cell', value: boc },
      { type: 'list', value: [] },
      {
        type: 'list',
        value: [
          { type: 'num', value: '0x1' },
          { type: 'list', value: [] },
        ],
      },
      {
        type: 'tuple',
        value: [
          { type: 'num', value: '0x2' },
          { type: 'slice', value: boc },
        ],
      },
      { type: 'tuple', value: [] },
    ]);
  });

  test.skipIf(shelf === null)('in the form of the contract', () => {
    specSchemas('v3')('V2RunGetMethodResult', { gas_used: 5, exit_code: 0, stack: stackEntities(values) });
  });

  test.each<[StackValue, number]>([
    [{ type: 'builder', cell }, 501],
    [{ type: 'continuation' }, 501],
    [{ type: 'nan' }, 501],
    [{ type: 'tuple', items: [{ type: 'continuation' }] }, 501],
    [Array.from({ length: 100 }).reduce<StackValue>((inner) => ({ type: 'tuple', items: [inner] }), int(0)), 533],
  ])('but for %o', (value, status) => {
    expect(() => stackEntities([value])).toThrow(expect.objectContaining({ status }));
  });
});
