import type { Sort } from './records.ts';

/** What a row is asked for, by the names of columns. Values are as the columns have them. */
export type Condition =
  | { column: string; in: readonly unknown[] }
  | { column: string; notIn: readonly unknown[] }
  /** Inclusive on both ends. */
  | { column: string; from?: unknown; to?: unknown };

/** A question for rows as data: which ones, in which order, from where on. */
export interface Selection {
  /** All of them hold. */
  where: readonly Condition[];
  order: readonly { column: string; sort: Sort }[];
  /** The values, by the columns of the order, that the row before the first one has; null for the beginning. */
  after: readonly unknown[] | null;
}
