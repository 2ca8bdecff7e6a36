/** A page of a listing of any kind, from the window and what the tables hold below it. */
import type { Page } from '../chain/records.ts';
import type { Candidate } from './candidate.ts';
import type { Kind } from './kind.ts';
import { mergePage, WHOLE } from './merge.ts';
import { aheadOf, type Clocks, reachesBelow, Selected, type Selection } from './select.ts';
import type { View } from './view.ts';

export interface Listing<R> {
  kind: Kind;
  selection: Selection;
  /** What cannot be said in conditions. */
  also?: (row: Candidate) => boolean;
  /** Entries that are looked through for one page, where that is dear. */
  enough?: number;
  clocks: Clocks;
  page: Page;
  load(row: Candidate): R;
  /** The values, by the columns of the order, of a row of the tables. */
  valuesOf(record: R): readonly unknown[];
  /** Rows of the tables below the window, in the same order. */
  fetch(page: Page): Promise<R[]>;
  /** Overrides what the conditions say of rows below the window. */
  needsTables?: boolean;
  /** Rows of the tables may come before any row of the window. */
  mixed?: boolean;
}

export function listPage<R>(view: View, listing: Listing<R>): Promise<R[] | typeof WHOLE> {
  const { kind, selection, also, enough, clocks, page, load, valuesOf, fetch, mixed = false } = listing;
  const selected = new Selected(kind, selection, also, enough);
  return mergePage({
    rows: selected.rows(view),
    ahead: mixed ? () => false : aheadOf(kind, selection, clocks, view.below),
    needsTables: listing.needsTables ?? reachesBelow(kind, selection, clocks, view.below),
    sort: selection.order[0].sort,
    page,
    load,
    fetch,
    compare: (row, record) => selected.compare(row, selected.placeOf(valuesOf(record))),
  });
}

/** A page of these rows: of those that a step of the window has written, say. */
export function pageOf<R>({
  kind,
  selection,
  also,
  page,
  load,
  rows,
}: Pick<Listing<R>, 'kind' | 'selection' | 'also' | 'page' | 'load'> & { rows: readonly Candidate[] }): R[] {
  const selected = new Selected(kind, selection, also);
  const found = selected.sorted(rows.filter((row) => selected.passes(row)));
  return found.slice(page.offset, page.offset + page.limit).map(load);
}

export { WHOLE };
