import type { BoundedSource } from '../../clickhouse/queries/source.ts';
import type { QueryContext } from '../chain/records.ts';
import type { View } from './view.ts';

/** What a question is answered from. */
export interface Sides {
  view: View;
  /** The tables below the window's first step. */
  below: BoundedSource;
  /** The tables up to the window's head: for what the window has no key for. */
  whole: BoundedSource;
  context: QueryContext;
}

export const text = (bytes: Buffer): string => bytes.toString('latin1');

export function distinct(values: readonly Buffer[]): Buffer[] {
  return [...new Map(values.map((value) => [text(value), value])).values()];
}
