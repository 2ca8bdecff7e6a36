/**
 * What was found of accounts, kept from step to step until one changes them. Only what is asked for again soon is kept:
 * what comes round later than so many others would be pushed out before, and to keep it costs more than to find it.
 */
import { LRUCache } from 'lru-cache';
import { atMost } from '../at-most.ts';
import { makeLast } from '../lasting.ts';
import type { Changes } from './changes.ts';
import type { View } from './view.ts';

interface Found<R> {
  record: R;
  /** The last step that is known to have left it so. */
  at: number;
}

/** By the account's key (`hashKey`) and, where several things are kept of an account, by which of them it is. */
export interface Kept<R> {
  /** The same object each time, so that what is made of it can be kept with it; null where nothing is known. */
  get(view: View, key: string, which?: string): R | null;
  /**
   * @param copy of what was found, in memory of its own
   * @param options.which of what is kept of the account
   * @param options.forMs for how long, where it may become more without a step
   */
  offer(view: View, key: string, copy: () => R, options?: { which?: string; forMs?: number }): void;
}

/**
 * @param bytes most bytes to keep, about
 * @param sizeOf of a record; `usual` is that of most
 */
export function createKept<R extends object>(
  changes: Changes,
  bytes: number,
  usual: number,
  sizeOf: (record: R) => number,
): Kept<R> {
  const kept = new LRUCache<string, Found<R>>({ maxSize: bytes, sizeCalculation: ({ record }) => sizeOf(record) });
  const asked = new LRUCache<string, true>(atMost(Math.ceil(bytes / usual)));
  return {
    get(view, key, which = '') {
      const found = kept.get(which + key);
      if (found === undefined || !changes.isUnchanged(view, key, found.at)) return null;
      found.at = view.head;
      return found.record;
    },
    offer({ head }, key, copy, { which = '', forMs = 0 } = {}) {
      const name = which + key;
      if (asked.has(name)) kept.set(name, { record: makeLast(copy()), at: head }, { ttl: forMs });
      else asked.set(name, true);
    },
  };
}
