import { Counter, Gauge, type Registry } from 'prom-client';

/** What is counted of the feed. */
export interface FeedMetrics {
  lines(count: number): void;
  /** Change of the number of lines that are told of earlier steps. */
  behind(change: 1 | -1): void;
  told(bytes: number): void;
  /** A line was let go because it took nothing. */
  stalled(): void;
  /** A line was moved to the head, as it chose. */
  skipped(): void;
  /**
   * Something that is not final was not told: `old` (steps say more already), `traces` and `heard` (limits), `failed` (what
   * stands beside it could not be read).
   */
  leftOut(reason: 'old' | 'traces' | 'heard' | 'failed'): void;
  /** A connection or subscription was refused because of a limit. */
  refused(limit: string): void;
}

export function createFeedMetrics(registry: Registry): FeedMetrics {
  const registers = [registry];
  const lines = new Gauge({ name: 'tonstream_feed_lines', help: 'Connections that listen to the feed', registers });
  const behind = new Gauge({
    name: 'tonstream_feed_lines_behind',
    help: 'Connections that are being told of earlier steps',
    registers,
  });
  const told = new Counter({ name: 'tonstream_feed_events_total', help: 'Notifications that were sent', registers });
  const bytes = new Counter({ name: 'tonstream_feed_bytes_total', help: 'Bytes of these', registers });
  const ended = new Counter({
    name: 'tonstream_feed_slow_total',
    help: 'Connections that took too little: let go, or moved to the head as they chose',
    labelNames: ['outcome'],
    registers,
  });
  const leftOut = new Counter({
    name: 'tonstream_feed_pending_left_out_total',
    help: 'Versions of traces that were not told before they were final: old, or because of a limit (traces, heard), or failed',
    labelNames: ['reason'],
    registers,
  });
  const refused = new Counter({
    name: 'tonstream_feed_refused_total',
    help: 'Connections and subscriptions beyond a limit',
    labelNames: ['limit'],
    registers,
  });
  return {
    lines: (count) => lines.set(count),
    behind: (change) => behind.inc(change),
    told(size) {
      told.inc();
      bytes.inc(size);
    },
    stalled: () => ended.inc({ outcome: 'let go' }),
    skipped: () => ended.inc({ outcome: 'moved' }),
    leftOut: (reason) => leftOut.inc({ reason }),
    refused: (limit) => refused.inc({ limit }),
  };
}
