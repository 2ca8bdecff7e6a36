import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KnownState } from '../src/chain/records.ts';
import {
  decodeState,
  decodeStates,
  encodeState,
  encodeStates,
  joinStates,
  statusName,
  statusNumber,
} from './states.ts';

const hash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));
/** VarUInteger 32 of extra currencies is the widest amount on the chain: 248 bits. */
const amount = fc.bigInt(0n, 2n ** 248n - 1n).map(String);
const currency = fc.nat(2 ** 32 - 1).map(String);
const shown: fc.Arbitrary<KnownState> = fc.record({
  status: fc.constantFrom('nonexist', 'uninit', 'active', 'frozen'),
  balance: fc.bigInt(0n, 2n ** 120n - 1n).map(String),
  extraCurrencies: fc.dictionary(currency, amount, { maxKeys: 300, noNullPrototype: true }),
  frozenHash: fc.option(hash),
  codeHash: fc.option(hash),
  dataHash: fc.option(hash),
});
const state = fc
  .tuple(shown, fc.boolean())
  .map(([one, isLearned]) => (isLearned ? { ...one, learnedExtra: one.extraCurrencies } : one));

describe('packed states', () => {
  it('come back as they were', () => {
    fc.assert(
      fc.property(fc.option(state), fc.option(state), (before, after) => {
        const packed = encodeStates(before, after);
        expect(decodeStates(packed)).toEqual({ before, after });
        expect(joinStates(before && encodeState(before), after)).toEqual(packed);
      }),
    );
    fc.assert(
      fc.property(state, (one) => {
        expect(decodeState(encodeState(one))).toEqual(one);
      }),
    );
  });

  it('refuse a status that is none', () => {
    expect(() => statusName(4)).toThrow('account status 4 is not known');
    expect(statusName(statusNumber('frozen'))).toBe('frozen');
  });
});
