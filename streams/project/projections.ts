import type { Table } from '../../clickhouse/tables/table.ts';
import type { GrowingRows } from './step-rows.ts';

/**
 * Rows that follow from the other rows of a step: tables of their own, filled, published, compared and restored as the
 * chain's are, for a declaration of each table (clickhouse/tables), its SQL in the migrations, and this.
 */
export interface Projection {
  name: string;
  tables: readonly Table[];
  /** Adds its rows of one step to those of the chain and of the projections before it. The same rows each time. */
  project(rows: GrowingRows): void;
}

/** What is projected beside the chain itself, in this order. */
export const PROJECTIONS: readonly Projection[] = [];
