import { LRUCache } from 'lru-cache';
import { hashKey } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';

/** Messages that are being sent, and the longest time that they may take. */
const MOST = 16;
const KEPT_MS = 10_000;

/** What is found out of messages while they are sent. */
export function createPrepared<T>() {
  const prepared = new LRUCache<string, Promise<T>>({ max: MOST, ttl: KEPT_MS });
  let open = 0;
  return {
    /** Unless it is known, or too much is under way. */
    begin(hashNorm: Hash, work: () => Promise<T>): void {
      if (open >= MOST || prepared.has(hashKey(hashNorm))) return;
      open++;
      const done = work().finally(() => open--);
      // Whoever takes it tries himself then.
      done.catch(() => undefined);
      prepared.set(hashKey(hashNorm), done);
    },
    /** Once; null where there is nothing, or it failed. */
    async take(hashNorm: Hash): Promise<T | null> {
      const done = prepared.get(hashKey(hashNorm));
      prepared.delete(hashKey(hashNorm));
      return (await done?.catch(() => null)) ?? null;
    },
  };
}
