/** How long a client may take to read an answer, which lies in memory until then. */
import type { ServerResponse } from 'node:http';

/** For whatever is small. */
const GRACE_MS = 30_000;
/** 128 KB/s. */
const SLOWEST_BYTES_PER_MS = 128;

/** How long a client may take to read so many bytes. */
export function readingMs(bytes: number, graceMs = GRACE_MS, slowestBytesPerMs = SLOWEST_BYTES_PER_MS): number {
  return graceMs + bytes / slowestBytesPerMs;
}

export interface Taking {
  /** Ends the connection. */
  cut(): void;
}

/**
 * Watches a response until its client has taken it or is gone, and ends the connection when that takes too long.
 * @param late it is ended for its time
 * @param over nothing of the response is kept any more; called once
 */
export function watchTaking(
  response: ServerResponse,
  timeMs: number,
  { late, over }: { late: () => void; over: () => void },
): Taking {
  const stop = (): void => {
    clearTimeout(timer);
    response.off('close', stop);
    over();
  };
  const cut = (): void => {
    // One that waits behind another on its connection has no socket yet, and tells of no end.
    stop();
    response.req.socket.destroy();
  };
  const timer = setTimeout(() => {
    late();
    cut();
  }, timeMs).unref();
  response.once('close', stop);
  return { cut };
}
