/** Between two lines of one kind, unless the kind has a pace of its own. */
const USUAL_MS = 30_000;

/** Tells whether a line may be written now: true at most once in so many milliseconds, the first time at once. */
export function createSeldom(everyMs: number = USUAL_MS): () => boolean {
  let saidAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - saidAt < everyMs) return false;
    saidAt = performance.now();
    return true;
  };
}
