import { LRUCache } from 'lru-cache';
import { expect, it } from 'vitest';
import { atMost } from './at-most.ts';

it('keeps so many entries, the ones used last', () => {
  const cache = new LRUCache<string, number>(atMost(3));
  for (const [value, key] of ['a', 'b', 'c'].entries()) cache.set(key, value);
  cache.get('a');
  cache.set('c', 5);
  cache.set('d', 3);
  expect([...cache.keys()].sort()).toEqual(['a', 'c', 'd']);
  expect(cache.get('c')).toBe(5);
});

it('takes no room before there are entries', () => {
  const before = process.memoryUsage().heapUsed;
  const cache = new LRUCache<string, number>(atMost(10_000_000));
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
  expect(cache.size).toBe(0);
});
