/**
 * Answers that their clients have not taken yet. How fast one is read is up to its client, and what the system has no room
 * for lies in memory meanwhile: for so long, and so much of all of them together.
 */
import type { ServerResponse } from 'node:http';
import { readingMs } from './sql/outgoing.ts';

export interface Untaken {
  /** Watches over a response that was ended with so many bytes. */
  watch(response: ServerResponse, bytes: number): void;
  /** Clients that were cut off since the start: for their time, or because all left too much lying. */
  readonly figures: { slow: number; crowded: number };
}

export interface UntakenOptions {
  /** Of all; above it who has waited longest is cut off. */
  maxBytes?: number;
  /** What a client may take to read besides the time for its bytes. */
  graceMs?: number;
}

const MAX_BYTES = 256 * 1024 * 1024;

interface Lying {
  bytes: number;
  response: ServerResponse;
}

export function createUntaken({ maxBytes = MAX_BYTES, graceMs }: UntakenOptions = {}): Untaken {
  const figures = { slow: 0, crowded: 0 };
  /** The one that waits longest first. */
  const lying = new Set<Lying>();
  let total = 0;

  function forget(one: Lying): void {
    if (lying.delete(one)) total -= one.bytes;
  }

  function cut(one: Lying, why: keyof typeof figures): void {
    figures[why]++;
    forget(one);
    // Not the answer alone: one behind another on its connection has no socket yet, and would lie on.
    one.response.req.socket.destroy();
  }

  return {
    figures,
    watch(response, bytes) {
      // Most are with the system by now.
      if (response.destroyed || response.writableLength === 0) return;
      const one = { bytes, response };
      lying.add(one);
      total += bytes;
      const waiting = setTimeout(() => cut(one, 'slow'), readingMs(bytes, graceMs)).unref();
      response.once('close', () => {
        clearTimeout(waiting);
        forget(one);
      });
      for (const oldest of lying) {
        if (total <= maxBytes || oldest === one) break;
        cut(oldest, 'crowded');
      }
    },
  };
}
