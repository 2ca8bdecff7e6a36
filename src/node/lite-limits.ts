/** Bounds and times of a pool. Times in milliseconds. */
export interface LiteLimits {
  /** Connection and handshake together. */
  handshakeMs: number;
  pingMs: number;
  /** Silence after which a pinged server counts as gone. */
  silenceMs: number;
  /** How long a server is asked to wait for its next masterchain block. */
  pollMs: number;
  /** One server's time for one call. */
  attemptMs: number;
  /** Time for a call over all its attempts where the caller gives none. */
  timeoutMs: number;
  /** Calls a server has at a time. */
  maxInFlight: number;
  /** Calls that wait for a server; more are turned away. */
  maxQueued: number;
  /** Faults in a row after which a server is left alone. */
  breakerFaults: number;
  /** First rest after faults in a row; doubles with each rest, with jitter. */
  restMs: number;
  /** First rest after a lie, garbage, a flood, or for being far behind. */
  lieRestMs: number;
  maxRestMs: number;
  /** First pause before a new connection; doubles with each failure, with jitter. */
  backoffMs: number;
  maxBackoffMs: number;
  /** Masterchain blocks behind the best server that make a server stale. */
  maxLagBlocks: number;
  /** Time in which another server reaches the head of the foremost one, or that one has to prove it. */
  leadMs: number;
  /** When a second server is asked, before the p95 of a call is known. */
  hedgeMs: number;
  /** Never earlier than this. */
  minHedgeMs: number;
  /** Servers an external message is sent to at once. */
  sendTo: number;
}

export const defaultLiteLimits: Readonly<LiteLimits> = {
  handshakeMs: 10_000,
  pingMs: 5_000,
  silenceMs: 10_000,
  pollMs: 10_000,
  attemptMs: 8_000,
  timeoutMs: 20_000,
  maxInFlight: 16,
  maxQueued: 1_024,
  breakerFaults: 3,
  restMs: 2_000,
  lieRestMs: 60_000,
  maxRestMs: 600_000,
  backoffMs: 200,
  maxBackoffMs: 15_000,
  maxLagBlocks: 2_000,
  leadMs: 5_000,
  hedgeMs: 1_000,
  minHedgeMs: 50,
  sendTo: 5,
};

/** `base` doubled `times` times, at most `most`, of that a random part between a half and the whole. */
export function backOff(base: number, times: number, most: number): number {
  return Math.min(most, base * 2 ** Math.min(times, 30)) * (0.5 + Math.random() / 2);
}
