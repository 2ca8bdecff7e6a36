/** The top of orders by balance: read from the tables once, then moved by the steps of the window. */
import { LRUCache } from 'lru-cache';
import { jettonWallets } from '../../clickhouse/tables/jettons.ts';
import type { JettonWalletFilter, JettonWalletRecord } from '../chain/contract-records.ts';
import { compareDecimal } from '../chain/decimal.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, Decimal } from '../chain/model.ts';
import type { BalanceRecord, Page } from '../chain/records.ts';
import { unpackDetected } from './detected-rows.ts';
import { columnOf, restOf, stepOf } from './kind.ts';
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

interface TopOptions<R> extends Omit<RankingOptions<R>, 'most'> {
  /** Rows that a step has left. */
  changed(view: View, mcSeqno: number): R[];
  /** Rows of the tables, in the order. */
  fetch(page: Page, sides: Sides): Promise<R[]>;
}

type Top<R> = (page: Page, sides: Sides) => Promise<R[]>;

function createTop<R>(options: TopOptions<R>): Top<R> {
  let ranking: Ranking<R> | null = null;
  let isRead = false;

  /** Reads the top anew; whoever asks meanwhile asks the tables for a page. */
  async function read(sides: Sides): Promise<Ranking<R>> {
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
  function catchUp(to: Ranking<R>, view: View): boolean {
    if (view.head - to.at > MOST_STEPS || to.at < view.first - 1) return false;
    for (let step = to.at + 1; step <= view.head; step++) to.change(options.changed(view, step), step);
    return true;
  }

  return async (page, sides) => {
    if (page.offset + page.limit > TOP_ROWS) return options.fetch(page, sides);
    const known = ranking !== null && catchUp(ranking, sides.view) ? ranking.page(page.offset, page.limit) : null;
    if (known !== null) return known;
    if (isRead) return options.fetch(page, sides);
    const fresh = await read(sides);
    ranking = fresh;
    return fresh.page(page.offset, page.limit) ?? options.fetch(page, sides);
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
  const tops = new LRUCache<string, Top<JettonWalletRecord>>({ max: TOP_JETTONS });
  const counts = new LRUCache<string, number>({ max: COUNTED_JETTONS });

  function isAskedOften(jetton: Address): boolean {
    const count = (counts.get(hashKey(jetton)) ?? 0) + 1;
    counts.set(hashKey(jetton), count);
    return count > OFTEN;
  }

  function holdersOf(jetton: Address): Top<JettonWalletRecord> {
    const known = tops.get(hashKey(jetton));
    if (known) return known;
    const filter = {
      addresses: [],
      owners: [],
      jettons: [jetton],
      excludeZeroBalance: false,
      byBalance: 'desc' as const,
    };
    const made = createTop<JettonWalletRecord>({
      compare: (a, b) => byBalance(a.balance, b.balance) || b.address.compare(a.address),
      keyOf: ({ address }) => hashKey(address),
      changed: (view, mcSeqno) =>
        view
          .rowsOf(walletKind, mcSeqno)
          .map(({ id, row }) => unpackDetected(jettonWallets, restOf(walletKind, row), stepOf(id)))
          .filter((wallet) => wallet.jetton.equals(jetton)),
      fetch: (page, { whole, context }) => whole.contracts.jettonWallets({ ...filter, page }, context),
    });
    tops.set(hashKey(jetton), made);
    return made;
  }

  /** Null where holders of one jetton, the greatest first, are not what is asked for, or not often. */
  return function holders(filter: JettonWalletFilter, sides: Sides): Promise<JettonWalletRecord[]> | null {
    const { addresses, owners, jettons, byBalance: sort, excludeZeroBalance, behind, page } = filter;
    // By a range of their key the tables give what is behind a place at any depth.
    if (behind !== undefined) return null;
    if (sort !== 'desc' || jettons.length !== 1 || addresses.length > 0 || owners.length > 0) return null;
    if (!isAskedOften(jettons[0])) return null;
    const found = holdersOf(jettons[0])(page, sides);
    // Those with nothing come last.
    return excludeZeroBalance ? found.then((rows) => rows.filter(({ balance }) => isPositive(balance))) : found;
  };
}

const isPositive = (balance: Decimal): boolean => balance !== '0' && balance[0] !== '-';
