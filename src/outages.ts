import { isTransient } from '../clickhouse/query-error.ts';
import { isLogAway } from '../streams/log-answer.ts';
import { createSeldom } from '../streams/seldom.ts';
import { NodeError } from './node/chain-node.ts';

/**
 * Passes on each error, but for an outage, which each of thousands of subscribers or traces meets with each try: of that
 * it is told once in a while.
 */
export function outagesSeldom(tell: (error: unknown) => void): (error: unknown) => void {
  const mayTell = createSeldom();
  return (error) => {
    if (!isOutage(error) || mayTell()) tell(error);
  };
}

/** What was to be told in a time of its own, and was not: who had to tell has more to do, or does not answer. */
export class LateError extends Error {
  override name = 'LateError';

  constructor(what: string, withinMs: number, cause: unknown) {
    super(`${what} could not be told within ${withinMs} ms`, { cause });
  }
}

/** Tables, liteservers or brokers do not answer. */
function isOutage(error: unknown): boolean {
  return (
    error instanceof LateError ||
    isTransient(error) ||
    isLogAway(error) ||
    (error instanceof NodeError && error.code === 'unavailable')
  );
}
