/** True at most once in a while, to keep lines of one kind apart. */
export function createLine(everyMs: number): () => boolean {
  let saidAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - saidAt < everyMs) return false;
    saidAt = performance.now();
    return true;
  };
}
