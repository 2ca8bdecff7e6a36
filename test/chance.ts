/** What tests draw by chance, and how much of it: `TEST_SEED` (printed by every run) repeats it, `TEST_LONG` draws more. */

const MODULUS = 2_147_483_647;

/** Of this run. */
export const seed = Number(process.env.TEST_SEED);
if (!Number.isInteger(seed)) throw new Error(`TEST_SEED must be a whole number, not ${process.env.TEST_SEED}`);

/** In `npm run test:long`. */
export const isLong: boolean = process.env.TEST_LONG === '1';

/** So many in `npm test`, so many in `npm run test:long`. */
export function rounds(usual: number, long: number): number {
  return isLong ? long : usual;
}

let state: number;

/** Each test file draws anew from the seed of the run, whatever was drawn before in its process. */
export function drawAnew(): void {
  state = 1 + (Math.abs(seed) % (MODULUS - 1));
}
drawAnew();

/** A whole number below this one. Park and Miller's generator: what comes is decided by the seed and the calls before. */
export function random(below: number): number {
  state = (state * 48_271) % MODULUS;
  return state % below;
}

/** Each of them as often as any other, give or take one, in random order; of more than `count`, any of them. */
export function drawn<T>(kinds: readonly T[], count: number): T[] {
  const bag = Array.from({ length: Math.max(count, kinds.length) }, (_, i) => kinds[i % kinds.length]);
  for (let i = bag.length - 1; i > 0; i--) {
    const other = random(i + 1);
    [bag[i], bag[other]] = [bag[other], bag[i]];
  }
  return bag.slice(0, count);
}
