/** Keeps the listeners of the page up to date: asks for everybody once, and only while somebody listens. */
import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Head } from '../../clickhouse/queries/head.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import type { Status } from '../status.ts';
import { readChainView } from './chain-view.ts';
import type { Push } from './push.ts';
import { createRate } from './rate.ts';

export interface WatchOptions {
  source: ChainSource;
  status: () => Promise<Status>;
  /** Of the source. */
  head: Pick<Head, 'seqno' | 'onAdvance'>;
  /** Of the network; null before there is a step. */
  globalId: () => number | null;
  push: Push;
  testnet: () => boolean;
  /** Milliseconds for each query. */
  queryTimeoutMs: number;
  /** Least time between two looks at the chain, in milliseconds. A step may come every few milliseconds. */
  chainEveryMs: number;
  /** Time between two looks at the status, and after a failure, in milliseconds. */
  statusEveryMs: number;
  /** Sees what went wrong, once for each time that it begins. */
  report: (error: unknown) => void;
}

export interface Watch {
  /** Whether somebody listens. */
  set(watched: boolean): void;
}

type Part = 'chain' | 'status';

/** Publishes `chain` ({@link readChainView}), `status` (rows, lag, rate) and `trouble` (parts that cannot be read). */
export function createWatch(options: WatchOptions): Watch {
  const { head, push, report, chainEveryMs, statusEveryMs } = options;
  const bell = new EventEmitter();
  const troubled = new Set<Part>();
  let running: AbortController | null = null;
  let published: number | null = null;
  head.onAdvance(() => bell.emit('advance'));

  /** False when it failed: then it has been reported and is tried again later. */
  async function attempt(part: Part, signal: AbortSignal, work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      if (troubled.delete(part)) push.publish('trouble', [...troubled]);
      return true;
    } catch (error) {
      if (!signal.aborted && !troubled.has(part)) {
        troubled.add(part);
        push.publish('trouble', [...troubled]);
        report(error);
      }
      return false;
    }
  }

  async function publishChain(signal: AbortSignal): Promise<void> {
    const seqno = head.seqno;
    const view = await readChainView({
      source: options.source,
      head: seqno,
      network: options.globalId(),
      testOnly: options.testnet(),
      context: { signal, timeoutMs: options.queryTimeoutMs },
    });
    if (signal.aborted) return;
    push.publish('chain', view);
    published = seqno;
  }

  async function followChain(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (head.seqno === published) await once(bell, 'advance', { signal });
      const done = await attempt('chain', signal, () => publishChain(signal));
      await sleep(done ? chainEveryMs : statusEveryMs, undefined, { signal });
    }
  }

  async function followStatus(signal: AbortSignal): Promise<void> {
    const rate = createRate();
    while (!signal.aborted) {
      await attempt('status', signal, async () => {
        const { log, projected, lag_steps, rows, gaps } = await options.status();
        if (signal.aborted) return;
        if (log.error !== undefined) throw new Error(log.error);
        const perSecond = rate(Date.now(), rows.transactions ?? 0);
        push.publish('status', {
          log: log.mc_seqno,
          projected: projected.mc_seqno,
          lag: lag_steps,
          rows,
          gaps: gaps.length,
          perSecond,
        });
      });
      await sleep(statusEveryMs, undefined, { signal });
    }
  }

  /** Ends quietly when nobody listens any more. */
  function run(follow: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): void {
    follow(signal).catch((error) => {
      if (!signal.aborted) report(error);
    });
  }

  return {
    set(watched) {
      if (watched === (running !== null)) return;
      running?.abort();
      running = watched ? new AbortController() : null;
      if (running === null) return;
      run(followChain, running.signal);
      run(followStatus, running.signal);
    },
  };
}
