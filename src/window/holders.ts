/**
 * Holders of a jetton, the greatest balance first: of those that are asked for often the order is kept (top.ts), of the
 * wallets themselves the ones that were shown last.
 */
import { LRUCache } from 'lru-cache';
import { TooMuch } from '../../clickhouse/queries/reading.ts';
import { jettonWallets } from '../../clickhouse/tables/jettons.ts';
import { atMost } from '../at-most.ts';
import type { BehindBalance, JettonWalletFilter, JettonWalletRecord } from '../chain/contract-records.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, Decimal } from '../chain/model.ts';
import { makeLast } from '../lasting.ts';
import { stepOf } from './chunk.ts';
import { unpackDetected } from './detected-rows.ts';
import { restOf } from './kind.ts';
import { walletKind } from './kinds.ts';
import type { Sides } from './sides.ts';
import { type createTokens, NO_TOKENS } from './tokens.ts';
import { byBalance, createTop, TOP_ROWS, type Top } from './top.ts';

/** The place of a wallet, with its address as a key: an order of many takes some 180 bytes each. */
interface Holder {
  balance: Decimal;
  key: string;
}

/**
 * Orders that are kept, of jettons asked for more than so often, of as many as are counted. Few are asked for deep pages:
 * what lies below the first order may be in the second.
 */
const ORDERS = [
  { most: TOP_ROWS, jettons: 4 },
  { most: 128_000, jettons: 2 },
];
const OFTEN = 2;
const COUNTED_JETTONS = 1_000;
/** Pages that the tables are asked for before an order is read again that took more memory than a request may. */
const TRIED_AGAIN = 1_000;
/** About a kilobyte each, with what is printed of them. */
const SHOWN_WALLETS = 16_384;

/** Of the first holders of any jetton; null also where they are not asked for often. */
type Order = (jetton: Address, ...asked: Parameters<Top<Holder>>) => ReturnType<Top<Holder>>;

export function createHolders(tokens: ReturnType<typeof createTokens>) {
  const shown = new LRUCache<Holder, JettonWalletRecord>(atMost(SHOWN_WALLETS));

  const show = (holder: Holder, wallet: JettonWalletRecord) => shown.set(holder, makeLast(wallet));

  function holderOf(wallet: JettonWalletRecord): Holder {
    const { balance, address } = wallet;
    const holder = { balance, key: hashKey(address) };
    show(holder, wallet);
    return holder;
  }

  const topOf = (jetton: Address, most: number): Top<Holder> =>
    createTop<Holder>({
      most,
      compare: (a, b) => byBalance(a.balance, b.balance) || (a.key === b.key ? 0 : a.key > b.key ? -1 : 1),
      keyOf: ({ key }) => key,
      changed: (view, mcSeqno) =>
        view
          .rowsOf(walletKind, mcSeqno)
          .map(({ id, row }) => unpackDetected(jettonWallets, restOf(walletKind, row), stepOf(id)))
          .filter((wallet) => wallet.jetton.equals(jetton))
          .map(holderOf),
      fetch: async (rows, { whole, context }) =>
        (await whole.contracts.jettonHolders(jetton, rows, context)).map(placeOf),
    });

  function orderOf({ most, jettons }: (typeof ORDERS)[number]): Order {
    const tops = new LRUCache<string, Top<Holder>>({ max: jettons });
    const counts = new LRUCache<string, number>({ max: COUNTED_JETTONS });
    return async (jetton, page, sides, behind) => {
      const name = hashKey(jetton);
      if (page.offset + page.limit > most) return 'below';
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      if (count <= OFTEN) return null;
      const top = tops.get(name) ?? topOf(jetton, most);
      tops.set(name, top);
      try {
        return await top(page, sides, behind);
      } catch (error) {
        if (!(error instanceof TooMuch)) throw error;
        // A page may take less: this order is not read until it was asked for often once more.
        counts.set(name, -TRIED_AGAIN);
        return null;
      }
    };
  }

  const orders = ORDERS.map(orderOf);

  /** In their order, with the balances that it goes by: a step that came meanwhile may have left others. */
  async function walletsOf(holders: readonly Holder[], sides: Sides): Promise<JettonWalletRecord[]> {
    const missing = holders.filter((holder) => !shown.has(holder));
    if (missing.length > 0) {
      const { wallets } = await tokens({ ...NO_TOKENS, wallets: missing.map(addressOf) }, sides);
      const found = new Map(wallets.map((wallet) => [hashKey(wallet.address), wallet]));
      for (const holder of missing) {
        const wallet = found.get(holder.key);
        const { balance } = holder;
        if (wallet !== undefined) show(holder, wallet.balance === balance ? wallet : { ...wallet, balance });
      }
    }
    return holders.flatMap((holder) => shown.get(holder) ?? []);
  }

  /** Null where the tables are to be asked: for what is not holders of one jetton, the greatest first, or not often. */
  return async function holders(filter: JettonWalletFilter, sides: Sides): Promise<JettonWalletRecord[] | null> {
    const { addresses, owners, jettons, byBalance: sort, excludeZeroBalance, behind, at, page } = filter;
    if (at !== undefined || (behind !== undefined && !('balance' in behind))) return null;
    if (sort !== 'desc' || jettons.length !== 1 || addresses.length > 0 || owners.length > 0) return null;
    const place = behind && placeOf(behind);
    for (const order of orders) {
      const found = await order(jettons[0], page, sides, place);
      if (found === 'below') continue;
      if (found === null) return null;
      // Those with nothing come last.
      return walletsOf(excludeZeroBalance ? found.filter(({ balance }) => isPositive(balance)) : found, sides);
    }
    return null;
  };
}

const placeOf = ({ balance, address }: BehindBalance): Holder => ({ balance, key: hashKey(address) });

const addressOf = ({ key }: Holder): Address => Buffer.from(key, 'latin1') as Address;

const isPositive = (balance: Decimal): boolean => balance !== '0' && balance[0] !== '-';
