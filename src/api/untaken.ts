/**
 * Answers that their clients have not taken yet. How fast one is read is up to its client, and what the system has no room
 * for lies in memory meanwhile: for so long, and so much of all of them together.
 */
import type { ServerResponse } from 'node:http';
import { readingMs, type Taking, watchTaking } from './taking.ts';

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

export function createUntaken({ maxBytes = MAX_BYTES, graceMs }: UntakenOptions = {}): Untaken {
  const figures = { slow: 0, crowded: 0 };
  /** The one that waits longest first. */
  const lying = new Set<Taking>();
  let total = 0;

  return {
    figures,
    watch(response, bytes) {
      // Most are with the system by now.
      if (response.destroyed || response.writableLength === 0) return;
      const one = watchTaking(response, readingMs(bytes, graceMs), {
        late: () => figures.slow++,
        over: () => {
          lying.delete(one);
          total -= bytes;
        },
      });
      lying.add(one);
      total += bytes;
      for (const oldest of lying) {
        if (total <= maxBytes || oldest === one) break;
        figures.crowded++;
        oldest.cut();
      }
    },
  };
}
