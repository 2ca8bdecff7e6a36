/** Where a page ends, found before it is read. */
import type { Page, Sort } from '../../src/chain/records.ts';
import { direction } from './keys.ts';

export interface PageEnd {
  /** SQL: the rows, from `FROM` on. */
  from: string;
  /** The column that the table is in the order of. */
  by: string;
  /** The column whose end it is, where that is another one, which rises with it. Default: `by`. */
  of?: string;
  /**
   * Where the table may have several rows of what a page shows once: the columns that say what that is, and how many
   * there are of one as a rule. With more of them the page is bounded by nothing.
   */
  repeats?: { key: readonly string[]; most: number };
}

/** Behind all times and logical times. */
const GREATEST = '18446744073709551615';

/**
 * A condition that holds for the rows of a page and for few behind it. With a plain `LIMIT` in the order of its key the
 * server reads no further than that goes; with `LIMIT BY`, `WITH TIES` or an order that turns round within the key it
 * does. So as many rows as the page needs are taken plainly, and the last of them bounds it.
 */
export function pageEnd({ from, by, of = by, repeats }: PageEnd, { sort, page }: { sort: Sort; page: Page }): string {
  const [sign, last, nowhere] = sort === 'desc' ? ['>=', 'min', '0'] : ['<=', 'max', GREATEST];
  const rows = page.offset + page.limit;
  const order = `ORDER BY ${by} ${direction(sort)}`;
  const columns = [...new Set([of, by, ...(repeats?.key ?? [])])];
  const ends =
    repeats === undefined
      ? `SELECT ${of} ${from} ${order} LIMIT ${rows}`
      : `SELECT ${of} FROM (SELECT ${columns.join(', ')} ${from} ${order} LIMIT ${repeats.most * rows})
          ${order} LIMIT 1 BY ${repeats.key.join(', ')} LIMIT ${rows}`;
  // Fewer rows than the page may have end nowhere.
  return `${of} ${sign} (SELECT if(count() < ${rows}, ${nowhere}, ${last}(${of})) FROM (${ends}))`;
}
