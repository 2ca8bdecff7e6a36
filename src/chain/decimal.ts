import type { Decimal } from './model.ts';

/** Order of two decimals without a sign or leading zeros. */
export function compareDecimal(a: Decimal, b: Decimal): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}
