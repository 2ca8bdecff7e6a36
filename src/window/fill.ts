import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { blocks } from '../../clickhouse/tables/blocks.ts';
import { transactions } from '../../clickhouse/tables/transactions.ts';
import type { EventLog } from '../../streams/log.ts';
import type { ProjectedStep } from '../../streams/projected-step.ts';
import { newestSteps, readProjectedSteps } from '../../streams/steps-topic.ts';
import { endsOf } from './store.ts';
import type { Below, Window } from './window.ts';

export interface FillOptions {
  window: Pick<Window, 'state' | 'prepend'>;
  log: EventLog;
  /** The topic of steps. */
  topic: string;
  /** Greatest lt and time of any block before a step. */
  below(mcSeqno: number, signal: AbortSignal): Promise<Below>;
  logger: Pick<Logger, 'warn'>;
  /** Rested after each piece of work, for those who answer meanwhile: so many times as long as it took. */
  rest?: number;
  /** Bytes of the topic that are read at a time. */
  sliceBytes?: number;
}

export interface WindowFill {
  /** Resolves when the window has had all that it has room for, or that the topic has, once. */
  readonly filled: Promise<void>;
  /** One piece of work; false when there is none. */
  work(signal: AbortSignal): Promise<boolean>;
  /** Until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Some thousand transactions. */
const SLICE_BYTES = 8 * 1024 * 1024;
/** Bytes of the topic decoded without a turn of the event loop. */
const BATCH_BYTES = 256 * 1024;
/** Of transactions, in one commit: some 20 ms without a turn. */
const COMMIT_BYTES = 256 * 1024;
const REST = 1;
const IDLE_MS = 10_000;
/** Until the window answers, and after trouble. */
const WAIT_MS = 1_000;

/**
 * Fills a window that answers with older steps of the topic, the newest first, as long as it has room: so a host that joins
 * has the newest at once, and what is asked less often later.
 */
export function createWindowFill(options: FillOptions): WindowFill {
  const { window, log, topic, below, logger, rest = REST, sliceBytes = SLICE_BYTES } = options;
  let settle = (): void => undefined;
  const filled = new Promise<void>((resolve) => {
    settle = resolve;
  });

  async function resting<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const began = performance.now();
    const result = await work();
    await sleep(rest * (performance.now() - began), undefined, { signal });
    return result;
  }

  /** The steps right before this one, each behind the one before it; none where the topic has none. */
  async function stepsBefore(first: number, signal: AbortSignal): Promise<ProjectedStep[]> {
    const from = await newestSteps(log, topic, sliceBytes, first);
    const found: ProjectedStep[] = [];
    const reading = readProjectedSteps(log, topic, from, { signal, stopAtEnd: true, maxBytes: BATCH_BYTES });
    for await (const some of reading) {
      for (const { step } of some) {
        if (step.mcSeqno === first) return step.previous === found.at(-1)?.mcSeqno ? found : [];
        if (step.mcSeqno > first) return [];
        // What is before a hole cannot be reached from here.
        if (found.length > 0 && step.previous !== found[found.length - 1].mcSeqno) found.length = 0;
        found.push(step);
      }
      await sleep(0, undefined, { signal });
    }
    return [];
  }

  async function work(signal: AbortSignal): Promise<boolean> {
    const { state } = window;
    if (!state?.speaks || state.below === null) return false;
    const steps = await resting(() => stepsBefore(state.first, signal), signal);
    if (steps.length === 0) return false;
    const belows = belowEach(steps, await below(steps[0].mcSeqno, signal));
    let { first } = state;
    for (let end = steps.length; end > 0; ) {
      const start = lastOf(steps, end);
      const some = steps.slice(start, end);
      const done = await resting(() => window.prepend(some, first, belows[start]), signal);
      if (done === 'full') return false;
      // The head has moved, and may have taken the oldest out.
      if (done === 'changed' && window.state?.first !== first) return true;
      if (done === 'changed') continue;
      first = some[0].mcSeqno;
      end = start;
    }
    return true;
  }

  return {
    filled,
    work,
    async run(signal) {
      while (!signal.aborted) {
        let pause = 0;
        try {
          if (!(await work(signal))) {
            const answers = window.state?.speaks === true;
            if (answers) settle();
            pause = answers ? IDLE_MS : WAIT_MS;
          }
        } catch (error) {
          if (signal.aborted) break;
          logger.warn({ err: error }, 'older steps cannot be brought into the window, trying again');
          pause = WAIT_MS;
        }
        await sleep(pause, undefined, { signal }).catch(() => undefined);
      }
      settle();
    },
  };
}

/** Greatest lt and time of any block before each of these steps, given those before the first. */
function belowEach(steps: readonly ProjectedStep[], before: Below): Below[] {
  let below = before;
  return steps.map(({ rows }) => {
    const own = below;
    const { maxLt, maxUtime } = endsOf(rows.of(blocks));
    const { lt, utime } = below ?? { lt: 0n, utime: 0 };
    below = { lt: maxLt > lt ? maxLt : lt, utime: Math.max(utime, maxUtime) };
    return own;
  });
}

/** Where the last of these begin, up to `end`, that have about as many bytes as one commit; one at least. */
function lastOf(steps: readonly ProjectedStep[], end: number): number {
  let bytes = 0;
  let start = end;
  while (start > 0 && bytes < COMMIT_BYTES) {
    start--;
    for (const { payload, states } of steps[start].rows.of(transactions)) bytes += payload.length + states.length;
  }
  return start;
}
