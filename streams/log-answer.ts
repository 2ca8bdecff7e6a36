import { setTimeout as sleep } from 'node:timers/promises';
import { LogError } from './log.ts';

/** Brokers that are there take some 10 ms, on a machine that is busy beyond measure 3 s. */
export const LOG_MS = 5_000;

/**
 * What the log answers to a question of a request. Brokers that are away are asked for two minutes: for the log's own
 * followers that is right, whoever waits for a page wants to hear of it.
 * @throws {LogError} `unavailable` when it does not answer in time
 */
export async function logAnswer<T>(asked: Promise<T>, withinMs: number): Promise<T> {
  const answered = new AbortController();
  const late = sleep(withinMs, undefined, { signal: answered.signal }).then(() => {
    throw new LogError('unavailable', `the event log has not answered within ${withinMs / 1000} s`);
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    answered.abort();
    late.catch(() => undefined);
  }
}

/** Whether the log is away: what does not need it goes on. */
export function isLogAway(error: unknown): error is LogError {
  return error instanceof LogError && error.code === 'unavailable';
}
