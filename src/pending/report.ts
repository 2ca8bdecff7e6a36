import type { Logger } from 'pino';
import { isTransient } from '../../clickhouse/query-error.ts';
import { isLogAway } from '../../streams/log-answer.ts';
import { createSeldom } from '../../streams/seldom.ts';
import { NodeError } from '../node/chain-node.ts';

/**
 * Tells a log of what keeps a trace from being told: each time, but for an outage, which each of thousands of traces meets
 * with each try. Of that it is told once in a while.
 */
export function reportTo(logger: Pick<Logger, 'warn'>): (error: unknown) => void {
  const mayTell = createSeldom();
  return (error) => {
    if (!isOutage(error) || mayTell()) logger.warn({ err: error }, 'a pending trace cannot be told');
  };
}

/** Tables, liteservers or brokers do not answer. */
function isOutage(error: unknown): boolean {
  return isTransient(error) || isLogAway(error) || (error instanceof NodeError && error.code === 'unavailable');
}
