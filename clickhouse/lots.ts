/** Many keys are asked for lot by lot: neither a statement nor its answer grows with a batch. */

/** Keys of one statement. */
export const KEYS_PER_QUERY = 5_000;
/** Of keys that are written as several literals, or of which more is read than a short row. */
export const LARGE_KEYS_PER_QUERY = 2_000;

export function* lotsOf<T>(keys: readonly T[], size: number): Generator<T[]> {
  for (let at = 0; at < keys.length; at += size) yield keys.slice(at, at + size);
}
