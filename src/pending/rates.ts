import { LRUCache } from 'lru-cache';
import { atMost } from '../at-most.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address } from '../chain/model.ts';

/** Accounts that are counted at a time, and the time that is counted over. */
const ACCOUNTS = 16_384;
const WINDOW_MS = 10_000;

/** Counts what comes to each account in ten seconds. */
export function createRates(most: number, clock: () => number) {
  const counts = new LRUCache<string, { since: number; count: number }>(atMost(ACCOUNTS));
  return {
    /** Whether one more is allowed; it counts then. */
    take(account: Address): boolean {
      const key = hashKey(account);
      const now = clock();
      const known = counts.get(key);
      if (known === undefined || now - known.since >= WINDOW_MS) {
        counts.set(key, { since: now, count: 1 });
        return true;
      }
      if (known.count >= most) return false;
      known.count++;
      return true;
    },
  };
}
