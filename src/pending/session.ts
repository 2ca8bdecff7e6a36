/** One process's turn at telling of pending traces: from what the topic says, on, until it is to end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createFollower } from '../../streams/follow.ts';
import type { EventLog } from '../../streams/log.ts';
import { decodePendingRecord, type StoredPendingMessage } from '../../streams/pending-record.ts';
import { decodePendingChange, encodePendingChange, type PendingChange } from '../../streams/pending-trace.ts';
import type { TopicNames } from '../../streams/topics.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import { readExternalMessage } from '../chain/external-message.ts';
import type { Emulator } from '../emulation/emulator.ts';
import type { Knowledge } from '../emulation/knowledge.ts';
import type { Liteservers } from '../node/liteservers.ts';
import type { StateSource } from '../state/source.ts';
import type { PendingLimits } from './announcing.ts';
import { LIFETIMES, MOST_BEHIND } from './lifetimes.ts';
import type { PendingMetrics } from './metrics.ts';
import { watchSignedBlocks } from './signed-blocks.ts';
import { createPendingStore, type PendingStore } from './store.ts';
import { createTracker, type Tracker, type TrackerOptions } from './tracker.ts';

export interface SessionOptions {
  log: EventLog;
  topics: TopicNames;
  /** Shows steps up to `head`. */
  source: ChainSource;
  head(): number;
  states: StateSource;
  liteservers: Liteservers;
  emulator: Emulator;
  knowledge: Knowledge;
  limits: PendingLimits;
  metrics: PendingMetrics;
  queryTimeoutMs: number;
  /** The log wakes its readers itself. */
  continuous: boolean;
  /** Told when something was appended. */
  onTold(): void;
  report(error: unknown): void;
  onDifferent: TrackerOptions['onDifferent'];
}

export interface Session {
  /** A message is on the topic. */
  wake(): void;
  /** A step is in the index. */
  advance(): void;
  /** A message is being sent. */
  prepare(boc: Buffer): void;
  store: PendingStore;
  /** Until the signal aborts. @throws {LogError} */
  run(signal: AbortSignal): Promise<void>;
}

const EXPIRE_MS = 1_000;
const TRIM_MS = 60_000;
/** What is older is trimmed: what waits longer is said again. */
const KEPT_MS = 5 * 60_000;
const SAY_AGAIN_MS = KEPT_MS / 2;
/** Messages that are emulated at the same time: what a step leads to waits for the executor behind them. */
const AT_ONCE = 8;
/** Where nobody says so a step is looked for this often. */
const STEP_POLL_MS = 100;
const MESSAGE_BYTES = 1024 * 1024;

/**
 * Nothing is told before `run`, which reads the topic of pending traces anew into `store` and goes on behind it: so one
 * that was stopped or failed may be run again. Of several processes one at a time may run. What fails of a step or a
 * message is reported and tried again.
 */
export function createSession(options: SessionOptions): Session {
  const { log, topics, head, report, metrics } = options;
  const store = createPendingStore();
  let wakeMessages = (): void => undefined;
  let onStep = (): void => undefined;
  let isRetrying = false;
  let prepare = (_boc: Buffer): void => undefined;
  /** Whether signed blocks are seen; null before that is known. */
  let confirmed: boolean | null = null;

  async function append(changes: readonly PendingChange[], mcSeqno: number): Promise<void> {
    await log.append(
      topics.pendingTraces,
      changes.map((change) => encodePendingChange(change, mcSeqno)),
    );
    for (const change of changes) store.apply(change, true);
    options.onTold();
  }

  /** What was told before, and up to which step. */
  async function recall(signal: AbortSignal): Promise<number> {
    const topic = topics.pendingTraces;
    await log.ensureTopic(topic);
    let mcSeqno = 0;
    for await (const batch of log.read(topic, await log.low(topic), { signal, stopAtEnd: true })) {
      for (const record of batch) {
        const stored = decodePendingChange(record, topic);
        store.apply(stored.change, false, stored.mcSeqno, stored.time);
        mcSeqno = Math.max(mcSeqno, stored.mcSeqno);
      }
    }
    return mcSeqno;
  }

  async function followSteps(tracker: Tracker, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const newest = head();
      if (newest > tracker.mcSeqno) {
        const next = Math.max(tracker.mcSeqno + 1, newest - MOST_BEHIND);
        try {
          await tracker.step(next, signal);
          warm(signal);
          retry(tracker, signal);
          continue;
        } catch (error) {
          if (signal.aborted) return;
          report(error);
          await pause(EXPIRE_MS, signal);
        }
      }
      await nextStep(signal);
    }
  }

  /** Beside the steps, which do not wait for it. */
  function retry(tracker: Tracker, signal: AbortSignal): void {
    if (isRetrying) return;
    isRetrying = true;
    tracker
      .retry(signal)
      .catch((error) => {
        if (!signal.aborted) report(error);
      })
      .finally(() => {
        isRetrying = false;
      });
  }

  /** The next message finds what it needs. */
  function warm(signal: AbortSignal): void {
    const context = { signal, timeoutMs: options.queryTimeoutMs };
    options.states
      .step(undefined, context)
      .then((step) => options.emulator.warm(step, context))
      .catch((error) => signal.aborted || report(error));
  }

  /** Until there may be a further step. */
  async function nextStep(signal: AbortSignal): Promise<void> {
    const moved = new AbortController();
    onStep = () => moved.abort();
    await pause(STEP_POLL_MS, AbortSignal.any([signal, moved.signal]));
  }

  async function followMessages(tracker: Tracker, signal: AbortSignal): Promise<void> {
    // Without a step there is no state that a message could meet: what comes before it waits on its topic.
    while (head() === 0 && !signal.aborted) await pause(STEP_POLL_MS, signal);
    const topic = topics.pending;
    const open = new Set<Promise<void>>();
    const follower = createFollower<StoredPendingMessage[]>({
      log,
      topic,
      continuous: options.continuous,
      maxBytes: MESSAGE_BYTES,
      async *read(from, reading) {
        for await (const batch of log.read(topic, from, reading)) {
          const items = batch.map((record) => decodePendingRecord(record, topic));
          yield { items, nextOffset: batch[batch.length - 1].offset + 1 };
        }
      },
      // What was told already is known by its hash. Of what is a little older the end may not have been told.
      position: () => log.offsetAt(topic, Date.now() - 2 * LIFETIMES.emulated),
      async take(messages) {
        for (const message of messages) {
          while (open.size >= AT_ONCE) await Promise.race(open);
          const work = tracker.message(message, signal).catch((error) => {
            if (!signal.aborted) report(error);
          });
          open.add(work);
          void work.finally(() => open.delete(work));
        }
      },
      onTrouble: report,
    });
    wakeMessages = follower.wake;
    await follower.run(signal);
    await Promise.all(open);
  }

  /** What is still so, and would be trimmed soon; nobody who has read it is told anything. */
  async function sayAgain(before: number, now: number, mcSeqno: number): Promise<void> {
    const turns = (from: number, to: number): number => Math.floor(Math.max(0, to - from) / SAY_AGAIN_MS);
    const old = [...store.all()].filter(({ trace: { changedMs } }) => turns(changedMs, now) > turns(changedMs, before));
    const levels: PendingChange[] = confirmed === null ? [] : [{ kind: 'levels', confirmed }];
    const traces = old.map(({ trace }): PendingChange => ({ kind: 'trace', trace }));
    if (levels.length + traces.length > 0) await append([...levels, ...traces], mcSeqno);
  }

  async function keepTime(tracker: Tracker, signal: AbortSignal): Promise<void> {
    let trimmedMs = 0;
    while (!signal.aborted) {
      await pause(EXPIRE_MS, signal);
      if (signal.aborted) return;
      try {
        retry(tracker, signal);
        await tracker.expire(signal);
        if (Date.now() - trimmedMs > TRIM_MS) {
          const before = trimmedMs;
          trimmedMs = Date.now();
          await sayAgain(before, trimmedMs, tracker.mcSeqno);
          const topic = topics.pendingTraces;
          await log.trim(topic, await log.offsetAt(topic, trimmedMs - KEPT_MS));
        }
      } catch (error) {
        report(error);
      }
    }
  }

  return {
    store,
    wake: () => wakeMessages(),
    advance: () => onStep(),
    prepare: (boc) => prepare(boc),
    async run(signal) {
      store.clear();
      const told = await recall(signal);
      const tracker = createTracker({ ...options, store, append, metrics, mcSeqno: told === 0 ? head() : told });
      prepare = (boc) => {
        if (head() > 0 && !signal.aborted) tracker.prepare({ ...readExternalMessage(boc), boc }, signal);
      };
      await Promise.all([
        followMessages(tracker, signal),
        followSteps(tracker, signal),
        keepTime(tracker, signal),
        watchSignedBlocks(
          {
            liteservers: options.liteservers,
            timeoutMs: options.queryTimeoutMs,
            take: tracker.signed,
            onShown: (shown) => {
              confirmed = shown;
              append([{ kind: 'levels', confirmed: shown }], tracker.mcSeqno).catch(report);
            },
            isWanted: () => tracker.isBusy,
            report,
          },
          signal,
        ),
      ]);
    },
  };
}

/** @returns early when the signal aborts */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
