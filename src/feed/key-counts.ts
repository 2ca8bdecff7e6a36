/** What the keys of a host have taken of the feed, over all its processes. */

export interface Taken {
  connections: number;
  addresses: number;
}

/** At most so much of a key; null for as much as it likes. */
export interface MostTaken {
  connections: number | null;
  addresses: number | null;
}

export interface KeyCounts {
  /**
   * Adds to what a key has, or takes from it by negative numbers.
   * @returns null when it was done; what the key has when that would be too much
   */
  take(key: string, change: Taken, most: MostTaken): Promise<Taken | null>;
}

export const NO_LIMIT: MostTaken = { connections: null, addresses: null };

export interface HostCounts {
  /** For one process: at its end all that it has is given back. */
  open(): KeyCounts & { end(): void };
}

export function createHostCounts(): HostCounts {
  const all = new Map<string, Taken>();
  return {
    open() {
      const own = new Map<string, Taken>();
      return {
        async take(key, change, most) {
          const has = all.get(key) ?? { connections: 0, addresses: 0 };
          if (isTooMuch(has, change, most)) return { ...has };
          add(all, key, change);
          add(own, key, change);
          return null;
        },
        end() {
          for (const [key, { connections, addresses }] of own) {
            add(all, key, { connections: -connections, addresses: -addresses });
          }
          own.clear();
        },
      };
    },
  };
}

/** Giving back never is. */
function isTooMuch(has: Taken, change: Taken, most: MostTaken): boolean {
  return (['connections', 'addresses'] as const).some((what) => {
    const limit = most[what];
    return limit !== null && change[what] > 0 && has[what] + change[what] > limit;
  });
}

/** A key that has nothing is not kept. */
function add(counts: Map<string, Taken>, key: string, { connections, addresses }: Taken): void {
  const has = counts.get(key) ?? { connections: 0, addresses: 0 };
  const now = { connections: has.connections + connections, addresses: has.addresses + addresses };
  if (now.connections === 0 && now.addresses === 0) counts.delete(key);
  else counts.set(key, now);
}
