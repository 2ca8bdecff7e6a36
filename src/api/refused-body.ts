/** The rest of a body that is refused: who sends it all before he reads is to come to read why. */
import type { IncomingMessage } from 'node:http';

/** Read and dropped at most, and for how long: what comes behind is cut off. */
const MOST_BYTES = 64 * 1024 * 1024;
const LONGEST_MS = 5_000;

/**
 * Resolves when nothing more comes, or enough has come. Closed before, the connection loses the answer for most
 * clients.
 */
export function dropRest(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let left = MOST_BYTES;
    const timer = setTimeout(resolve, LONGEST_MS);
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    request.on('data', ({ length }: Buffer) => {
      left -= length;
      if (left < 0) end();
    });
    for (const event of ['end', 'close', 'error']) request.once(event, end);
    request.resume();
    if (request.readableEnded || request.destroyed) end();
  });
}
