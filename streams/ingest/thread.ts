import type { Config } from '../../src/config.ts';
import type { ServerStatus } from '../../src/node/lite-pool.ts';
import { startThread, type Thread } from '../../src/thread.ts';
import type { IngestProgress } from './follow.ts';

/** What the thread is started with. */
export interface IngestThreadData {
  config: Config;
  /** Text of the network's global config; null: of the network that the settings name. */
  globalConfig: string | null;
}

/** What happened since the report before; sent twice a second, and at the end. */
export interface IngestReport {
  progress: IngestProgress | null;
  servers: ServerStatus[];
  /** Blocks fetched, and milliseconds that took in all. */
  fetched: { blocks: number; bytes: number; ms: number };
  /** From the node's word of a masterchain block to its step being sealed, milliseconds; of steps at the head. */
  stepLatencies: number[];
  /** Events by kind: refetches, cells asked for and dropped, faults of servers. */
  events: Record<string, number>;
}

/** Runs the ingester with its liteserver pool in a worker thread: hashing blocks is work, too. */
export function startIngestThread(data: IngestThreadData, onReport: (report: IngestReport) => void): Thread<never> {
  return startThread<IngestThreadData, never, IngestReport>(
    'ingester',
    new URL('./worker.ts', import.meta.url),
    data,
    onReport,
  );
}
