import { setTimeout as timeout } from 'node:timers/promises';

export interface ClockworkOptions {
  blockTimeMs: number;
  /** Makes a block and does all that goes with it. */
  beat: () => Promise<void>;
  /** Told how many beats were left out before one that comes late. */
  onMissed?: (count: number) => void;
  /** Milliseconds of a clock that never goes back; the process's own by default. */
  now?: () => number;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Part of the block time that is always left for everything else: a chain that is too slow still answers. */
const BREATH = 0.05;

/**
 * Beats once a block time until the signal aborts. Beats keep to the grid of the first one, so that a late beat does
 * not delay the others; a beat that comes more than a block time late starts a new grid: what a stall missed is not
 * caught up with, as on a real network.
 * @throws what a beat throws
 */
export async function runClockwork(options: ClockworkOptions, signal: AbortSignal): Promise<void> {
  const { blockTimeMs, beat, now = () => performance.now(), sleep = pause } = options;
  let due = now() + blockTimeMs;
  while (!signal.aborted) {
    await sleep(Math.max(due - now(), blockTimeMs * BREATH), signal);
    if (signal.aborted) break;
    const late = now() - due;
    if (late > blockTimeMs) {
      options.onMissed?.(Math.floor(late / blockTimeMs));
      due += late;
    }
    await beat();
    due += blockTimeMs;
  }
}

/** Ends early when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await timeout(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
