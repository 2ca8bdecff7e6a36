import { LITE_ERROR, LiteServerError } from '../../node/lite-api.ts';
import type { LiteServerOptions } from '../../node/lite-server.ts';
import type { Chain } from '../model.ts';
import { notReady } from './refusals.ts';

/** Blocks ahead of the head that a node lets a client wait for. */
const FARTHEST = 100;

export interface Waiting {
  wait: NonNullable<LiteServerOptions['waitMasterchainSeqno']>;
  /** Calls that wait. */
  count(): number;
  /** Ends all waits as if their time were over. */
  close(): void;
}

/** Holds calls back until the chain has a masterchain block; at most `limit` of them. */
export function createWaiting(chain: Pick<Chain, 'head' | 'onStep'>, limit: number): Waiting {
  /** Called with a head, or null at the end. */
  const waiters = new Set<(seqno: number | null) => void>();
  const wake = (seqno: number | null): void => {
    for (const waiter of [...waiters]) waiter(seqno);
  };
  const unsubscribe = chain.onStep(({ mc }) => wake(mc.seqno));

  function waitFor(seqno: number, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (there: boolean): void => {
        clearTimeout(timer);
        waiters.delete(waiter);
        signal.removeEventListener('abort', gone);
        resolve(there);
      };
      const waiter = (head: number | null): void => {
        if (head === null || head >= seqno) end(head !== null);
      };
      const gone = (): void => end(false);
      const timer = setTimeout(gone, timeoutMs);
      signal.addEventListener('abort', gone);
      waiters.add(waiter);
      if (signal.aborted) gone();
    });
  }

  return {
    wait: async (seqno, timeoutMs, signal) => {
      const head = chain.head().mc.seqno;
      if (seqno <= head) return true;
      if (seqno > head + FARTHEST) throw notReady('too big masterchain block seqno');
      if (waiters.size >= limit) throw new LiteServerError(LITE_ERROR.timeout, 'too many calls wait for a block');
      return waitFor(seqno, timeoutMs, signal);
    },
    count: () => waiters.size,
    close: () => {
      unsubscribe();
      wake(null);
    },
  };
}
