/** The top of orders by balance: read from the tables once, then moved by the steps of the window. */
import { LRUCache } from 'lru-cache';
import { jettonWallets } from '../../clickhouse/tables/jettons.ts';
import type { BehindBalance, JettonWalletFilter, JettonWalletRecord } from '../chain/contract-records.ts';
import { compareDecimal } from '../chain/decimal.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, Decimal } from '../chain/model.ts';
import type { BalanceRecord, Page } from '../chain/records.ts';
import { stepOf } from './chunk.ts';
import { unpackDetected } from './detected-rows.ts';
import { columnOf, restOf } from './kind.ts';
import { accountKind, walletKind } from './kinds.ts';
import { createRanking, type Ranking, type RankingOptions } from './ranking.ts';
import { stateOf } from './rows.ts';
import type { Sides } from './sides.ts';
import type { View } from './view.ts';

/** Rows of an order that are kept; pages behind them are asked of the tables. About 12 MB of jetton wallets. */
export const TOP_ROWS = 12_000;
/** Jettons whose holders are kept: those asked for more than so often, of as many as are counted. */
const TOP_JETTONS = 4;
const OFTEN = 2;
const COUNTED_JETTONS = 1_000;
/** With more steps to catch up with, the tables are read again: some 10 ms. */
const MOST_STEPS = 64;

interface TopOptions<R extends P, P> extends Omit<RankingOptions<R, P>, 'most'> {
  /** Rows that a step has left. */
  changed(view: View, mcSeqno: number): R[];
  /** Rows of the tables, in the order; those behind a place. */
  fetch(page: Page, sides: Sides, behind?: P): Promise<R[]>;
}

type Top<R, P = R> = (page: Page, sides: Sides, behind?: P) => Promise<R[]>;

function createTop<R extends P, P = R>(options: TopOptions<R, P>): Top<R, P> {
  let ranking: Ranking<R, P> | null = null;
  let isRead = false;

  /** Reads the top anew; whoever asks meanwhile asks the tables for a page. */
  async function read(sides: Sides): Promise<Ranking<R, P>> {
    isRead = true;
    try {
      const { head } = sides.view;
      const rows = await options.fetch({ limit: TOP_ROWS, offset: 0 }, sides);
      return createRanking(rows, head, { ...options, most: TOP_ROWS });
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

  return async (page, sides, behind) => {
    const { offset, limit } = page;
    const ask = (): Promise<R[]> => options.fetch(page, sides, behind);
    if (offset + limit > TOP_ROWS) return ask();
    if (ranking !== null && catchUp(ranking, sides.view)) {
      const known = ranking.page(offset, limit, behind);
      // What is not known behind a place lies below what is kept.
      if (known !== null || behind !== undefined) return known ?? ask();
    }
    if (isRead) return ask();
    const fresh = await read(sides);
    ranking = fresh;
    return fresh.page(offset, limit, behind) ?? ask();
  };
}

/** The greatest first. */
function byBalance(a: Decimal, b: Decimal): number {
  if (a[0] !== '-' && b[0] !== '-') return compareDecimal(b, a);
  const [x, y] = [BigInt(a), BigInt(b)];
  return x < y ? 1 : x > y ? -1 : 0;
}

/** Accounts by balance (spec v3 endpoints 10), equal ones by address. */
export function createTopBalances(): Top<BalanceRecord> {
  return createTop<BalanceRecord>({
    compare: (a, b) => byBalance(a.balance, b.balance) || a.account.compare(b.account),
    keyOf: ({ account }) => hashKey(account),
    changed: (view, mcSeqno) =>
      view.rowsOf(accountKind, mcSeqno).map(({ row }) => ({
        account: columnOf(accountKind, row, 'account'),
        balance: stateOf(row).state.balance,
      })),
    fetch: (page, { whole, context }) => whole.topBalances(page, context),
  });
}

/** Holders of a jetton, the greatest balance first. */
export function createHolders() {
  const tops = new LRUCache<string, Top<JettonWalletRecord, BehindBalance>>({ max: TOP_JETTONS });
  const counts = new LRUCache<string, number>({ max: COUNTED_JETTONS });

  function isAskedOften(jetton: Address): boolean {
    const count = (counts.get(hashKey(jetton)) ?? 0) + 1;
    counts.set(hashKey(jetton), count);
    return count > OFTEN;
  }

  function holdersOf(jetton: Address): Top<JettonWalletRecord, BehindBalance> {
    const known = tops.get(hashKey(jetton));
    if (known) return known;
    const filter = {
      addresses: [],
      owners: [],
      jettons: [jetton],
      excludeZeroBalance: false,
      byBalance: 'desc' as const,
    };
    const made = createTop<JettonWalletRecord, BehindBalance>({
      compare: (a, b) => byBalance(a.balance, b.balance) || b.address.compare(a.address),
      keyOf: ({ address }) => hashKey(address),
      changed: (view, mcSeqno) =>
        view
          .rowsOf(walletKind, mcSeqno)
          .map(({ id, row }) => unpackDetected(jettonWallets, restOf(walletKind, row), stepOf(id)))
          .filter((wallet) => wallet.jetton.equals(jetton)),
      fetch: (page, { whole, context }, behind) => whole.contracts.jettonWallets({ ...filter, behind, page }, context),
    });
    tops.set(hashKey(jetton), made);
    return made;
  }

  /** Null where holders of one jetton, the greatest first, are not what is asked for, or not often. */
  return function holders(filter: JettonWalletFilter, sides: Sides): Promise<JettonWalletRecord[]> | null {
    const { addresses, owners, jettons, byBalance: sort, excludeZeroBalance, behind, page } = filter;
    if (behind !== undefined && !('balance' in behind)) return null;
    if (sort !== 'desc' || jettons.length !== 1 || addresses.length > 0 || owners.length > 0) return null;
    if (!isAskedOften(jettons[0])) return null;
    const found = holdersOf(jettons[0])(page, sides, behind);
    // Those with nothing come last.
    return excludeZeroBalance ? found.then((rows) => rows.filter(({ balance }) => isPositive(balance))) : found;
  };
}

const isPositive = (balance: Decimal): boolean => balance !== '0' && balance[0] !== '-';
