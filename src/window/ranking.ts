/**
 * The first rows of an order that moves with the chain. What is known reaches to a floor: of every row that is not behind
 * it, it is known whether it is here.
 */
export interface Ranking<R, P = R> {
  /** The step up to which changes are in it. */
  readonly at: number;
  /** Rows as they are now, in place of what was here of them. */
  change(rows: readonly R[], at: number): void;
  /**
   * Null where not all of the page is known.
   * @param behind begins with what comes behind this place; whether a row is there does not matter
   */
  page(offset: number, limit: number, behind?: P): R[] | null;
}

/** `P`: what of a row tells its place. */
export interface RankingOptions<R extends P, P = R> {
  /** Below 0 when `a` comes first; 0 for the same row in the same place only. */
  compare(a: P, b: P): number;
  keyOf(row: R): string;
  /** Rows that are kept. */
  most: number;
}

/**
 * @param first rows in their order, at most `most`; fewer are all there are
 * @param at every change up to this step is in them
 */
export function createRanking<R extends P, P = R>(
  first: readonly R[],
  at: number,
  options: RankingOptions<R, P>,
): Ranking<R, P> {
  const { compare, keyOf, most } = options;
  let rows = [...first];
  let floor: R | null = first.length < most ? null : (first.at(-1) ?? null);
  const held = new Map(rows.map((row) => [keyOf(row), row]));
  let current = at;

  /** Where a row is, or would be; or what comes behind it. */
  function placeOf(row: P, isBehind = false): number {
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const order = compare(rows[middle], row);
      if (order < 0 || (isBehind && order === 0)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function put(row: R): void {
    const key = keyOf(row);
    const before = held.get(key);
    if (before !== undefined) {
      rows.splice(placeOf(before), 1);
      held.delete(key);
    }
    if (floor !== null && compare(row, floor) > 0) return;
    rows.splice(placeOf(row), 0, row);
    held.set(key, row);
  }

  /** Twice as many are no more use. */
  function shorten(): void {
    if (rows.length <= 2 * most) return;
    for (const row of rows.slice(most)) held.delete(keyOf(row));
    rows = rows.slice(0, most);
    floor = rows[most - 1];
  }

  return {
    get at() {
      return current;
    },
    change(changed, to) {
      for (const row of changed) put(row);
      shorten();
      current = to;
    },
    page(offset, limit, behind) {
      const start = offset + (behind === undefined ? 0 : placeOf(behind, true));
      const end = start + limit;
      return floor === null || end <= rows.length ? rows.slice(start, end) : null;
    },
  };
}
