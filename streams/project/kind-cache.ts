import { LRUCache } from 'lru-cache';
import { atMost } from '../../src/at-most.ts';

/** What is known of a contract that is of some kind: those it is none of, a bit each, and what it is as others. */
interface Known<V> {
  none: number;
  readonly of: Map<string, V>;
}

/** What batches that are on their way say, kind by kind. */
export type ByKind<K, V> = ReadonlyMap<K, Map<string, V>>;

export const byKind = <K extends string, V>(kinds: readonly K[]): ByKind<K, V> =>
  new Map(kinds.map((kind) => [kind, new Map<string, V>()]));

export function entriesOf<K extends string, V>(all: ByKind<K, V>, kind: K): Map<string, V> {
  const entries = all.get(kind);
  if (entries === undefined) throw new Error(`${kind} is no kind`);
  return entries;
}

/** Bits of a small integer. */
const MAX_KINDS = 30;

/**
 * Remembers of contracts what they are, kind by kind. Most are of no kind: of these it keeps a number, no object, for
 * every object that is kept long is gone through by each collection of garbage.
 * @param max contracts: room for all of them is taken at once
 */
export function createKindCache<V extends object>(kinds: readonly string[], max: number) {
  if (kinds.length > MAX_KINDS) throw new Error(`${kinds.length} kinds, at most ${MAX_KINDS}`);
  const bits = new Map(kinds.map((kind, at) => [kind, 1 << at]));
  const cache = new LRUCache<string, number | Known<V>>(atMost(max));

  function bitOf(kind: string): number {
    const bit = bits.get(kind);
    if (bit === undefined) throw new Error(`${kind} is no kind of this cache`);
    return bit;
  }

  return {
    /** Null: it is none of the kind. Undefined: that is not known. */
    get(kind: string, contract: string): V | null | undefined {
      const known = cache.get(contract);
      if (known === undefined) return undefined;
      if (typeof known === 'number') return known & bitOf(kind) ? null : undefined;
      return known.of.get(kind) ?? (known.none & bitOf(kind) ? null : undefined);
    },
    set(kind: string, contract: string, value: V | null): void {
      const bit = bitOf(kind);
      const known = cache.get(contract) ?? 0;
      if (typeof known === 'number') {
        cache.set(contract, value === null ? known | bit : { none: known & ~bit, of: new Map([[kind, value]]) });
      } else if (value === null) {
        known.of.delete(kind);
        known.none |= bit;
      } else {
        known.of.set(kind, value);
        known.none &= ~bit;
      }
    },
  };
}
