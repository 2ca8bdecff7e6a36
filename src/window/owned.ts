/**
 * Jetton wallets and NFT items of an owner, and records of a name or of the account that names lead to: these are an
 * owner here, too. What the tables said of an owner is remembered, and moved by what the window has: it is true as long
 * as no step since then has left the window.
 */
import { LRUCache } from 'lru-cache';
import { sellerOf } from '../../clickhouse/queries/nfts.ts';
import { address } from '../../clickhouse/tables/columns.ts';
import { jettonWallets } from '../../clickhouse/tables/jettons.ts';
import { dnsRecords, nftItems } from '../../clickhouse/tables/nfts.ts';
import type { TableWith } from '../../clickhouse/tables/table.ts';
import type {
  DetectedRecord,
  DnsFilter,
  DnsRecord,
  JettonWalletFilter,
  JettonWalletRecord,
  ListedNftItem,
  NftItemFilter,
  NftItemRecord,
} from '../chain/contract-records.ts';
import { compareDecimal } from '../chain/decimal.ts';
import { distinct, hashKey } from '../chain/hash.ts';
import type { Address, Decimal } from '../chain/model.ts';
import { packDetected } from './detected-rows.ts';
import { behindPrefix, type Kind, keyPrefix, layoutOf, ordered } from './kind.ts';
import { itemKind, nameKey, recordKind, walletKind } from './kinds.ts';
import type { Sides } from './sides.ts';
import type { NewestStates, TokenStates } from './tokens.ts';
import type { View } from './view.ts';

const ADDRESS = ordered(address);
/** Of one owner: who has more is asked of the tables. */
const MOST_OWNED = 1_000;
const MOST_OWNERS = 10;
/** Contracts of all owners that are remembered, about 300 bytes each. */
const REMEMBERED = 100_000;

interface Remembered {
  /** What steps up to this one have left is in it, or in a view that has them. */
  at: number;
  /** Null for too many. */
  rows: { address: Address; packed: Buffer; mcSeqno: number }[] | null;
}

interface OwnedOptions<R, O> {
  kind: Kind;
  /** Leads from an owner to addresses, and the steps that left each with the owner. */
  way: string;
  table: TableWith<R>;
  states: NewestStates<R>;
  /** As it stands in the way. */
  keyOf(owner: O): Buffer;
  isOf(row: R, owner: O): boolean;
  /** What the tables say, one more than are remembered at most. */
  fetch(owner: O, limit: number, sides: Sides): Promise<R[]>;
}

function createOwned<R extends DetectedRecord, O>(options: OwnedOptions<R, O>) {
  const { kind, way, table, states, keyOf, isOf, fetch } = options;
  const remembered = new LRUCache<string, Remembered>({
    maxSize: REMEMBERED,
    sizeCalculation: ({ rows }) => 1 + (rows?.length ?? 0),
  });
  const byOwner = layoutOf(kind, way);

  /** Those that a step of the window has left with the owner; null for too many. */
  function here(view: View, owner: Buffer): Address[] | null {
    const found: Address[] = [];
    const all = keyPrefix(kind, byOwner, [owner]);
    const high = behindPrefix(all);
    for (let low = all; ; ) {
      const [next] = first(view.range(byOwner, { low, high }));
      if (next === undefined) return found;
      if (found.length === MOST_OWNED) return null;
      const address = Buffer.from(ADDRESS.get(next.key, all.length));
      found.push(address);
      const behind = behindPrefix(keyPrefix(kind, byOwner, [owner, address]));
      if (behind === null) return found;
      low = behind;
    }
  }

  async function beneath(owner: O, key: string, sides: Sides): Promise<Remembered['rows']> {
    const { view } = sides;
    if (view.below === null) return [];
    const known = remembered.get(key);
    if (known !== undefined && known.at >= view.first) return known.rows;
    const found = await fetch(owner, MOST_OWNED + 1, sides);
    const rows =
      found.length > MOST_OWNED
        ? null
        : found.map((row) => ({ address: row.address, packed: packDetected(table, row), mcSeqno: row.mcSeqno }));
    remembered.set(key, { at: sides.wholeTo, rows });
    return rows;
  }

  /** The newest states of all that an owner has, in no order; null for too many. */
  return async function owned(owner: O, sides: Sides): Promise<R[] | null> {
    const key = keyOf(owner);
    const older = await beneath(owner, hashKey(key), sides);
    const newer = here(sides.view, key);
    if (older === null || newer === null) return null;
    const rows = new Map<string, R>();
    for (const { address, packed, mcSeqno } of older) {
      rows.set(hashKey(address), states.newest(sides.view, address) ?? states.read(packed, mcSeqno));
    }
    for (const address of newer) {
      const row = states.newest(sides.view, address);
      if (row !== null) rows.set(hashKey(address), row);
    }
    return [...rows.values()].filter((row) => isOf(row, owner));
  };
}

function* first<T>(all: Iterable<T>): Generator<T> {
  for (const one of all) {
    yield one;
    return;
  }
}

/** Of several owners; null where one has too many. */
async function ofAll<R>(
  owners: readonly Address[],
  owned: (owner: Address, sides: Sides) => Promise<R[] | null>,
  sides: Sides,
): Promise<R[] | null> {
  const all: R[] = [];
  for (const owner of distinct(owners)) {
    const found = await owned(owner, sides);
    if (found === null) return null;
    all.push(...found);
  }
  return all;
}

export type Owned = ReturnType<typeof createOwnedTokens>;

export function createOwnedTokens(states: TokenStates) {
  const page = { offset: 0 };
  const walletsOf = createOwned<JettonWalletRecord, Address>({
    kind: walletKind,
    way: 'owner',
    table: jettonWallets,
    states: states.wallets,
    keyOf: (owner) => owner,
    isOf: (row, owner) => row.owner.equals(owner),
    fetch: (owner, limit, { whole, context }) =>
      whole.contracts.jettonWallets(
        { addresses: [], owners: [owner], jettons: [], excludeZeroBalance: false, page: { ...page, limit } },
        context,
      ),
  });
  const itemsOf = createOwned<NftItemRecord, Address>({
    kind: itemKind,
    way: 'owner',
    table: nftItems,
    states: states.items,
    keyOf: (owner) => owner,
    isOf: (row, owner) => row.ownerAddress?.equals(owner) === true,
    async fetch(owner, limit, { whole, context }) {
      const filter = { addresses: [], owners: [owner], collections: [], indexes: [], includeOnSale: false };
      const asked = { ...filter, byLastTransaction: false, page: { ...page, limit } };
      return (await whole.contracts.nftItems(asked, context)).map(({ item }) => item);
    },
  });

  const names = { kind: recordKind, table: dnsRecords, states: states.records };
  const recordsOfWallet = createOwned<DnsRecord, Address>({
    ...names,
    way: 'wallet',
    keyOf: (wallet) => wallet,
    isOf: (row, wallet) => row.dnsWallet?.equals(wallet) === true,
    fetch: (wallet, limit, { whole, context }) =>
      whole.contracts.dnsRecords({ wallet, page: { ...page, limit } }, context),
  });
  const recordsOfName = createOwned<DnsRecord, string>({
    ...names,
    way: 'domain',
    keyOf: nameKey,
    isOf: (row, domain) => row.domain === domain,
    fetch: (domain, limit, { whole, context }) =>
      whole.contracts.dnsRecords({ domain, page: { ...page, limit } }, context),
  });

  /** With their collections, and who sells them. */
  async function listed(items: readonly NftItemRecord[], sides: Sides): Promise<ListedNftItem[]> {
    const [collections, { sales, auctions }] = await Promise.all([
      collectionsOf(items, sides),
      sellersAmong(
        items.flatMap(({ ownerAddress }) => ownerAddress ?? []),
        sides,
      ),
    ]);
    const at = <R>(rows: ReadonlyMap<string, R>, address: Address | null): R | undefined =>
      address === null ? undefined : rows.get(hashKey(address));
    return items.map((item) => ({
      item,
      collection: at(collections, item.collectionAddress) ?? null,
      sale: sellerOf(item, at(sales, item.ownerAddress), at(auctions, item.ownerAddress)),
    }));
  }

  async function collectionsOf(items: readonly NftItemRecord[], { view, whole, context }: Sides) {
    const { found, missing } = states.collections.find(
      items.flatMap(({ collectionAddress }) => collectionAddress ?? []),
      view,
    );
    if (missing.length === 0) return byAddress(found);
    const asked = { items: [], collections: missing, masters: [], wallets: [] };
    const { collections } = await whole.contracts.tokens(asked, context);
    states.collections.note(missing, collections, view);
    return byAddress([...found, ...collections]);
  }

  async function sellersAmong(owners: readonly Address[], { view, whole, context }: Sides) {
    const sales = states.sales.find(owners, view);
    const auctions = states.auctions.find(owners, view);
    const missing = distinct([...sales.missing, ...auctions.missing]);
    if (missing.length === 0) return { sales: byAddress(sales.found), auctions: byAddress(auctions.found) };
    const told = await whole.contracts.nftSales(missing, context);
    states.sales.note(missing, told.sales, view);
    states.auctions.note(missing, told.auctions, view);
    // What a step of the window has left is newer, or the same.
    return {
      sales: byAddress([...told.sales, ...sales.found]),
      auctions: byAddress([...told.auctions, ...auctions.found]),
    };
  }

  return {
    /** Null for what is not asked by a few owners, and for owners who have too much. */
    async wallets(filter: JettonWalletFilter, sides: Sides): Promise<JettonWalletRecord[] | null> {
      const { addresses, owners, jettons, excludeZeroBalance, byBalance, behind, at } = filter;
      if (owners.length === 0 || owners.length > MOST_OWNERS || addresses.length > 0 || at !== undefined) return null;
      if (behind !== undefined && !('id' in behind)) return null;
      const found = await ofAll(owners, walletsOf, sides);
      if (found === null) return null;
      const wanted = new Set(jettons.map(hashKey));
      const passing = found.filter(
        ({ id, jetton, balance }) =>
          (wanted.size === 0 || wanted.has(hashKey(jetton))) &&
          (!excludeZeroBalance || BigInt(balance) > 0n) &&
          (behind === undefined || compareDecimal(id, behind.id) > 0),
      );
      const sign = byBalance === 'desc' ? -1 : 1;
      const compare = (a: JettonWalletRecord, b: JettonWalletRecord): number =>
        (jettons.length === 1 ? 0 : a.owner.compare(b.owner)) ||
        (byBalance === undefined ? 0 : sign * compareNumbers(a.balance, b.balance)) ||
        compareDecimal(a.id, b.id) ||
        a.address.compare(b.address);
      return cut(passing.sort(compare), filter.page);
    },

    /** The same. */
    async items(filter: NftItemFilter, sides: Sides): Promise<ListedNftItem[] | null> {
      const { addresses, owners, collections, indexes, includeOnSale, byLastTransaction, behind, at } = filter;
      if (owners.length === 0 || owners.length > MOST_OWNERS || addresses.length > 0 || at !== undefined) return null;
      if (includeOnSale || behind !== undefined) return null;
      const found = await ofAll(owners, itemsOf, sides);
      if (found === null) return null;
      const wanted = new Set(collections.map(hashKey));
      const numbers = new Set(indexes);
      const passing = found.filter(
        ({ collectionAddress, nftIndex }) =>
          (wanted.size === 0 || (collectionAddress !== null && wanted.has(hashKey(collectionAddress)))) &&
          (numbers.size === 0 || (nftIndex !== null && numbers.has(nftIndex))),
      );
      const compare = (a: NftItemRecord, b: NftItemRecord): number =>
        (byLastTransaction
          ? compareDecimal(b.lastTransactionLt, a.lastTransactionLt)
          : (collections.length === 1 ? 0 : nullsLast(a.ownerAddress, b.ownerAddress, compareBytes)) ||
            nullsLast(a.collectionAddress, b.collectionAddress, compareBytes) ||
            nullsLast(a.nftIndex, b.nftIndex, compareNumbers)) || a.address.compare(b.address);
      return listed(cut(passing.sort(compare), filter.page), sides);
    },

    /** The same. */
    async names({ wallet, domain, page: wanted }: DnsFilter, sides: Sides): Promise<DnsRecord[] | null> {
      const found = await (wallet === undefined
        ? domain === undefined
          ? null
          : recordsOfName(domain, sides)
        : recordsOfWallet(wallet, sides));
      if (found === null) return null;
      const passing = found.filter((row) => domain === undefined || row.domain === domain);
      return cut(passing.sort(compareNames), wanted);
    },
  };
}

const byAddress = <R extends { address: Address }>(rows: readonly R[]): Map<string, R> =>
  new Map(rows.map((row) => [hashKey(row.address), row]));

const cut = <R>(rows: readonly R[], { offset, limit }: { offset: number; limit: number }): R[] =>
  rows.slice(offset, offset + limit);

const compareBytes = (a: Buffer, b: Buffer): number => a.compare(b);

function compareNumbers(a: Decimal, b: Decimal): number {
  const [x, y] = [BigInt(a), BigInt(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}

function nullsLast<T>(a: T | null, b: T | null, compare: (a: T, b: T) => number): number {
  if (a === null || b === null) return (a === null ? 1 : 0) - (b === null ? 1 : 0);
  return compare(a, b);
}

/** The shortest first: by code points, then by bytes. */
const compareNames = (a: DnsRecord, b: DnsRecord): number =>
  [...a.domain].length - [...b.domain].length ||
  Buffer.compare(Buffer.from(a.domain), Buffer.from(b.domain)) ||
  a.address.compare(b.address);
