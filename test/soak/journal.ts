/** What happened in a soak: requests, failures, what a kill excuses, and everything that was found wrong. */
import type { Victim } from './service.ts';

export interface Journal {
  /** A request was answered. */
  answered(what: string, status: number, tookMs: number): void;
  /** A connection broke, or an answer was a failure, of a request begun then (`performance.now()`). */
  failed(what: string, why: string, begunMs: number): void;
  /** Something is not as it must be. */
  wrong(what: string): void;
  /** Something that is counted. */
  count(what: string, by?: number): void;
  /** Runs a kill; requests that it cuts are excused. */
  killing(victim: Victim, kill: (dead: () => void) => Promise<void>): Promise<void>;
  figures(): Figures;
}

export interface Figures {
  requests: number;
  /** By kind of request and status. */
  statuses: Record<string, number>;
  medianMs: number;
  p99Ms: number;
  failures: readonly string[];
  failureCount: number;
  wrongs: readonly string[];
  wrongCount: number;
  counts: Record<string, number>;
  kills: Record<string, number>;
  /** Requests that a kill cut, by what became of them. */
  excused: Record<string, number>;
}

const SHOWN = 20;
/** What a killed worker was busy with breaks at once; the wait is for connections that were handed to it. */
const AFTER_WORKER_MS = 500;
/** A kept connection may be found closed a moment after the service is there again. */
const AFTER_START_MS = 200;
/** A kill closes connections; one that stays open without an answer is no part of it. */
const LONGEST_CUT_MS = 60_000;
/** Upper bounds of the classes that latencies are counted in, 5 % apart. */
const CLASSES = Array.from({ length: 300 }, (_, i) => 0.05 * 1.05 ** i);

/** `tell` hears of the first failures and wrong things as they come. */
export function createJournal(tell: (line: string) => void): Journal {
  const statuses = new Map<string, number>();
  const counts = new Map<string, number>();
  const kills = new Map<string, number>();
  const excused = new Map<string, number>();
  const failures: string[] = [];
  const wrongs: string[] = [];
  const latencies = new Array<number>(CLASSES.length).fill(0);
  const disturbances: { from: number; to: number }[] = [];
  let [requests, failureCount, wrongCount] = [0, 0, 0];
  const add = (map: Map<string, number>, key: string, by = 1): unknown => map.set(key, (map.get(key) ?? 0) + by);

  function note(list: string[], what: string): void {
    if (list.length >= SHOWN) return;
    const line = `${new Date().toISOString()} ${what}`;
    list.push(line);
    tell(line);
  }

  function quantile(share: number): number {
    const wanted = latencies.reduce((a, b) => a + b, 0) * share;
    let seen = 0;
    const at = latencies.findIndex((count) => {
      seen += count;
      return seen >= wanted;
    });
    return CLASSES[Math.max(0, at)];
  }

  return {
    answered(what, status, tookMs) {
      requests++;
      add(statuses, `${what} ${status}`);
      const at = CLASSES.findIndex((bound) => tookMs <= bound);
      latencies[at < 0 ? CLASSES.length - 1 : at]++;
    },
    failed(what, why, begunMs) {
      const now = performance.now();
      const hung = now - begunMs > LONGEST_CUT_MS;
      if (!hung && disturbances.some(({ from, to }) => begunMs <= to && now >= from)) {
        add(excused, why);
        return;
      }
      failureCount++;
      const age = Math.round(now - begunMs);
      const after = Math.round(begunMs - (disturbances.at(-1)?.from ?? Number.NaN));
      const when = Number.isNaN(after) ? '' : `, begun ${after} ms after a kill`;
      note(failures, `${what}: ${why} after ${age} ms${when}`);
    },
    wrong(what) {
      wrongCount++;
      note(wrongs, what);
    },
    count: (what, by) => add(counts, what, by),
    async killing(victim, kill) {
      const disturbance = { from: performance.now(), to: Number.POSITIVE_INFINITY };
      // What is asked needs no broker: while it is away no request may fail.
      if (victim !== 'broker') disturbances.push(disturbance);
      add(kills, victim);
      await kill(() => {
        if (victim === 'worker') disturbance.to = performance.now() + AFTER_WORKER_MS;
      });
      if (victim !== 'worker') disturbance.to = performance.now() + AFTER_START_MS;
    },
    figures: () => ({
      requests,
      statuses: sorted(statuses),
      medianMs: quantile(0.5),
      p99Ms: quantile(0.99),
      failures,
      failureCount,
      wrongs,
      wrongCount,
      counts: sorted(counts),
      kills: sorted(kills),
      excused: sorted(excused),
    }),
  };
}

function sorted(map: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1)));
}
