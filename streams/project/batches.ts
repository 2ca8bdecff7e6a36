import { setTimeout as sleep } from 'node:timers/promises';
import type { Step } from '../steps.ts';

export interface BatchLimits {
  maxBytes: number;
  maxSteps: number;
  /** Longest wait for more once there is a step, milliseconds. */
  maxWaitMs: number;
}

/**
 * Groups steps into batches: by size when there are many, by time when they come one by one. The bounds that come of
 * it depend on timing, so the projector notes them before it writes. Once the signal aborts, steps that wait for
 * others are not given out any more.
 */
export async function* cutBatches(
  steps: AsyncIterable<Step[]>,
  limits: BatchLimits,
  signal: AbortSignal,
): AsyncGenerator<Step[]> {
  const source = steps[Symbol.asyncIterator]();
  let pending: Step[] = [];
  let bytes = 0;
  let since = 0;
  const take = (): Step[] => {
    const batch = pending;
    pending = [];
    bytes = 0;
    return batch;
  };
  try {
    let coming = ahead(source);
    for (;;) {
      const waitMs = pending.length > 0 ? since + limits.maxWaitMs - performance.now() : null;
      const arrived = await firstOf(coming, waitMs);
      if (arrived === 'late') {
        yield take();
        continue;
      }
      if (arrived.done) break;
      coming = ahead(source);
      for (const step of arrived.value) {
        if (pending.length === 0) since = performance.now();
        pending.push(step);
        bytes += step.blocks.reduce((sum, block) => sum + block.boc.length, 0);
        if (bytes >= limits.maxBytes || pending.length >= limits.maxSteps) yield take();
      }
    }
    if (pending.length > 0 && !signal.aborted) yield take();
  } finally {
    await source.return?.();
  }
}

/** Asked for while the consumer works: a failure is met when it is waited for, not before. */
function ahead(source: AsyncIterator<Step[]>): Promise<IteratorResult<Step[]>> {
  const coming = source.next();
  coming.catch(() => undefined);
  return coming;
}

async function firstOf<T>(coming: Promise<T>, waitMs: number | null): Promise<T | 'late'> {
  if (waitMs === null) return coming;
  const timer = new AbortController();
  const late = sleep(Math.max(0, waitMs), 'late' as const, { signal: timer.signal }).catch(() => 'late' as const);
  try {
    return await Promise.race([coming, late]);
  } finally {
    timer.abort();
  }
}
