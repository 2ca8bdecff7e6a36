import type { Page, Sort } from '../chain/records.ts';

/** One listing over the window and what the tables hold below it. `W` is a row of the window not yet read whole. */
export interface Listing<W, R> {
  /** Rows of the window in the order of the listing, read as far as needed; `TIRED` ends it early. */
  rows: Iterable<W | typeof TIRED>;
  /** True where no row of the tables is beyond it: newer than all of them. */
  ahead(row: W): boolean;
  /** False when the listing asks for nothing that the tables could have. */
  needsTables: boolean;
  sort: Sort;
  page: Page;
  load(row: W): R;
  /** Rows of the tables below the window, in the same order. */
  fetch(page: Page): Promise<R[]>;
  /** Below 0 when the row of the window comes first; 0 for the same thing. */
  compare(row: W, other: R): number;
}

/** Entries looked through for one page: some 10 ms. With more, the tables are faster. */
export const ENOUGH = 10_000;

/** Too many entries were looked through. */
export const TIRED: unique symbol = Symbol('tired');

/** The page is better asked of the tables as a whole. */
export const WHOLE: unique symbol = Symbol('whole');

/**
 * Rows of the window that are not newer than all rows of the tables: shards do not stand at the same lt, so a few rows
 * on both sides of the boundary are in one another's order. With more of them the tables are asked as a whole.
 */
const MOST_INTERLEAVED = 512;

/**
 * A page of a listing. The tables are asked only when the window cannot fill it, and only for what is below the window.
 * With u rows of the window among those of the tables, the row at place p of them all is at a place from p - u to p of
 * the tables: so many more are fetched.
 */
export async function mergePage<W, R>(listing: Listing<W, R>): Promise<R[] | typeof WHOLE> {
  // So many rows would be passed over only to find that they are too many.
  if (listing.page.offset >= ENOUGH) return WHOLE;
  if (!listing.needsTables) return windowPage(listing);
  return listing.sort === 'desc' ? newestFirst(listing) : oldestFirst(listing);
}

function windowPage<W, R>({ rows, page, load }: Listing<W, R>): R[] | typeof WHOLE {
  const found: R[] = [];
  let at = 0;
  for (const row of rows) {
    if (row === TIRED) return WHOLE;
    if (at++ >= page.offset) found.push(load(row));
    if (found.length === page.limit) break;
  }
  return found;
}

async function newestFirst<W, R>(listing: Listing<W, R>): Promise<R[] | typeof WHOLE> {
  const { rows, ahead, page, load } = listing;
  const picked: R[] = [];
  const interleaved: W[] = [];
  let newer = 0;
  for (const row of rows) {
    if (row === TIRED || interleaved.length > MOST_INTERLEAVED) return WHOLE;
    if (interleaved.length > 0 || !ahead(row)) interleaved.push(row);
    else if (newer++ >= page.offset) picked.push(load(row));
    if (picked.length === page.limit) return picked;
  }
  const offset = Math.max(0, page.offset - newer);
  const rest = await between(listing, interleaved, { offset, limit: page.limit - picked.length });
  return rest === WHOLE ? WHOLE : [...picked, ...rest.rows];
}

/** The rows are ended however this ends: what stays open holds a snapshot of the store. */
async function oldestFirst<W, R>(listing: Listing<W, R>): Promise<R[] | typeof WHOLE> {
  const rows = listing.rows[Symbol.iterator]();
  try {
    return await oldestOf(rows, listing);
  } finally {
    rows.return?.();
  }
}

async function oldestOf<W, R>(rows: Iterator<W | typeof TIRED>, listing: Listing<W, R>): Promise<R[] | typeof WHOLE> {
  const { ahead, page, load } = listing;
  const interleaved: W[] = [];
  let next = rows.next();
  for (; !next.done && next.value !== TIRED && !ahead(next.value); next = rows.next()) {
    interleaved.push(next.value);
    if (interleaved.length > MOST_INTERLEAVED) return WHOLE;
  }
  if (next.value === TIRED) return WHOLE;
  const rest = await between(listing, interleaved, page);
  if (rest === WHOLE) return WHOLE;
  const found = rest.rows;
  // Only once the tables have no more do the newer ones follow.
  let skip = rest.missing;
  for (; !next.done && rest.ended && found.length < page.limit; next = rows.next()) {
    if (next.value === TIRED) return WHOLE;
    if (skip-- <= 0) found.push(load(next.value));
  }
  return found;
}

/** A page of the rows of the tables with the interleaved ones of the window. */
async function between<W, R>(
  { fetch, compare, load }: Listing<W, R>,
  interleaved: readonly W[],
  page: Page,
): Promise<{ rows: R[]; ended: boolean; missing: number } | typeof WHOLE> {
  const offset = Math.max(0, page.offset - interleaved.length);
  const skip = page.offset - offset;
  const limit = skip + page.limit;
  const fetched = await fetch({ offset, limit });
  // Behind the end of the tables it is not known how far behind.
  if (fetched.length === 0 && offset > 0) return WHOLE;
  const merged: R[] = [];
  let at = 0;
  for (const row of interleaved) {
    while (at < fetched.length && compare(row, fetched[at]) > 0) merged.push(fetched[at++]);
    // The same thing on both sides: what was counted is not what there is.
    if (at < fetched.length && compare(row, fetched[at]) === 0) return WHOLE;
    merged.push(load(row));
  }
  merged.push(...fetched.slice(at));
  const ended = fetched.length < limit;
  return { rows: merged.slice(skip, limit), ended, missing: Math.max(0, skip - merged.length) };
}
