import type { Decimal } from './model.ts';

/** Order of two decimals without a sign or leading zeros. */
export function compareDecimal(a: Decimal, b: Decimal): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** Inclusive on both ends; what has no value is between none. */
export function isBetween(value: Decimal | null, from: Decimal | null, to: Decimal | null): boolean {
  if (value === null) return false;
  return (from === null || compareDecimal(value, from) >= 0) && (to === null || compareDecimal(value, to) <= 0);
}

/** Digits of which two numbers and their sum are exact as numbers. */
const EXACT_DIGITS = 15;

/** Sum of two decimals without a sign. */
export function addDecimals(a: Decimal, b: Decimal): Decimal {
  if (a.length <= EXACT_DIGITS && b.length <= EXACT_DIGITS) return String(Number(a) + Number(b));
  return (BigInt(a) + BigInt(b)).toString();
}
