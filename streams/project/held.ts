/** What batches on their way into the tables have written, and what is remembered of it behind that. */
import { LRUCache } from 'lru-cache';

export interface Unwritten<V> {
  get(key: string): V | undefined;
  put(key: string, value: V, batch: number): void;
  delete(key: string): void;
  /** Every table has the batch now, and those before it: what they wrote is let go. */
  written(batch: number, letGo: (key: string, value: V) => void): void;
}

/** Entries that the tables do not have for sure: none is dropped before they do. */
export function createUnwritten<V>(): Unwritten<V> {
  const entries = new Map<string, { value: V; batch: number }>();
  return {
    get: (key) => entries.get(key)?.value,
    put(key, value, batch) {
      entries.set(key, { value, batch });
    },
    delete(key) {
      entries.delete(key);
    },
    written(batch, letGo) {
      for (const [key, { value, batch: of }] of entries) {
        if (of > batch) continue;
        letGo(key, value);
        entries.delete(key);
      }
    },
  };
}

/** Of an entry besides what is measured. */
const ENTRY_BYTES = 400;

/** Entries that are remembered as long as there is room once the tables have them. */
export function createHeld<V extends object | string>(maxSize: number, sizeOf: (value: V) => number) {
  const kept = new LRUCache<string, V>({ maxSize, sizeCalculation: (value) => ENTRY_BYTES + sizeOf(value) });
  const unwritten = createUnwritten<V>();
  return {
    get: (key: string): V | undefined => unwritten.get(key) ?? kept.get(key),
    put: unwritten.put,
    delete(key: string): void {
      unwritten.delete(key);
      kept.delete(key);
    },
    written(batch: number): void {
      unwritten.written(batch, (key, value) => kept.set(key, value));
    },
  };
}
