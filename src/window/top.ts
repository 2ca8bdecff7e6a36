/** The top of orders by balance: read from the tables once, then moved by the steps of the window. */
import { compareDecimal } from '../chain/decimal.ts';
import { hashKey } from '../chain/hash.ts';
import type { Decimal } from '../chain/model.ts';
import type { BalanceRecord, Page } from '../chain/records.ts';
import { columnOf } from './kind.ts';
import { accountKind } from './kinds.ts';
import { createRanking, type Ranking, type RankingOptions } from './ranking.ts';
import { stateOf } from './rows.ts';
import type { Sides } from './sides.ts';
import type { View } from './view.ts';

/** Rows of an order that are kept; pages behind them are asked of the tables. */
export const TOP_ROWS = 12_000;
/** With more steps to catch up with, the tables are read again: some 10 ms. */
const MOST_STEPS = 64;

interface TopOptions<R extends P, P> extends RankingOptions<R, P> {
  /** Rows that a step has left. */
  changed(view: View, mcSeqno: number): R[];
  /** The first rows of the tables, in the order. */
  fetch(most: number, sides: Sides): Promise<R[]>;
}

/** A page of what is kept; `below` for one that is not among that, null while that is being read. */
export type Top<R, P = R> = (page: Page, sides: Sides, behind?: P) => Promise<R[] | 'below' | null>;

export function createTop<R extends P, P = R>(options: TopOptions<R, P>): Top<R, P> {
  const { most } = options;
  let ranking: Ranking<R, P> | null = null;
  let isRead = false;

  /** Reads the top anew; whoever asks meanwhile asks the tables for a page. */
  async function read(sides: Sides): Promise<Ranking<R, P>> {
    isRead = true;
    try {
      const { head } = sides.view;
      return createRanking(await options.fetch(most, sides), head, options);
    } finally {
      isRead = false;
    }
  }

  /** Up to where this view is; false when what is between is not there, or too much. */
  function catchUp(to: Ranking<R, P>, view: View): boolean {
    if (view.head - to.at > MOST_STEPS || to.at < view.first) return false;
    for (let step = to.at + 1; step <= view.head; step++) to.change(options.changed(view, step), step);
    return true;
  }

  return async ({ offset, limit }, sides, behind) => {
    if (offset + limit > most) return 'below';
    if (ranking !== null && catchUp(ranking, sides.view)) {
      const known = ranking.page(offset, limit, behind);
      if (known !== null) return known;
      if (behind !== undefined) return 'below';
    }
    if (isRead) return null;
    const fresh = await read(sides);
    ranking = fresh;
    return fresh.page(offset, limit, behind) ?? 'below';
  };
}

/** The greatest first. */
export function byBalance(a: Decimal, b: Decimal): number {
  if (a[0] !== '-' && b[0] !== '-') return compareDecimal(b, a);
  const [x, y] = [BigInt(a), BigInt(b)];
  return x < y ? 1 : x > y ? -1 : 0;
}

/** Accounts by balance (spec v3 endpoints 10), equal ones by address. */
export function createTopBalances() {
  const top = createTop<BalanceRecord>({
    most: TOP_ROWS,
    compare: (a, b) => byBalance(a.balance, b.balance) || a.account.compare(b.account),
    keyOf: ({ account }) => hashKey(account),
    changed: (view, mcSeqno) =>
      view.rowsOf(accountKind, mcSeqno).map(({ row }) => ({
        account: columnOf(accountKind, row, 'account'),
        balance: stateOf(row).state.balance,
      })),
    fetch: (most, { whole, context }) => whole.topBalances({ limit: most, offset: 0 }, context),
  });
  return async (page: Page, sides: Sides): Promise<BalanceRecord[]> => {
    const rows = await top(page, sides);
    return Array.isArray(rows) ? rows : sides.whole.topBalances(page, sides.context);
  };
}
