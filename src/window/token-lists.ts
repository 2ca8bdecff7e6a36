/**
 * Lists of tokens and names from the window and what is remembered of the tables: of those with some addresses, of an
 * owner, and records of a name.
 */
import { sellerOf } from '../../clickhouse/queries/nfts.ts';
import { jettonWallets } from '../../clickhouse/tables/jettons.ts';
import { dnsRecords, nftItems } from '../../clickhouse/tables/nfts.ts';
import type {
  BehindBalance,
  BehindId,
  BehindIndex,
  DetectedRecord,
  DnsFilter,
  DnsRecord,
  JettonMasterFilter,
  JettonMasterRecord,
  JettonWalletFilter,
  JettonWalletRecord,
  ListedNftItem,
  NftCollectionFilter,
  NftCollectionRecord,
  NftItemFilter,
  NftItemRecord,
  Sellers,
} from '../chain/contract-records.ts';
import { compareDecimal } from '../chain/decimal.ts';
import { compareDomains } from '../chain/domain-order.ts';
import { distinct, hashKey } from '../chain/hash.ts';
import type { Address, Decimal } from '../chain/model.ts';
import { itemKind, nameKey, recordKind, walletKind } from './kinds.ts';
import { createOwned } from './owned.ts';
import type { Sides } from './sides.ts';
import { type createTokens, NO_TOKENS, type TokenStates } from './tokens.ts';

/** Each of them is looked for by itself: of more the tables are asked. */
const MOST_OWNERS = 10;

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

/** Each list is null where the tables are to be asked: for what is asked by neither addresses nor a few owners, say. */
export function createTokenLists(states: TokenStates, tokens: ReturnType<typeof createTokens>) {
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
    const collected = items.flatMap(({ collectionAddress }) => collectionAddress ?? []);
    const [told, sold] = await Promise.all([
      tokens({ ...NO_TOKENS, collections: collected }, sides),
      sellers(
        items.flatMap(({ ownerAddress }) => ownerAddress ?? []),
        sides,
      ),
    ]);
    const [sales, auctions] = [byAddress(sold.sales), byAddress(sold.auctions)];
    const collections = byAddress(told.collections);
    const at = <R>(rows: ReadonlyMap<string, R>, address: Address | null): R | undefined =>
      address === null ? undefined : rows.get(hashKey(address));
    return items.map((item) => ({
      item,
      collection: at(collections, item.collectionAddress) ?? null,
      sale: sellerOf(item, at(sales, item.ownerAddress), at(auctions, item.ownerAddress)),
    }));
  }

  async function sellers(addresses: readonly Address[], { view, whole, context }: Sides): Promise<Sellers> {
    const sales = states.sales.find(addresses, view);
    const auctions = states.auctions.find(addresses, view);
    const missing = distinct([...sales.missing, ...auctions.missing]);
    if (missing.length === 0) return { sales: sales.found, auctions: auctions.found };
    const told = await whole.contracts.sellers(missing, context);
    states.sales.note(missing, told.sales, view);
    states.auctions.note(missing, told.auctions, view);
    // What a step of the window has left is newer, or the same.
    return {
      sales: newestOf([...told.sales, ...sales.found]),
      auctions: newestOf([...told.auctions, ...auctions.found]),
    };
  }

  /** By addresses or else by owners; null where that is not how they are asked for. */
  async function walletsAmong({ addresses, owners }: JettonWalletFilter, sides: Sides) {
    if (addresses.length > 0) return (await tokens({ ...NO_TOKENS, wallets: addresses }, sides)).wallets;
    return owners.length === 0 || owners.length > MOST_OWNERS ? null : ofAll(owners, walletsOf, sides);
  }

  async function itemsAmong({ addresses, owners }: NftItemFilter, sides: Sides) {
    if (addresses.length > 0) return (await tokens({ ...NO_TOKENS, items: addresses }, sides)).items;
    return owners.length === 0 || owners.length > MOST_OWNERS ? null : ofAll(owners, itemsOf, sides);
  }

  async function recordsAmong({ wallet, domain }: DnsFilter, sides: Sides) {
    if (wallet !== undefined) return recordsOfWallet(wallet, sides);
    return domain === undefined ? null : recordsOfName(domain, sides);
  }

  return {
    /** The sales and auctions among addresses, in no order. */
    sellers,

    async masters(filter: JettonMasterFilter, sides: Sides): Promise<JettonMasterRecord[] | null> {
      const { addresses, admins, behind } = filter;
      if (addresses.length === 0) return null;
      const found = (await tokens({ ...NO_TOKENS, masters: addresses }, sides)).masters;
      const isWanted = among(admins);
      const passing = found.filter((row) => isWanted(row.adminAddress) && isBehind(row, behind));
      return cut(passing.sort(compareDetected), filter.page);
    },

    async collections(filter: NftCollectionFilter, sides: Sides): Promise<NftCollectionRecord[] | null> {
      const { addresses, owners, behind } = filter;
      if (addresses.length === 0) return null;
      const found = (await tokens({ ...NO_TOKENS, collections: addresses }, sides)).collections;
      const isWanted = among(owners);
      const passing = found.filter((row) => isWanted(row.ownerAddress) && isBehind(row, behind));
      return cut(passing.sort(compareDetected), filter.page);
    },

    async wallets(filter: JettonWalletFilter, sides: Sides): Promise<JettonWalletRecord[] | null> {
      const { owners, jettons, excludeZeroBalance, byBalance, behind, at } = filter;
      if (at !== undefined || (behind !== undefined && !('id' in behind))) return null;
      const found = await walletsAmong(filter, sides);
      if (found === null) return null;
      const [isOwned, isOfJetton] = [among(owners), among(jettons)];
      const passing = found.filter(
        (row) =>
          isOwned(row.owner) &&
          isOfJetton(row.jetton) &&
          (!excludeZeroBalance || BigInt(row.balance) > 0n) &&
          isBehind(row, behind),
      );
      const sign = byBalance === 'desc' ? -1 : 1;
      const byValue = (a: JettonWalletRecord, b: JettonWalletRecord): number =>
        (byBalance === undefined ? 0 : sign * compareNumbers(a.balance, b.balance)) || compareDetected(a, b);
      const compare = (a: JettonWalletRecord, b: JettonWalletRecord): number => {
        if (jettons.length === 1) return byValue(a, b);
        return owners.length > 0 ? a.owner.compare(b.owner) || byValue(a, b) : a.address.compare(b.address);
      };
      return cut(passing.sort(compare), filter.page);
    },

    async items(filter: NftItemFilter, sides: Sides): Promise<ListedNftItem[] | null> {
      const { owners, collections, indexes, includeOnSale, byLastTransaction, behind, at } = filter;
      if (at !== undefined || (behind !== undefined && !('id' in behind && owners.length === 0))) return null;
      if ((includeOnSale && owners.length > 0) || (indexes.length > 0 && collections.length === 0)) return null;
      const found = await itemsAmong(filter, sides);
      if (found === null) return null;
      const [isOwned, isOfCollection, numbers] = [among(owners), among(collections), new Set(indexes)];
      const passing = found.filter(
        (row) =>
          isOwned(row.ownerAddress) &&
          isOfCollection(row.collectionAddress) &&
          (numbers.size === 0 || (row.nftIndex !== null && numbers.has(row.nftIndex))) &&
          isBehind(row, behind),
      );
      const inCollection = (a: NftItemRecord, b: NftItemRecord): number =>
        nullsLast(a.collectionAddress, b.collectionAddress, compareBytes) ||
        nullsLast(a.nftIndex, b.nftIndex, compareNumbers) ||
        a.address.compare(b.address);
      const compare = (a: NftItemRecord, b: NftItemRecord): number => {
        if (byLastTransaction) {
          return compareDecimal(b.lastTransactionLt, a.lastTransactionLt) || a.address.compare(b.address);
        }
        if (collections.length === 1) return inCollection(a, b);
        if (owners.length === 0) return compareDetected(a, b);
        return nullsLast(a.ownerAddress, b.ownerAddress, compareBytes) || inCollection(a, b);
      };
      return listed(cut(passing.sort(compare), filter.page), sides);
    },

    async names(filter: DnsFilter, sides: Sides): Promise<DnsRecord[] | null> {
      const found = await recordsAmong(filter, sides);
      return found && cut(inOrder(found), filter.page);
    },
  };
}

const byAddress = <R extends { address: Address }>(rows: readonly R[]): Map<string, R> =>
  new Map(rows.map((row) => [hashKey(row.address), row]));

/** Of several rows of an address the last one. */
const newestOf = <R extends { address: Address }>(rows: readonly R[]): R[] => [...byAddress(rows).values()];

const cut = <R>(rows: readonly R[], { offset, limit }: { offset: number; limit: number }): R[] =>
  rows.slice(offset, offset + limit);

/** Whether it is one of these, of which none means any. */
function among(wanted: readonly Address[]): (address: Address | null) => boolean {
  const keys = new Set(wanted.map(hashKey));
  return (address) => keys.size === 0 || (address !== null && keys.has(hashKey(address)));
}

/** In the order of first detection. */
const isBehind = ({ id }: DetectedRecord, behind: BehindId | BehindBalance | BehindIndex | undefined): boolean =>
  behind === undefined || !('id' in behind) || compareDecimal(id, behind.id) > 0;

const compareDetected = (a: DetectedRecord, b: DetectedRecord): number =>
  compareDecimal(a.id, b.id) || a.address.compare(b.address);

const compareBytes = (a: Buffer, b: Buffer): number => a.compare(b);

function compareNumbers(a: Decimal, b: Decimal): number {
  const [x, y] = [BigInt(a), BigInt(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}

function nullsLast<T>(a: T | null, b: T | null, compare: (a: T, b: T) => number): number {
  if (a === null || b === null) return (a === null ? 1 : 0) - (b === null ? 1 : 0);
  return compare(a, b);
}

function inOrder(records: readonly DnsRecord[]): DnsRecord[] {
  return records.toSorted((a, b) => compareDomains(a.domain, b.domain) || a.address.compare(b.address));
}
