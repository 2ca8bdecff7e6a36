/** An ingester over a recorded node, for tests that look at what it writes and says. */

import { readConfig } from '../src/config.ts';
import type { BlockProver, ChainNode } from '../src/node/chain-node.ts';
import type { CellEvent } from '../streams/ingest/cells.ts';
import { type IngestOptions, type IngestProgress, ingest } from '../streams/ingest/follow.ts';
import type { RefetchReason } from '../streams/ingest/follow-patience.ts';
import { ingestOptions } from '../streams/ingest/options.ts';
import type { EventLog } from '../streams/log.ts';
import { topicNames } from '../streams/topics.ts';
import type { RecordedNode } from './recorded-node.ts';

export interface Line {
  level: 'info' | 'warn' | 'error';
  fields: unknown;
  text: string;
}

export interface Followed {
  lines: Line[];
  refetched: Map<RefetchReason, number>;
  cells: Map<CellEvent, number>;
  /** Seqnos of the blocks that were proven, in turn. */
  proven: number[];
  /** Times that blocks were thrown away. */
  unproven: number;
  latest: IngestProgress | null;
  /** Resolves when the step is in the log; rejects when the ingester ends before. */
  until(seqno: number): Promise<void>;
  /** Stops it; rejects with what it failed with. */
  stop(): Promise<void>;
  /** Of the ingester itself. */
  ended: Promise<void>;
}

/** Short pauses: tests are about what is done after them. */
export const SHORT_PAUSES = { missingMs: 1, longestMissingMs: 4, awayMs: 1, longestAwayMs: 4 };

/** Those of a service that is told nothing but the network. */
const settings = ingestOptions(readConfig(['--network', 'mainnet'], {}).config);

export type FollowOptions = Partial<Omit<IngestOptions, 'ahead'> & { ahead: Partial<IngestOptions['ahead']> }>;

export function follow(
  log: EventLog,
  node: ChainNode & Partial<Pick<RecordedNode, 'seqnos'>>,
  { ahead, ...options }: FollowOptions = {},
  prover: BlockProver | null = null,
): Followed {
  const stop = new AbortController();
  const waiters = new Set<() => void>();
  const say =
    (level: Line['level']) =>
    (first: unknown, second?: unknown): void => {
      const text = typeof first === 'string' ? first : String(second);
      followed.lines.push({ level, fields: first, text });
    };
  const count = <K>(counts: Map<K, number>, key: K): unknown => counts.set(key, (counts.get(key) ?? 0) + 1);
  const nothing = (): void => undefined;
  const followed: Followed = {
    lines: [],
    refetched: new Map(),
    cells: new Map(),
    proven: [],
    unproven: 0,
    latest: null,
    until: (seqno) =>
      Promise.race([
        new Promise<void>((resolve) => {
          const look = (): void => {
            if ((followed.latest?.appendedSeqno ?? 0) < seqno) return;
            waiters.delete(look);
            resolve();
          };
          waiters.add(look);
          look();
        }),
        followed.ended.then(() => Promise.reject(new Error('the ingester ended'))),
      ]),
    async stop() {
      stop.abort();
      await followed.ended;
    },
    ended: Promise.resolve(),
  };
  followed.ended = ingest(
    {
      log,
      node,
      prover,
      topics: topicNames(),
      options: {
        from: { seqno: node.seqnos?.[0] ?? 1 },
        source: 'lite',
        pauses: SHORT_PAUSES,
        ...settings,
        cells: null,
        ahead: { ...settings.ahead, ...ahead },
        ...options,
      },
      logger: { info: say('info'), warn: say('warn'), error: say('error') },
      metrics: {
        head: nothing,
        appended: nothing,
        fetched: nothing,
        stepLatency: nothing,
        refetched: (reason) => count(followed.refetched, reason),
        cells: (event) => count(followed.cells, event),
        proven: (seqno) => void followed.proven.push(seqno),
        unproven: () => void followed.unproven++,
        serverFault: nothing,
      },
      onProgress(progress) {
        followed.latest = progress;
        for (const look of [...waiters]) look();
      },
    },
    stop.signal,
  );
  // Tests that expect a failure await it later.
  followed.ended.catch(nothing);
  return followed;
}
