import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressOf } from '../../../src/chain/address.ts';
import { Builder, type Cell, toBoc } from '../../../src/chain/builder.ts';
import type { StackValue } from '../../../src/tvm/stack.ts';
import { newCounters } from '../counters.ts';
import type { DecodedStep } from '../decode.ts';
import { type CodeStore, createCodeStore } from './codes.ts';
import { createMethods, Exhausting, type Methods, type StepView, usualGas } from './methods.ts';
import type { Results } from './stack.ts';
import type { Subject } from './subject.ts';

const { signal } = new AbortController();
const counters = newCounters();
/** `SETCP0, DROP`, and what follows. */
const codeOf = (hex: string): Cell => new Builder().bytes(Buffer.from(`ff0030${hex}`, 'hex')).cell();

let methods: Methods;
let codes: CodeStore;

beforeAll(() => {
  methods = createMethods(counters);
  codes = createCodeStore({ query: async () => Buffer.alloc(0) });
});
afterAll(() => methods?.close());

function subjectOf(code: Cell, { account = 1, data = 1 } = {}): Subject {
  const cell = new Builder().u(data, 32).cell();
  codes.put(code.hash(), toBoc(code), 1);
  const known = codes.held(code.hash());
  if (known === null) throw new Error('the code was put');
  return {
    account: addressOf(0, Buffer.alloc(32, account)),
    lt: '1',
    codeHash: code.hash(),
    dataHash: cell.hash(),
    balance: '1',
    extraCurrencies: {},
    code: known,
    data: toBoc(cell),
  };
}

function stepAt(genUtime: number, version = 13): StepView {
  const header = { genUtime, genSoftware: { version, capabilities: '46' } };
  return methods.view({ blocks: [{ record: { header } }] } as unknown as DecodedStep);
}

/** What each call left, and how many of them ran. */
async function asked(calls: readonly [Subject, StepView, StackValue[]?][]): Promise<{ left: string[]; ran: number }> {
  const before = counters.methodRuns;
  const left: string[] = [];
  for (const [subject, step, args = []] of calls) {
    const { dataHash } = subject;
    const results = await methods.call(subject, 'get_it', args, { step, codes, gas: usualGas(), signal });
    left.push(results.length === 0 ? dataHash.toString('hex') : results.big(results.length - 1).toString());
  }
  return { left, ran: counters.methodRuns - before };
}

const int = (value: bigint): StackValue[] => [{ type: 'int', value }];

describe('get-methods', () => {
  it('that see nothing but code, data and arguments run once for these', async () => {
    const echo = codeOf('');
    const [one, other, changed] = [subjectOf(echo), subjectOf(echo, { account: 2 }), subjectOf(echo, { data: 2 })];
    const calls: [Subject, StepView, StackValue[]][] = [
      [one, stepAt(5), int(7n)],
      [one, stepAt(9), int(7n)],
      [other, stepAt(9), int(7n)],
      [one, stepAt(5), int(8n)],
      [changed, stepAt(5), int(7n)],
      [one, stepAt(5, 12), int(7n)],
    ];
    // Another argument, other data, another version of the chain.
    expect(await asked(calls)).toEqual({ left: ['7', '7', '7', '8', '7', '7'], ran: 4 });
  });

  it('that see the time run in each step', async () => {
    const now = subjectOf(codeOf('f823'));
    expect(await asked([5, 6, 5].map((time) => [now, stepAt(time)]))).toEqual({ left: ['5', '6', '5'], ran: 3 });
  });

  it('that see their address run once for each account', async () => {
    // `MYADDR, REWRITESTDADDR, NIP`.
    const address = codeOf('f828fa4431');
    const calls = [1, 2, 1, 2].map((account): [Subject, StepView] => [subjectOf(address, { account }), stepAt(5)]);
    const [first, second] = [1, 2].map((byte) => BigInt(`0x${Buffer.alloc(32, byte).toString('hex')}`).toString());
    expect(await asked(calls)).toEqual({ left: [first, second, first, second], ran: 2 });
  });

  it('of the same kind at the same time wait for one', async () => {
    const before = counters.methodRuns;
    const echo = codeOf('00');
    const subjects = Array.from({ length: 20 }, (_, i) => subjectOf(echo, { account: i + 1 }));
    await Promise.all(
      subjects.map((one) => methods.call(one, 'get_it', [], { step: stepAt(5), codes, gas: usualGas(), signal })),
    );
    expect(counters.methodRuns - before).toBe(1);
  });

  it('that leave what cannot be written out say so at once, whatever it has, and others with their code are asked', async () => {
    // `NULL, PUSH c4, CTOS, PLDU 32`, then `DUP, TUPLE 2` so many times: 2^n values in n levels.
    const doubled = codeOf('6ded44d0d70b1f93206f02e4');
    const call = (times: number): Promise<Results> => {
      const subject = subjectOf(doubled, { account: times, data: times });
      return methods.call(subject, 'get_it', [], { step: stepAt(5), codes, gas: usualGas(), signal });
    };
    expect((await call(3)).length).toBe(1);
    for (const times of [12, 22, 60]) await expect(call(times)).rejects.toThrow(Exhausting);
    for (const times of [12, 22, 60]) await expect(call(times)).rejects.toThrow(/cannot be written out/);
    expect((await call(4)).length).toBe(1);
  });
});
