import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { NodeError } from '../../src/node/chain-node.ts';
import { createSeldom } from '../seldom.ts';
import { IngestError } from './check.ts';

/** Pauses between tries, milliseconds. */
export interface Pauses {
  /** First and longest pause when a block is not there yet: a server may know a masterchain block before its shards. */
  missingMs: number;
  longestMissingMs: number;
  /** The same when no server answers, or one refuses. */
  awayMs: number;
  longestAwayMs: number;
  /** What stays impossible for so long is an error line. */
  stuckMs: number;
  /** Shortest time between two lines of one kind. */
  lineMs: number;
}

export const DEFAULT_PAUSES: Readonly<Pauses> = {
  missingMs: 15,
  longestMissingMs: 1_000,
  awayMs: 100,
  longestAwayMs: 5_000,
  stuckMs: 30_000,
  lineMs: 10_000,
};

/** Why a request is made again. `wrong`: the answer was not what was asked for. */
export type RefetchReason = 'not_found' | 'unavailable' | 'refused' | 'wrong';

export interface PatienceOptions {
  logger: Pick<Logger, 'warn' | 'error'>;
  pauses?: Partial<Pauses>;
  onRefetch?: (reason: RefetchReason) => void;
  signal: AbortSignal;
}

export interface Patience {
  /**
   * Works until it is done. Errors of the node and answers that are not what was asked for lead to another try after
   * a growing pause; every other error, `network` among them, is thrown.
   * @param what the request, for the lines
   */
  untilDone<T>(what: string, work: (attempt: number) => Promise<T>): Promise<T>;
  /** Waits; longer with each attempt (from 0 on). */
  pause(reason: RefetchReason, attempt: number): Promise<void>;
}

/** How the ingester bears with servers that have less than it needs. */
export function createPatience(options: PatienceOptions): Patience {
  const { logger, onRefetch, signal } = options;
  const pauses = { ...DEFAULT_PAUSES, ...options.pauses };
  const seldom = (): (() => boolean) => createSeldom(pauses.lineMs);
  const mayTell = { away: seldom(), wrong: seldom(), stuck: seldom() };

  function say(what: string, reason: RefetchReason, error: Error, sinceMs: number): void {
    const waitingMs = performance.now() - sinceMs;
    const seconds = Math.round(waitingMs / 1000);
    const fields = { request: what, reason: error.message };
    if (waitingMs >= pauses.stuckMs) {
      if (mayTell.stuck()) logger.error(fields, `${what} has been impossible for ${seconds} s: ${error.message}`);
    } else if (reason === 'wrong') {
      if (mayTell.wrong()) logger.warn(fields, `a server gave a wrong answer: ${error.message}`);
    } else if (reason !== 'not_found' && mayTell.away()) {
      logger.warn(fields, `no server can answer (${what}): ${error.message}; trying again`);
    }
  }

  async function pause(reason: RefetchReason, attempt: number): Promise<void> {
    const missing = reason === 'not_found' || reason === 'wrong';
    const [first, longest] = missing
      ? [pauses.missingMs, pauses.longestMissingMs]
      : [pauses.awayMs, pauses.longestAwayMs];
    const ms = Math.min(longest, first * 2 ** Math.min(attempt, 16));
    // Half of it by chance, so that requests that failed together do not come back together.
    await sleep(ms / 2 + (Math.random() * ms) / 2, undefined, { signal });
  }

  return {
    pause,
    async untilDone(what, work) {
      const since = performance.now();
      for (let attempt = 0; ; attempt++) {
        signal.throwIfAborted();
        try {
          return await work(attempt);
        } catch (error) {
          signal.throwIfAborted();
          const reason = refetchReason(error);
          if (reason === null || !(error instanceof Error)) throw error;
          onRefetch?.(reason);
          say(what, reason, error, since);
          await pause(reason, attempt);
        }
      }
    },
  };
}

/** Null for an error that trying again does not mend. */
export function refetchReason(error: unknown): RefetchReason | null {
  if (error instanceof NodeError) return error.code === 'aborted' ? 'unavailable' : error.code;
  if (!(error instanceof IngestError)) return null;
  return error.code === 'bad_block' || error.code === 'wrong_id' || error.code === 'conflict' ? 'wrong' : null;
}
