/** One process's turn at telling of pending traces: from what the topic says, on, until it is to end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createFollower } from '../../streams/follow.ts';
import type { EventLog } from '../../streams/log.ts';
import { decodePendingRecord, type StoredPendingMessage } from '../../streams/pending-record.ts';
import { decodePendingChange, encodePendingChange, type PendingChange } from '../../streams/pending-trace.ts';
import type { TopicNames } from '../../streams/topics.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import type { Emulator } from '../emulation/emulator.ts';
import type { Knowledge } from '../emulation/knowledge.ts';
import type { Liteservers } from '../node/liteservers.ts';
import type { StateSource } from '../state/source.ts';
import type { PendingMetrics } from './metrics.ts';
import { watchSignedBlocks } from './signed-blocks.ts';
import { createPendingStore, type PendingStore } from './store.ts';
import { createTracker, LIFETIMES, type Tracker, type TrackerLimits } from './tracker.ts';

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
  limits: TrackerLimits;
  metrics: PendingMetrics;
  queryTimeoutMs: number;
  /** The log wakes its readers itself. */
  continuous: boolean;
  /** Told when something was appended. */
  onTold(): void;
  report(error: unknown): void;
}

export interface Session {
  /** A message is on the topic, or a step in the index. */
  wake(): void;
  store: PendingStore;
  /** Until the signal aborts. @throws {LogError} */
  run(signal: AbortSignal): Promise<void>;
}

const EXPIRE_MS = 1_000;
const TRIM_MS = 60_000;
/** What is older than this says nothing of a trace that is still pending. */
const KEPT_MS = 5 * 60_000;
/** Steps behind the head that are still gone through after a pause; what was pending before has expired. */
const MOST_BEHIND = 128;
/** Messages that are emulated at the same time. */
const AT_ONCE = 16;
const STEP_POLL_MS = 20;
const MESSAGE_BYTES = 1024 * 1024;

export function createSession(options: SessionOptions): Session {
  const { log, topics, head, report, metrics } = options;
  const store = createPendingStore();
  let wakeMessages = (): void => undefined;
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
        store.apply(stored.change, false);
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
          continue;
        } catch (error) {
          if (signal.aborted) return;
          report(error);
          await sleep(EXPIRE_MS, undefined, { signal }).catch(() => undefined);
        }
      }
      await sleep(STEP_POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async function followMessages(tracker: Tracker, signal: AbortSignal): Promise<void> {
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
      // What was told already is known by its hash; what is older is not pending any more.
      position: () => log.offsetAt(topic, Date.now() - LIFETIMES.emulated),
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

  async function keepTime(tracker: Tracker, signal: AbortSignal): Promise<void> {
    let trimmedMs = 0;
    while (!signal.aborted) {
      await sleep(EXPIRE_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await tracker.expire();
        if (Date.now() - trimmedMs > TRIM_MS) {
          trimmedMs = Date.now();
          const topic = topics.pendingTraces;
          await log.trim(topic, await log.offsetAt(topic, trimmedMs - KEPT_MS));
          // Said again, so that it is among what is kept.
          if (confirmed !== null) await append([{ kind: 'levels', confirmed }], tracker.mcSeqno);
        }
      } catch (error) {
        report(error);
      }
    }
  }

  return {
    store,
    wake: () => wakeMessages(),
    async run(signal) {
      store.clear();
      const told = await recall(signal);
      const tracker = createTracker({ ...options, store, append, metrics, mcSeqno: told === 0 ? head() : told });
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
            isWanted: () => store.size > 0,
            report,
          },
          signal,
        ),
      ]);
    },
  };
}
