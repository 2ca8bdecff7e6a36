import type { QueryContext } from '../chain/records.ts';
import type { QueryOptions } from '../node/lite-pool.ts';

/** How liteservers are asked for a request: with its own time for them, where it has one. */
export function forNodes({
  signal,
  timeoutMs,
  nodeTimeoutMs = timeoutMs,
}: Pick<QueryContext, 'signal' | 'timeoutMs' | 'nodeTimeoutMs'>): Pick<QueryOptions, 'signal' | 'timeoutMs'> {
  return { signal, timeoutMs: nodeTimeoutMs };
}
