/** Keeps a store of pending traces at the end of their topic. */
import { createFollower, type Follower } from '../../streams/follow.ts';
import type { EventLog } from '../../streams/log.ts';
import { decodePendingChange, type StoredPendingChange } from '../../streams/pending-trace.ts';
import { hashKey } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';
import type { PendingStore } from './store.ts';

export interface FollowPendingOptions {
  log: EventLog;
  /** The topic of pending traces. */
  topic: string;
  store: PendingStore;
  /** The log wakes its readers itself (a broker does). */
  continuous: boolean;
  report(error: unknown): void;
}

export interface PendingFollower extends Follower {
  /** Resolves once all is applied that was in the topic when it was begun with: until then the store knows less. */
  readonly past: Promise<void>;
}

const BATCH_BYTES = 1024 * 1024;

/**
 * From the oldest record on, again so after trouble. What was in the topic when it was begun with is applied without
 * being announced.
 */
export function followPending({ log, topic, store, continuous, report }: FollowPendingOptions): PendingFollower {
  /** Behind what is past. */
  let liveFrom: number | null = null;
  let next = 0;
  /** Read again from the oldest record on: traces that were not met up to there have ended meanwhile. */
  let unmet = new Map<string, Hash>();
  let againTo = 0;
  const forgetUnmet = (): void => {
    for (const hashNorm of unmet.values()) store.apply({ kind: 'ended', hashNorm }, false);
    unmet = new Map();
  };
  const { promise: past, resolve: onPast } = withResolvers();
  const follower = createFollower<StoredPendingChange[]>({
    log,
    topic,
    continuous,
    maxBytes: BATCH_BYTES,
    async *read(from, reading) {
      for await (const batch of log.read(topic, from, reading)) {
        yield {
          items: batch.map((record) => decodePendingChange(record, topic)),
          nextOffset: batch[batch.length - 1].offset + 1,
        };
      }
    },
    async position() {
      const end = await log.end(topic);
      liveFrom ??= end;
      // A topic that was made anew: nothing of what was known is in it.
      if (end < next) {
        liveFrom = end;
        next = end;
        store.clear();
      }
      // What is known stays meanwhile: nobody is told that it was taken back.
      unmet = new Map([...store.all()].map(({ trace: { hashNorm } }) => [hashKey(hashNorm), hashNorm]));
      againTo = end;
      if ((await log.low(topic)) >= end) {
        forgetUnmet();
        onPast();
      }
      return null;
    },
    async take(changes) {
      for (const { change, offset, mcSeqno, time } of changes) {
        if (change.kind === 'trace') unmet.delete(hashKey(change.trace.hashNorm));
        store.apply(change, offset >= (liveFrom ?? 0) && offset >= next, mcSeqno, time);
        next = Math.max(next, offset + 1);
        if (unmet.size > 0 && offset + 1 >= againTo) forgetUnmet();
      }
      if (liveFrom !== null && next >= liveFrom) onPast();
    },
    onTrouble: report,
  });
  return { ...follower, past };
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
