/** Changes that must not cross each other, in all processes of a host. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../api/errors.ts';
import { type KeyCounts, NO_LIMIT } from '../feed/key-counts.ts';

/** Runs what is called by one name one after the other. */
export type InTurn = <T>(name: string, run: () => Promise<T>, signal: AbortSignal) => Promise<T>;

const TAKE = { connections: 1, addresses: 0 };
const GIVE = { connections: -1, addresses: 0 };
const LOOK_MS = 10;
/** Longest wait for the others. */
const WAIT_MS = 10_000;

class TooManyChanges extends ApiError {
  constructor() {
    super(429, 'too many questions about webhooks at once', { retryAfterSeconds: 1 });
  }
}

/** @param keys of all processes of the host: what a process has that dies is given back */
export function createTurns(keys: KeyCounts): InTurn {
  return async (name, run, signal) => {
    // No gateway sends such a key.
    const key = `\n webhooks ${name}`;
    const until = performance.now() + WAIT_MS;
    while ((await keys.take(key, TAKE, { ...NO_LIMIT, connections: 1 })) !== null) {
      if (performance.now() > until) throw new TooManyChanges();
      await sleep(LOOK_MS, undefined, { signal });
    }
    try {
      return await run();
    } finally {
      await keys.take(key, GIVE, NO_LIMIT);
    }
  };
}
