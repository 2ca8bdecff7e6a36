import type { Contracts } from '../src/api/contracts.ts';
import { createTvmPool, type TvmPool } from '../src/tvm/pool.ts';

/** A pool of one thread, which starts with the first call. */
export function smallPool(timeoutMs = 20_000): TvmPool {
  return createTvmPool({ workers: 1, maxQueued: 256, timeoutMs });
}

/** For APIs that are asked about anything but contracts. */
export function noContracts(): Contracts {
  const none = () => Promise.reject(new Error('no contracts here'));
  return { open: none, estimate: none, beyond: none };
}
