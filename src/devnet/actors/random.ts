import { createHash } from 'node:crypto';

/** Numbers that depend on the seed alone. Not for keys. */
export interface Random {
  /** 0 <= n < bound; bound at most 2^32. */
  integer(bound: number): number;
  /** low <= n < high, in steps of about a 2^32th of the range. */
  between(low: bigint, high: bigint): bigint;
  bits64(): bigint;
  /** @throws {RangeError} when there is nothing to pick from */
  pick<T>(from: readonly T[]): T;
}

/** Equal parts give equal numbers: sfc32 (public domain, C. Doty-Humphrey) started from the SHA-256 of the parts. */
export function createRandom(...parts: readonly (string | number)[]): Random {
  const start = createHash('sha256').update(JSON.stringify(parts)).digest();
  let [a, b, c, counter] = [0, 4, 8, 12].map((at) => start.readInt32LE(at));

  function next(): number {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return sum >>> 0;
  }

  function integer(bound: number): number {
    return Math.floor((next() / 2 ** 32) * bound);
  }

  return {
    integer,
    between: (low, high) => low + ((high - low) * BigInt(next())) / 2n ** 32n,
    bits64: () => (BigInt(next()) << 32n) | BigInt(next()),
    pick(from) {
      if (from.length === 0) throw new RangeError('nothing to pick from');
      return from[integer(from.length)];
    },
  };
}
