import type { Logger } from 'pino';
import type { ClickHouse } from '../../clickhouse/client.ts';
import type { Table } from '../../clickhouse/tables/table.ts';
import type { EventLog } from '../log.ts';
import type { TopicNames } from '../topics.ts';
import type { Counters } from './counters.ts';
import type { Batch, BatchCounts, PositionStore } from './position.ts';
import type { Projection, ProjectorConfig } from './projection.ts';

/** What the projector tells after each batch that is in the tables. */
export interface Progress {
  batch: Batch;
  counts: BatchCounts;
  /** Milliseconds from the read of its first step. */
  tookMs: number;
  /** Newest generation time in the batch, Unix seconds. */
  genUtime: number;
  counters: Counters;
}

export interface ProjectorOptions {
  log: EventLog;
  topics: TopicNames;
  clickhouse: ClickHouse;
  config: ProjectorConfig;
  logger: Logger;
  onProgress?: (progress: Progress) => void;
  /** End at the log's present end instead of following it. */
  stopAtEnd?: boolean;
  /** Steps that end behind this offset of the log are left for later. */
  endOffset?: number;
  /** Rows of these tables are made, for what follows from them, and not written. */
  unwritten?: ReadonlySet<Table>;
  /** By whom the tables are claimed already. */
  claimed?: PositionStore;
  /** Projections whose tables are about to be made anew: it does not matter which version has made them. */
  remade?: ReadonlySet<string>;
  /** What is projected beside the chain itself. Default: all there is. */
  projections?: readonly Projection[];
  /** Whether what the log lacks is named in the topic of missing things. Default: not, as in a rebuild. */
  names?: boolean;
  /** Where given, each projected step is published in the topic of steps, which keeps this much. */
  publish?: { retainBytes: number; retainMs: number; onPublished?: (mcSeqno: number) => void };
}
