import { expect, it } from 'vitest';
import { type Listing, mergePage, TIRED } from './merge.ts';

interface Case {
  rows?: readonly (number | typeof TIRED)[];
  fetch?: Listing<number, number>['fetch'];
}

/** Numbers upwards, the tables below 1,000; `open` counts the sequences of rows that were begun and not ended. */
function listing({ rows = [1_000, 1_001, 1_002], fetch = async () => [] }: Case) {
  const counts = { begun: 0, open: 0 };
  function* counted(): Generator<number | typeof TIRED> {
    counts.begun++;
    counts.open++;
    try {
      yield* rows;
    } finally {
      counts.open--;
    }
  }
  const asked: Omit<Listing<number, number>, 'sort'> = {
    rows: { [Symbol.iterator]: counted },
    ahead: (row) => row >= 1_000,
    needsTables: true,
    page: { limit: 2, offset: 0 },
    load: (row) => row,
    fetch,
    compare: (row, other) => row - other,
  };
  return { asked, counts };
}

const CASES: [string, Case][] = [
  ['the tables fill the page', { fetch: async () => [1, 2] }],
  ['rows fill the page', {}],
  ['the tables fail', { fetch: () => Promise.reject(new Error('too late')) }],
  ['the tables fail behind interleaved rows', { rows: [5, 6, 1_000], fetch: () => Promise.reject(new Error('gone')) }],
  ['both sides have the same row', { rows: [5, 1_000], fetch: async () => [5] }],
  ['too many rows are looked through', { rows: [1_000, TIRED, 1_001] }],
  ['too many rows are looked through at once', { rows: [5, TIRED, 1_001] }],
  ['too many rows are interleaved', { rows: Array.from({ length: 900 }, (_, i) => i) }],
];

// What is left open holds a snapshot of the store, and with it all that is written from then on.
it.each(CASES)('leaves no sequence of rows open when %s', async (_, given) => {
  for (const sort of ['asc', 'desc'] as const) {
    const { asked, counts } = listing(given);
    await mergePage({ ...asked, sort }).catch(() => undefined);
    expect(counts).toEqual({ begun: 1, open: 0 });
  }
});
