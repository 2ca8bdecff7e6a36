import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createKindCache } from './kind-cache.ts';

const KINDS = ['wallet', 'item', 'sale'];

test('tells what was said last of each kind and contract', () => {
  const said = fc.record({
    kind: fc.constantFrom(...KINDS),
    contract: fc.constantFrom('a', 'b', 'c'),
    value: fc.option(fc.record({ n: fc.nat() })),
  });
  fc.assert(
    fc.property(fc.array(said), (all) => {
      const cache = createKindCache<{ n: number }>(KINDS, 10);
      const expected = new Map<string, { n: number } | null>();
      for (const { kind, contract, value } of all) {
        cache.set(kind, contract, value);
        expected.set(`${kind} ${contract}`, value);
      }
      for (const kind of KINDS) {
        for (const contract of ['a', 'b', 'c']) {
          expect(cache.get(kind, contract)).toBe(expected.get(`${kind} ${contract}`));
        }
      }
    }),
  );
});

test('forgets the contract that was asked for longest ago', () => {
  const cache = createKindCache<{ n: number }>(KINDS, 2);
  for (const contract of ['a', 'b']) for (const kind of KINDS) cache.set(kind, contract, null);
  cache.get('sale', 'a');
  cache.set('wallet', 'c', { n: 1 });
  expect(cache.get('item', 'a')).toBeNull();
  expect(cache.get('item', 'b')).toBeUndefined();
  expect(cache.get('wallet', 'c')).toEqual({ n: 1 });
});
