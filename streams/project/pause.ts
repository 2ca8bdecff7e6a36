import { setImmediate as turn } from 'node:timers/promises';

/** Longest work in one turn of the event loop, milliseconds. */
const TURN_MS = 10;

/**
 * Lets the event loop turn when the work between two calls has gone on for long: the batch before is sent to the
 * server while this one is decoded, which otherwise waits for it to end.
 */
export function createPauses(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < TURN_MS) return undefined;
    return turn().then(() => {
      since = performance.now();
    });
  };
}
