/** Amounts and texts as the pages show them. */
import { describe, expect, it } from 'vitest';

// The pages' modules are plain JavaScript for browsers.
const { exactAmount, exactTons, extraCurrencies, short, tons } = await import(
  new URL('./page/format.js', import.meta.url).href
);

describe('amounts', () => {
  it('have all their digits, and a sign: a stake that does not cover its fee is below zero', () => {
    for (const [amount, exact, shown] of [
      ['0', '0', '0'],
      ['1', '0.000000001', '<0.0001'],
      ['12500000000', '12.5', '12.5'],
      ['1234567890123456789', '1,234,567,890.123456789', '1,234,567,890.1234'],
      ['-1', '-0.000000001', '-0.000000001'],
      ['-500000000', '-0.5', '-0.5'],
      ['-1500000000', '-1.5', '-1.5'],
    ]) {
      expect([amount, exactTons(amount), tons(amount, 4)]).toEqual([amount, exact, shown]);
    }
    expect([exactAmount('1500', 0), exactAmount('-1500', 3), exactAmount('5', 255).length]).toEqual([
      '1,500',
      '-1.5',
      257,
    ]);
  });
});

describe('a long text', () => {
  it('is cut beside pairs of surrogates, never inside one', () => {
    expect(short('a💎b💎💎💎c', 2, 2)).toBe('a…c');
    expect(short('a💎b💎💎💎c', 3, 3)).toBe('a💎…💎c');
    expect(short('💎'.repeat(50), 41, 7)).toBe(`${'💎'.repeat(20)}…${'💎'.repeat(3)}`);
  });
});

it('tells extra currencies in their smallest units, and nothing where there are none', () => {
  expect(extraCurrencies({ 100: '1500', 7: '1' })).toBe('1 of currency 7, 1,500 of currency 100');
  expect([{}, null, undefined].map(extraCurrencies)).toEqual([null, null, null]);
});
