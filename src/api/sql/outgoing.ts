/**
 * Answers on their way. One may be large, and how fast it is read is up to its client: what clients have not taken yet is
 * bounded, all of them together, and who takes too long is cut off.
 */
import type { ServerResponse } from 'node:http';
import { readingMs, watchTaking } from '../taking.ts';
import type { SqlMetrics } from './metrics.ts';
import { SqlRefusal } from './refusal.ts';

export interface Outgoing {
  /** @throws {SqlRefusal} 429 while clients leave more lying than may be */
  check(): void;
  /** Ends a response. */
  send(response: ServerResponse, body: Buffer): void;
}

export interface OutgoingOptions {
  /** Beyond it nothing new is asked; what runs by then may come on top. */
  maxBytes: number;
  metrics: Pick<SqlMetrics, 'cutOff'>;
  graceMs?: number;
  slowestBytesPerMs?: number;
}

export function createOutgoing(options: OutgoingOptions): Outgoing {
  const { maxBytes, metrics, graceMs, slowestBytesPerMs } = options;
  let lying = 0;
  return {
    check() {
      if (lying < maxBytes) return;
      throw new SqlRefusal(429, 'too many answers wait for those who asked to read them', { retryAfterSeconds: 1 });
    },
    send(response, body) {
      // He has hung up: there will be no end to hear of.
      if (response.destroyed) return;
      lying += body.length;
      watchTaking(response, readingMs(body.length, graceMs, slowestBytesPerMs), {
        late: metrics.cutOff,
        over: () => {
          lying -= body.length;
        },
      });
      response.end(body);
    },
  };
}
