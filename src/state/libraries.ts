/** Public libraries by hash (`libraries` of the masterchain's state), from liteservers. */
import { LRUCache } from 'lru-cache';
import { hashKey } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';
import type { QueryContext } from '../chain/records.ts';
import { checkLibraries } from '../node/lite-proofs.ts';
import type { Liteservers } from '../node/liteservers.ts';
import type { StateMetrics } from './metrics.ts';
import { forNodes } from './nodes.ts';

/** The most that a liteserver answers at a time. */
export const MAX_LIBRARIES = 16;

export interface Libraries {
  /**
   * Bags of cells of those that exist, keyed as `hashKey`. What a hash names never changes; whether it is public may.
   * @param hashes at most {@link MAX_LIBRARIES}
   * @throws {NodeError} @throws {NoNetworkError}
   */
  libraries(
    hashes: readonly Hash[],
    context: Pick<QueryContext, 'signal' | 'timeoutMs' | 'nodeTimeoutMs'>,
  ): Promise<Map<string, Buffer>>;
}

const KEPT_BYTES = 32 * 1024 ** 2;
const ENTRY_BYTES = 200;
/** One that does not exist may be published in the next block. */
const ABSENT_MS = 5_000;

export function createLibraries(liteservers: Liteservers, metrics: StateMetrics): Libraries {
  const kept = new LRUCache<string, { boc: Buffer | null }>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ boc }) => ENTRY_BYTES + (boc?.length ?? 0),
  });

  return {
    async libraries(hashes, context) {
      const found = new Map<string, Buffer>();
      const missing = new Map<string, Hash>();
      for (const hash of hashes) {
        const known = kept.get(hashKey(hash));
        if (known === undefined) missing.set(hashKey(hash), hash);
        else if (known.boc !== null) found.set(hashKey(hash), known.boc);
      }
      if (missing.size === 0) {
        if (hashes.length > 0) metrics.answered('library', 'kept');
        return found;
      }
      const libraryList = [...missing.values()];
      const answer = await liteservers.query({ method: 'getLibraries', libraryList }, forNodes(context));
      metrics.answered('library', 'liteserver');
      const shown = checkLibraries(answer, libraryList);
      for (const [key, hash] of missing) {
        const boc = shown.get(hash.toString('hex'));
        if (boc === undefined) kept.set(key, { boc: null }, { ttl: ABSENT_MS });
        else {
          const own = Buffer.from(boc);
          kept.set(key, { boc: own });
          found.set(key, own);
        }
      }
      return found;
    },
  };
}
