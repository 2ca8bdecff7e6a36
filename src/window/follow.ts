import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ClickHouseSource } from '../../clickhouse/queries/source.ts';
import { LiveStepError, readLiveSteps, type StoredStep } from '../../streams/live-steps.ts';
import { type EventLog, LogError } from '../../streams/log.ts';
import type { View } from './view.ts';
import { createVoice, type Voice } from './voice.ts';
import type { Below, Window } from './window.ts';

export interface FollowOptions {
  window: Window;
  log: EventLog;
  /** The topic of steps. */
  topic: string;
  clickhouse: Pick<ClickHouseSource, 'head' | 'below'>;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** The log wakes its readers itself (a broker does): `wake` is not needed then. */
  continuous?: boolean;
  /** Told of steps once they can be seen. After a start some may come that were told of before. */
  onSteps?: (steps: readonly StoredStep[]) => void;
}

export interface WindowFollower {
  /** As the window's own, and null while it does not answer. */
  view(): View | null;
  /** See `Voice`. */
  shown: Voice['shown'];
  /** There is more in the topic: looked for at once. Without it a new step is seen within some 100 ms. */
  wake(): void;
  /** Follows the topic until the signal aborts. Trouble is logged, waited for and tried again. */
  run(signal: AbortSignal): Promise<void>;
}

const TABLES_POLL_MS = 20;
const RETRY_MS = 1_000;
const QUERY_TIMEOUT_MS = 60_000;
/** Without a call of `wake` the topic is looked at this often. */
const IDLE_MS = 50;
/** Steps written in one commit while catching up: some 20 ms without a turn of the event loop. */
const BATCH_BYTES = 256 * 1024;

/** Keeps the window at the end of the topic of steps. */
export function createWindowFollower(options: FollowOptions): WindowFollower {
  const { window, log, topic, clickhouse, logger, continuous = false } = options;
  const { head } = clickhouse;
  const voice = createVoice({
    window,
    head,
    onError: (error) => logger.warn({ err: error }, 'it cannot be written down that the window is behind'),
  });
  /** False while the topic goes on with steps of a version that is not known here. */
  let readable = true;
  let wakeUp = (): void => undefined;
  /** Woken while it was reading: what woke it may have come behind the end of that. */
  let woken = false;

  /** The tables are made again when they were dropped; the window must wait for them. */
  async function untilTablesHave(mcSeqno: number, signal: AbortSignal): Promise<void> {
    while (head.seqno < mcSeqno) {
      await head.refresh(signal);
      if (head.seqno < mcSeqno) await sleep(TABLES_POLL_MS, undefined, { signal });
    }
  }

  async function below(mcSeqno: number, signal: AbortSignal): Promise<Below> {
    await untilTablesHave(mcSeqno, signal);
    const newest = await clickhouse.below(mcSeqno).newestBelow({ signal, timeoutMs: QUERY_TIMEOUT_MS });
    return newest && { lt: BigInt(newest.lt), utime: newest.utime };
  }

  async function start(signal: AbortSignal): Promise<number> {
    await log.ensureTopic(topic);
    const { state } = window;
    if (state) await untilTablesHave(state.head, signal);
    await voice.weigh(readable);
    const low = await log.low(topic);
    const from = state?.nextOffset ?? low;
    // A topic that ends before is another one: read from its beginning, known steps are passed over.
    return from >= low && from <= (await log.end(topic)) ? from : low;
  }

  async function read(from: number, signal: AbortSignal): Promise<number> {
    let next = from;
    const reading = readLiveSteps(log, topic, from, {
      signal,
      stopAtEnd: !continuous,
      maxBytes: BATCH_BYTES,
    });
    for await (const steps of reading) {
      const newest = steps[steps.length - 1];
      const applied = await window.apply(steps, (mcSeqno) => below(mcSeqno, signal));
      if (applied === 'begun') logger.info({ step: window.state?.first }, 'the window begins anew');
      // Steps are published when the tables have their rows.
      if (applied !== 'known') head.advance(newest.step.mcSeqno, newest.step.globalId);
      readable = true;
      await voice.weigh(readable);
      options.onSteps?.(steps);
      next = newest.nextOffset;
    }
    return next;
  }

  function idle(signal: AbortSignal): Promise<void> {
    if (woken) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, IDLE_MS);
      signal.addEventListener('abort', done);
      wakeUp = done;
    });
  }

  async function follow(signal: AbortSignal): Promise<void> {
    let next = await start(signal);
    while (!signal.aborted) {
      const from = (await log.end(topic)) < next ? await log.low(topic) : next;
      woken = false;
      next = await read(from, signal);
      // Nothing new, or a step that is not sealed yet.
      if (next === from) await idle(signal);
    }
  }

  return {
    view: () => (voice.speaks ? window.view() : null),
    shown: voice.shown,
    wake() {
      woken = true;
      wakeUp();
    },
    async run(signal) {
      while (!signal.aborted) {
        try {
          await follow(signal);
        } catch (error) {
          if (signal.aborted) return;
          const trimmed = error instanceof LogError && error.code === 'trimmed';
          if (!trimmed) logger.warn({ err: error }, 'the window cannot follow the steps, trying again');
          if (error instanceof LiveStepError) readable = false;
          await sleep(trimmed ? 0 : RETRY_MS, undefined, { signal }).catch(() => undefined);
        }
      }
    },
  };
}
