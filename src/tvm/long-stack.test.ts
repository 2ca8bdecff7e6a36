/** Stacks longer than trees of cells are deep. The gas of lists is what ton-http-api told of the same contracts. */
import { afterAll, expect, test } from 'vitest';
import { Builder, type Cell } from '../chain/builder.ts';
import { createGenesis } from '../devnet/genesis.ts';
import { type ChainView, methodId, runGetMethod } from './contract.ts';
import { countValues, isLong } from './long-stack.ts';
import { createTvmPool, tvmConfig } from './pool.ts';
import { listItems, listOf, NULL, type StackValue, writeStackValue } from './stack.ts';
import { codes, stateOf } from './test-contracts.ts';

const NOW = 1_700_000_000;
const pool = createTvmPool({ workers: 1, maxQueued: 10, timeoutMs: 60_000 });
afterAll(() => pool.close());

const devnet: ChainView = {
  config: tvmConfig(createGenesis('long stacks', [], NOW).config),
  prevBlocks: null,
  library: async () => null,
};

const asm = (hex: string): Cell => new Builder().bytes(Buffer.from(`ff0030${hex}`, 'hex')).cell();
const int = (value: bigint | number): StackValue => ({ type: 'int', value: BigInt(value) });
const ints = (count: number): StackValue[] => Array.from({ length: count }, (_, at) => int(at));

function run(code: Cell, stack: readonly StackValue[] = [], gasLimit = '1000000') {
  const options = { now: NOW, signal: AbortSignal.timeout(120_000), longStacks: true, gasLimit };
  return runGetMethod(pool, devnet, stateOf(code), methodId('get'), stack, options);
}

const same = (one: StackValue, other: StackValue): boolean => writeStackValue(one).equals(writeStackValue(other));

test('lists are left by contracts, with the gas that they cost', async () => {
  for (const [items, gasUsed] of [
    [900, 62_237],
    [1001, 69_206],
    [2000, 138_137],
    [3000, 207_137],
  ] as const) {
    const { stack, ...ran } = await run(codes.list(items));
    expect(ran).toMatchObject({ exitCode: 0, gasUsed });
    expect(stack).toHaveLength(1);
    const list = listItems(stack[0]);
    expect(list).toHaveLength(items);
    expect(list?.every((item) => item.type === 'int' && item.value === 1n)).toBe(true);
    expect(countValues(stack, 10_000)).toBe(items + 1);
  }
});

test('arguments of every type go in and come out, however many', async () => {
  const cell = new Builder().u(5, 7).ref(new Builder().cell()).cell();
  const kinds: StackValue[] = [
    NULL,
    int(-(2n ** 256n)),
    int(2n ** 256n - 1n),
    { type: 'nan' },
    { type: 'cell', cell },
    { type: 'slice', cell },
    { type: 'builder', cell },
    { type: 'tuple', items: [] },
    { type: 'tuple', items: ints(255) },
    { type: 'tuple', items: [int(1), NULL] },
    { type: 'tuple', items: [int(1), { type: 'tuple', items: [int(2), int(3)] }] },
  ];
  const stack = [...kinds, listOf(ints(1200)), ...ints(1800), ...kinds];
  expect(isLong(stack)).toBe(true);
  const ran = await run(codes.echo, stack);
  expect(ran).toMatchObject({ exitCode: 0, gasUsed: 49 });
  expect(ran.stack).toHaveLength(stack.length);
  for (const [at, value] of stack.entries()) {
    const [items, left] = [listItems(value), listItems(ran.stack[at])];
    if (items !== null && items.length > 500) expect(left).toEqual(items);
    else expect(same(ran.stack[at], value), `value ${at}`).toBe(true);
  }
}, 240_000);

test('contracts end as they do alone', async () => {
  const many = ints(1500);
  // THROW 40, AGAIN of nothing, DEPTH, MYCODE, PUSH c3, RETALT.
  for (const code of [asm('f228'), codes.endless, asm('68'), asm('f82a'), asm('ed43'), asm('db31')]) {
    const [few, all] = [await run(code, ints(3)), await run(code, many)];
    expect([all.exitCode, all.gasUsed]).toEqual([few.exitCode, few.gasUsed]);
    expect(all.stack.length - few.stack.length).toBe([0, 1].includes(few.exitCode) ? 1497 : 0);
    const own = (stack: readonly StackValue[]) => stack.filter(({ type }) => type === 'cell');
    expect(own(all.stack)).toEqual(own(few.stack));
  }
  // A list, and RETALT.
  const left = await run(codes.alternateList(2000));
  // As without RETALT, whose 26 stand for the 5 of an end without it.
  expect([left.exitCode, left.gasUsed, listItems(left.stack[0])?.length]).toEqual([1, 138_137 + 21, 2000]);
  // More arguments than a page has.
  const few = await run(asm('f228'), ints(3));
  expect(await run(asm('f228'), ints(7_998))).toMatchObject({ exitCode: 40, gasUsed: few.gasUsed, stack: few.stack });
  const limited = [await run(codes.endless, ints(3), '300000'), await run(codes.endless, many, '300000')];
  expect(limited[1]).toMatchObject({ exitCode: -14, gasUsed: limited[0].gasUsed, stack: limited[0].stack });
});

test('what is more than can be given is told', async () => {
  await expect(run(codes.list(13_000))).rejects.toThrow('more than 12000 values');
});
