/** Blocks begin at multiples of this. */
const LT_ALIGN = 1_000_000n;

export function laterLt(a: bigint, b: bigint): bigint {
  if (a < b) return b;
  return a;
}

export function earlierLt(a: bigint, b: bigint): bigint {
  if (b < a) return b;
  return a;
}

/** The next multiple of 1,000,000 behind all the given lts. */
export function alignedLt(...lts: readonly bigint[]): bigint {
  return (lts.reduce(laterLt, 0n) / LT_ALIGN + 1n) * LT_ALIGN;
}
