import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createKept } from './kept.ts';
import type { View } from './view.ts';

const viewAt = (head: number): View => ({ head }) as View;

describe('what is kept of accounts', () => {
  it('is what a look would find, whatever the steps change and whichever view asks', () => {
    let told = 0;
    const step = fc.uniqueArray(fc.nat(3), { maxLength: 1 });
    const question = fc.record({ head: fc.nat(), on: fc.boolean(), account: fc.nat(3) });
    const same = fc.property(
      fc.array(step, { minLength: 1, maxLength: 20 }),
      fc.array(question, { minLength: 20, maxLength: 60 }),
      (steps, questions) => {
        const lastOf = (account: number, head: number): number =>
          steps.findLastIndex((changed, at) => at <= head && changed.includes(account));
        const changes = {
          isUnchanged: ({ head }: View, key: string, since: number) =>
            since <= head && lastOf(Number(key), head) === lastOf(Number(key), since),
        };
        const kept = createKept<{ last: number }>(changes, 1_000, 100, () => 100);
        let at = 0;
        for (const { head, on, account } of questions) {
          at = on ? Math.min(steps.length - 1, at + (head % 2)) : head % steps.length;
          const view = viewAt(at);
          const last = lastOf(account, at);
          const known = kept.get(view, String(account));
          if (known !== null) told++;
          expect(known?.last ?? last).toBe(last);
          if (known === null) kept.offer(view, String(account), () => ({ last }));
        }
      },
    );
    fc.assert(same, { numRuns: 200 });
    expect(told).toBeGreaterThan(200);
  });

  it('is not what comes round later than as many others as there is room for', () => {
    const kept = createKept<{ name: string }>({ isUnchanged: () => true }, 10, 1, () => 1);
    const view = viewAt(1);
    const ask = (name: string): boolean => {
      const known = kept.get(view, name) !== null;
      if (!known) kept.offer(view, name, () => ({ name }));
      return known;
    };
    const round = (count: number): boolean[] => Array.from({ length: count }, (_, i) => ask(`${count} ${i}`));
    expect([...round(11), ...round(11), ...round(11)]).not.toContain(true);
    expect([...round(10), ...round(10)]).not.toContain(true);
    expect(round(10)).not.toContain(false);
  });

  it('is read anew after its time where it has one', async () => {
    const kept = createKept<{ name: string }>({ isUnchanged: () => true }, 10, 1, () => 1);
    const view = viewAt(1);
    for (let i = 0; i < 2; i++) {
      kept.offer(view, 'lasting', () => ({ name: 'lasting' }));
      kept.offer(view, 'passing', () => ({ name: 'passing' }), { forMs: 1_000 });
    }
    expect(['lasting', 'passing'].map((key) => kept.get(view, key)?.name)).toEqual(['lasting', 'passing']);
    await expect.poll(() => kept.get(view, 'passing')).toBeNull();
    expect(kept.get(view, 'lasting')).toEqual({ name: 'lasting' });
  });

  it('may be several things of one account, each of which a change of the account ends', () => {
    let changedAt = 0;
    const changes = { isUnchanged: (_: View, key: string, since: number) => key === 'b' || since >= changedAt };
    const kept = createKept<{ name: string }>(changes, 10, 1, () => 1);
    const known = (key: string, which: string, at: number) => kept.get(viewAt(at), key, which)?.name ?? null;
    for (const which of ['all', 'none', 'all', 'none']) {
      for (const key of ['a', 'b']) kept.offer(viewAt(1), key, () => ({ name: which + key }), { which });
    }
    expect([known('a', 'all', 1), known('a', 'none', 1), known('b', 'all', 1)]).toEqual(['alla', 'nonea', 'allb']);
    expect(known('a', '', 1)).toBeNull();
    changedAt = 2;
    expect([known('a', 'all', 2), known('a', 'none', 2), known('b', 'all', 2)]).toEqual([null, null, 'allb']);
  });
});
