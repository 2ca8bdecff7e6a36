import type {
  BehindBalance,
  BehindId,
  JettonBalanceFilter,
  JettonBalanceRecord,
  JettonMasterFilter,
  JettonMasterRecord,
  JettonWalletFilter,
  JettonWalletRecord,
  WalletState,
} from '../../src/chain/contract-records.ts';
import { hashKey } from '../../src/chain/hash.ts';
import type { Address } from '../../src/chain/model.ts';
import type { Page, QueryContext, Sort, TracePlace } from '../../src/chain/records.ts';
import { bytes, list, u64 } from '../literal.ts';
import type { RowReader } from '../rowbinary.ts';
import { jettonBalances, jettonHolders, jettonMasters, jettonWallets } from '../tables/jettons.ts';
import { reached, toldUpTo, walletsAt, withHashesAt } from './at-step.ts';
import { all, behind, limits, where } from './conditions.ts';
import { addresses, direction } from './keys.ts';
import { newest } from './newest.ts';
import { collect, type NewestReading } from './reading.ts';
import { createStandingRows, type StandingRow } from './signed-order.ts';

export function jettonQueries(reading: NewestReading) {
  const standingRows = createStandingRows(reading);

  /** Wallets of one jetton by balance. */
  async function holders(
    { jetton, sort, page, excludeZero, place }: Holders,
    context: QueryContext,
  ): Promise<StandingRow[]> {
    const order = {
      table: jettonHolders,
      address: 'address',
      sort: { balance: sort, address: sort },
      where: [`jetton = ${bytes(jetton)}`, ...behindHolder(sort, place), ...(excludeZero ? ['balance > 0'] : [])],
      within: ['jetton'],
      label: 'jetton holders',
      readBalance: (row: RowReader) => row.i256(),
    };
    return standingRows(order, page, context);
  }

  /** Those of wallets in the order of first detection that have something: of as many keys as that takes. */
  async function positive(detected: Detected, page: Page, context: QueryContext): Promise<JettonWalletRecord[]> {
    for (let looked = LOOKED_AT_FIRST * (page.offset + page.limit); ; looked *= LOOKED_AT_MORE) {
      const keys = detected({ offset: 0, limit: looked });
      const conditions = [`address IN (${keys})`, 'balance > 0'];
      const found = await newest(reading, jettonWallets, { conditions, order: 'id, address', page }, context);
      if (found.length === page.limit) return found;
      // An address stands more than once until it is merged.
      const sql = `SELECT uniqExact(address) FROM (${keys})`;
      const counted = await reading.rows(sql, 'count of jetton wallets', context);
      if (Number(counted.u64()) < looked) return found;
    }
  }

  return {
    jettonMasters(filter: JettonMasterFilter, context: QueryContext): Promise<JettonMasterRecord[]> {
      const conditions: string[] = [];
      const beginning = behindId(filter.behind);
      let page: Page | null = filter.page;
      if (filter.addresses.length > 0) conditions.push(`address IN ${addresses(filter.addresses)}`);
      if (filter.admins.length > 0) {
        const admin = `admin_address IN ${addresses(filter.admins)}`;
        conditions.push(admin, `address IN (SELECT address FROM jetton_masters_by_admin WHERE ${admin})`);
      }
      if (conditions.length === 0) {
        conditions.push(`address IN (${firstDetected('jetton_masters_by_id', beginning, filter.page)})`);
        page = null;
      } else conditions.push(...beginning);
      return newest(reading, jettonMasters, { conditions, order: 'id, address', page }, context);
    },

    jettonHolders(jetton: Address, most: number, context: QueryContext): Promise<BehindBalance[]> {
      const page = { offset: 0, limit: most };
      return holders({ jetton, sort: 'desc', page, excludeZero: false, place: undefined }, context);
    },

    async jettonBalances(filter: JettonBalanceFilter, context: QueryContext): Promise<JettonBalanceRecord[]> {
      const { wallet, ltWindow, sort, limit } = filter;
      const conditions = where(jettonBalances, [
        { column: 'address', is: wallet },
        { column: 'mcSeqno', to: reading.head.seqno },
        { column: 'lt', from: ltWindow.start, to: ltWindow.end },
      ]);
      const sql = `SELECT lt, mc_seqno, balance FROM jetton_balances WHERE ${conditions}
        ORDER BY lt ${direction(sort)} LIMIT 1 BY lt LIMIT ${limit}`;
      const rows = await reading.rows(sql, 'balances of a jetton wallet', context);
      return collect(rows, (row) => ({ lt: row.u64(), mcSeqno: row.u32(), balance: row.i256() }));
    },

    async jettonWallets(filter: JettonWalletFilter, context: QueryContext): Promise<JettonWalletRecord[]> {
      const { owners, jettons, byBalance, excludeZeroBalance, at } = filter;
      const one = jettons.length === 1 ? jettons[0] : undefined;
      const only = filter.addresses.length === 0 && owners.length === 0;
      const place = filter.behind && 'balance' in filter.behind ? filter.behind : undefined;
      const isHolders = only && one !== undefined && byBalance !== undefined;
      if (isHolders && at === undefined) {
        const { page } = filter;
        const asked = { jetton: one, sort: byBalance, page, excludeZero: excludeZeroBalance, place };
        const standing = await holders(asked, context);
        if (standing.length === 0) return [];
        const conditions = [`address IN ${addresses(standing.map(({ address }) => address))}`];
        const found = await newest(reading, jettonWallets, { conditions, order: 'address' }, context);
        const wallets = new Map(found.map((wallet) => [hashKey(wallet.address), wallet]));
        return standing.flatMap(({ address, balance }) => {
          const wallet = wallets.get(hashKey(address));
          if (wallet === undefined) return [];
          // A step that came between the two has left another one: the place is that of this balance.
          return [wallet.balance === balance ? wallet : { ...wallet, balance }];
        });
      }
      const beginning = filter.behind && 'id' in filter.behind ? behindId(filter.behind) : [];
      // What holds of a wallet at every step: a wallet is confirmed by its master, by owner and master, and neither
      // changes.
      const keys: string[] = [...beginning];
      let page: Page | null = filter.page;
      if (filter.addresses.length > 0) keys.push(`address IN ${addresses(filter.addresses)}`);
      const jetton = jettons.length > 0 ? `jetton IN ${addresses(jettons)}` : null;
      if (owners.length > 0) {
        const owner = `owner IN ${addresses(owners)}`;
        const both = jetton === null ? owner : `${owner} AND ${jetton}`;
        keys.push(owner, `address IN (${withIds(`SELECT id FROM jetton_wallets_by_owner WHERE ${both}`)})`);
      }
      if (only && jettons.length > 1) {
        keys.push(`address IN (${withIds(`SELECT id FROM jetton_wallets_by_jetton WHERE ${jetton}`)})`);
      } else if (only) {
        const told = at === undefined ? [] : [toldUpTo(at)];
        const detected =
          one === undefined ? detectedWallets([...beginning, ...told]) : ofJetton(one, [...beginning, ...told]);
        if (byBalance === undefined && !excludeZeroBalance) {
          keys.push(`address IN (${detected(filter.page)})`);
          page = null;
        } else if (byBalance === undefined && at === undefined) {
          return positive(detected, filter.page, context);
        } else if (jetton !== null) {
          keys.push(`address IN (${withIds(`SELECT id FROM jetton_wallets_by_jetton WHERE ${jetton}`)})`);
        }
      }
      const conditions = [...(jetton === null ? [] : [jetton]), ...(excludeZeroBalance ? ['balance > 0'] : [])];
      if (at === undefined) {
        const selection = { conditions: [...keys, ...conditions], order: walletOrder(filter), page };
        return newest(reading, jettonWallets, selection, context);
      }
      await reached(reading, at, context);
      if (isHolders) conditions.push(...behindHolder(byBalance, place));
      const order = isHolders
        ? `balance ${direction(byBalance)}, address ${direction(byBalance)}`
        : walletOrder(filter);
      const found = await newest(
        reading,
        jettonWallets,
        { from: walletsAt(at, keys), conditions, order, page },
        context,
      );
      return withHashesAt(found, reading, context);
    },

    async walletsAt(places: readonly TracePlace[], context: QueryContext): Promise<WalletState[]> {
      if (places.length === 0) return [];
      const steps = places.map(({ mcSeqno }) => mcSeqno);
      const keys = places.map(({ account, lt }) => `(${bytes(account)}, ${u64(lt)})`);
      const sql = `SELECT address, lt, mc_seqno, balance, owner, jetton FROM jetton_balances WHERE (address, lt) IN ${list(keys)}
        AND mc_seqno BETWEEN ${steps.reduce((a, b) => Math.min(a, b))} AND ${steps.reduce((a, b) => Math.max(a, b))}
        LIMIT 1 BY address, lt`;
      const states = collect(await reading.rows(sql, 'jetton_balances', context), (row) => ({
        address: row.fixed(36),
        lt: row.u64(),
        mcSeqno: row.u32(),
        balance: row.i256(),
        owner: row.fixed(36),
        jetton: row.fixed(36),
      }));
      // What came to light in another of these steps was not so in its own.
      const asked = new Map(places.map(({ account, lt, mcSeqno }) => [`${hashKey(account)}${lt}`, mcSeqno]));
      return states.flatMap(({ mcSeqno, ...state }) =>
        asked.get(`${hashKey(state.address)}${state.lt}`) === mcSeqno ? [state] : [],
      );
    },
  };
}

/** Spec v3 endpoints 5.2. */
function walletOrder({ addresses: some, owners, jettons, byBalance }: JettonWalletFilter): string {
  const first = byBalance === undefined ? 'id, address' : `balance ${direction(byBalance)}, id, address`;
  if (jettons.length === 1) return first;
  if (owners.length > 0) return `owner, ${first}`;
  return some.length > 0 ? 'address' : first;
}

/** What comes behind a row in the order of first detection. */
export function behindId(behind: BehindId | undefined): string[] {
  return behind === undefined ? [] : [`id > ${u64(behind.id)}`];
}

/** The wallets of a jetton by balance. */
interface Holders {
  jetton: Address;
  sort: Sort;
  page: Page;
  excludeZero: boolean;
  place: BehindBalance | undefined;
}

/** A range of the key, so that a page costs the same at any depth. */
function behindHolder(sort: Sort, place: BehindBalance | undefined): string[] {
  if (place === undefined) return [];
  const order = [
    { column: 'balance', sort },
    { column: 'address', sort },
  ] as const;
  return [behind(jettonHolders, order, [place.balance, place.address])];
}

/** Keys looked at for each row of a page of wallets that have something; so many times as many when these do not do. */
const LOOKED_AT_FIRST = 3;
const LOOKED_AT_MORE = 8;

/** SQL: addresses of a page in the order of first detection. */
type Detected = (page: Page) => string;

const detectedWallets =
  (conditions: readonly string[]): Detected =>
  (page) =>
    firstDetected('jetton_wallets_by_id', conditions, page);

const ofJetton =
  (jetton: Address, conditions: readonly string[]): Detected =>
  (page) => {
    const from = `jetton_wallets_by_jetton WHERE ${all([`jetton = ${bytes(jetton)}`, ...conditions])}`;
    return withIds(`SELECT id FROM ${from} ORDER BY jetton, id LIMIT 1 BY id ${limits(page)}`);
  };

/** SQL: addresses of wallets whose ids these are; the tables by owner and by jetton name them by ids alone. */
function withIds(ids: string): string {
  return `SELECT address FROM jetton_wallets_by_id WHERE id IN (${ids})`;
}

/** Addresses of a page in the order of first detection. Keys stand more than once until they are merged. */
export function firstDetected(keys: string, conditions: readonly string[], page: Page): string {
  return `SELECT address FROM ${keys} WHERE ${all(conditions)} ORDER BY id LIMIT 1 BY id ${limits(page)}`;
}
