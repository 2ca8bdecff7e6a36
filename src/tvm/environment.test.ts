import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Builder } from '../chain/builder.ts';
import { cellText, createExecutor, type Executor, type GetMethodResult } from './executor.ts';
import { writeStack } from './stack.ts';
import { codes, versionConfig } from './test-contracts.ts';

const CALL = {
  data: cellText(new Builder().cell()),
  address: `0:${'07'.repeat(32)}`,
  methodId: 70_000,
  now: 1_700_000_000,
  balance: '12345',
  randSeed: Buffer.alloc(32, 1),
};
const ELSEWHERE = { address: `-1:${'55'.repeat(32)}` };
const OTHERWISE = { now: 1_800_000_000, balance: '777', randSeed: Buffer.alloc(32, 2) };
const ARGUMENTS = cellText(
  writeStack([
    { type: 'int', value: 2n },
    { type: 'int', value: 1n },
    { type: 'int', value: 0n },
  ]),
);

let executor: Executor;
beforeAll(async () => {
  executor = await createExecutor(cellText(versionConfig(13, 0x3ffn)));
});
afterAll(() => executor?.close());

function run(hex: string, more: object): Extract<GetMethodResult, { success: true }> {
  const code = cellText(new Builder().bytes(Buffer.from(`ff0030${hex}`, 'hex')).cell());
  const result = executor.runGetMethod({ ...CALL, ...more, code, stack: ARGUMENTS });
  if (!result.success) throw new Error(result.reason);
  return result;
}

describe('what a run saw of its environment', () => {
  test('is told for every instruction under f8 whose result it changes', () => {
    const changing: string[] = [];
    for (let opcode = 0xf800; opcode <= 0xf8ff; opcode++) {
      const hex = opcode.toString(16);
      const here = run(hex, {});
      if (run(hex, OTHERWISE).stack !== here.stack) {
        changing.push(hex);
        expect([hex, here.seen]).toEqual([hex, 'more']);
      }
      if (run(hex, ELSEWHERE).stack !== here.stack)
        expect([hex, ['address', 'more']]).toEqual([hex, expect.arrayContaining([here.seen])]);
    }
    // RANDU256, NOW, RANDSEED, BALANCE, GETGLOBVAR at least: the environments do differ.
    expect(changing).toEqual(expect.arrayContaining(['f810', 'f823', 'f826', 'f827', 'f840']));
  });

  test.each([
    ['its arguments', '', 'nothing'],
    ['a global of its own', 'f841', 'nothing'],
    ['its data', 'ed44', 'nothing'],
    ['its address', 'f828', 'address'],
    ['its code', 'f82a', 'nothing'],
    ['the whole environment', 'ed47', 'more'],
    ['the whole environment by a number', '77ede0', 'more'],
    ['a global by a number', '70f840', 'more'],
  ])('is told of %s', (_, hex, seen) => {
    expect(run(hex, {}).seen).toBe(seen);
  });

  test('is told when the run failed', () => {
    const failing = { ...CALL, code: cellText(codes.endless), stack: ARGUMENTS, gasLimit: '10000' };
    expect(executor.runGetMethod(failing)).toMatchObject({ success: true, exitCode: -14, seen: 'nothing' });
  });
});
