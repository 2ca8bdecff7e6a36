import type { Logger } from 'pino';
import type { ClickHouse } from '../../clickhouse/client.ts';
import type { Table } from '../../clickhouse/tables/table.ts';
import type { Config } from '../../src/config.ts';
import type { Missing } from '../missing.ts';
import type { BatchPlace } from './accounts.ts';
import type { Counters } from './counters.ts';
import type { DecodedStep } from './decode.ts';
import type { GrowingRows } from './step-rows.ts';

/** The settings that projecting goes by. */
export type ProjectorConfig = Pick<
  Config,
  | 'batchBytes'
  | 'batchSteps'
  | 'batchMs'
  | 'cachedAccounts'
  | 'openMessages'
  | 'maxDataBytes'
  | 'outageMs'
  | 'dnsCollections'
  | 'kafkaBrokers'
  | 'clickhouseUrl'
>;

/**
 * Rows that follow from the other rows of a step: tables of their own, filled, published, compared and restored as the
 * chain's are, for a declaration of each table (clickhouse/tables), its SQL in the migrations, and this.
 */
export interface Projection {
  name: string;
  /**
   * Of what it writes. Tables that another one has made are not continued: `tonstream rebuild NAME` makes them anew from
   * the log, while all others stay.
   */
  version: number;
  /** Projections whose rows it reads, so that it is made anew with them. The rows of the chain anyone may read. */
  reads?: readonly string[];
  tables: readonly Table[];
  /** Once a projector. What follows from the rows of a step alone needs no more than `followsFrom`. */
  open(context: ProjectionContext): OpenProjection;
}

export interface ProjectionContext {
  /** Waits for an outage of the server to end. */
  clickhouse: ClickHouse;
  config: ProjectorConfig;
  counters: Counters;
  logger: Logger;
  /** Names what the log has not shown and a node might: at least once before the batch is done. */
  name(missing: Missing): void;
}

/** With what it remembers between batches: bounded, and no more than a cache of the tables. */
export interface OpenProjection {
  /**
   * Brings into memory what the batch will ask for. The batch before may still be on its way into the tables, and after
   * a crash they may have rows of this one: those are of a step from `firstMcSeqno` on.
   */
  begin(batch: BatchPlace, steps: readonly DecodedStep[], signal: AbortSignal): Promise<BatchProjection>;
  /** Every table has the batch now, and those before it. */
  written?(batch: number): void;
  close?(): Promise<void>;
}

export interface BatchProjection {
  /**
   * Adds its rows to those of the chain and of the projections before it, which have all steps of the batch already:
   * the same rows to each step, however the steps are cut into batches.
   */
  project(steps: readonly GrowingRows[]): void | Promise<void>;
  /**
   * Writes rows that are counted out of the tables, when these have all that steps write of the batch. The rows must
   * follow from their keys: after a crash they are counted and written again. The next batch may have been assembled by
   * then, so what that changes is not to be asked here.
   */
  count?(signal: AbortSignal): Promise<void>;
}

/** A projection whose rows follow from the other rows of the same step. */
export function followsFrom({
  project,
  ...named
}: Pick<Projection, 'name' | 'version' | 'reads' | 'tables'> & { project(rows: GrowingRows): void }): Projection {
  const batch: BatchProjection = {
    project(steps) {
      for (const rows of steps) project(rows);
    },
  };
  return { ...named, open: () => ({ begin: async () => batch }) };
}
