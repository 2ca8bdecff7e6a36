import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRanking } from './ranking.ts';

interface Row {
  key: number;
  amount: number;
}

const compare = (a: Row, b: Row): number => b.amount - a.amount || a.key - b.key;
const options = { compare, keyOf: ({ key }: Row) => String(key) };
const rows = fc.record({ key: fc.nat(20), amount: fc.nat(8) });

/** All rows in order, the last said of each key. */
function ordered(said: readonly Row[]): Row[] {
  return [...new Map(said.map((row) => [row.key, row])).values()].sort(compare);
}

describe('a ranking', () => {
  it('says of a page what a sort of everything says, or that it does not know', () => {
    let told = 0;
    const same = fc.property(
      fc.array(rows, { maxLength: 30 }),
      fc.array(fc.array(rows, { maxLength: 6 }), { maxLength: 12 }),
      fc.integer({ min: 1, max: 12 }),
      (before, steps, most) => {
        const said = [...before];
        const ranking = createRanking(ordered(said).slice(0, most), 0, { ...options, most });
        for (const [i, step] of steps.entries()) {
          said.push(...step);
          ranking.change(step, i + 1);
          expect(ranking.at).toBe(i + 1);
          for (const [offset, limit] of [
            [0, 1],
            [0, most],
            [most >> 1, 2],
            [most, 5],
          ]) {
            const page = ranking.page(offset, limit);
            if (page === null) continue;
            told++;
            expect(page).toEqual(ordered(said).slice(offset, offset + limit));
          }
          // Behind a row, and behind a place where none may be.
          for (const place of [...ordered(said).slice(0, 1), { key: 10, amount: 4 }]) {
            const page = ranking.page(1, 2, place);
            if (page === null) continue;
            told++;
            const behind = ordered(said).filter((row) => compare(row, place) > 0);
            expect(page).toEqual(behind.slice(1, 3));
          }
        }
      },
    );
    fc.assert(same, { numRuns: 300 });
    expect(told).toBeGreaterThan(1_000);
  });

  it('knows its first rows as long as none of them has left', () => {
    const first = Array.from({ length: 10 }, (_, key) => ({ key, amount: 100 - key }));
    const ranking = createRanking(first, 0, { ...options, most: 10 });
    ranking.change([{ key: 50, amount: 1 }], 1);
    expect(ranking.page(0, 10)).toEqual(first);
    expect(ranking.page(0, 11)).toBeNull();
    ranking.change([{ key: 3, amount: 0 }], 2);
    expect(ranking.page(0, 9)?.map(({ key }) => key)).toEqual([0, 1, 2, 4, 5, 6, 7, 8, 9]);
    expect(ranking.page(0, 10)).toBeNull();
    ranking.change([{ key: 60, amount: 1_000 }], 3);
    expect(ranking.page(0, 1)).toEqual([{ key: 60, amount: 1_000 }]);
    expect(ranking.page(0, 10)).toHaveLength(10);
  });
});
