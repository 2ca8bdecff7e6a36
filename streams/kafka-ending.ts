import { LogError } from './log.ts';

/** What brokers are given to answer once all ends: one that is there needs less, and processes have seconds to end. */
const END_MS = 2_000;

/**
 * Waits for what brokers may never answer: from the abort on for so long only. What is given up goes on by itself, for
 * kafkajs cannot be told to stop trying.
 * @throws {LogError} `closed` when it is given up
 */
export function untilEnding<T>(work: Promise<T>, ending: AbortSignal, withinMs = END_MS): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const giveUp = (): void => {
      timer = setTimeout(() => reject(new LogError('closed', 'no Kafka broker has answered before the end')), withinMs);
    };
    const settled = (): void => {
      clearTimeout(timer);
      ending.removeEventListener('abort', giveUp);
    };
    if (ending.aborted) giveUp();
    else ending.addEventListener('abort', giveUp, { once: true });
    work.then(resolve, reject).finally(settled);
  });
}
