import type {
  BehindIndex,
  FoundSales,
  ListedNftItem,
  NftAuctionRecord,
  NftCollectionFilter,
  NftCollectionRecord,
  NftItemFilter,
  NftItemRecord,
  NftSaleRecord,
  Sellers,
} from '../../src/chain/contract-records.ts';
import { distinct, hashKey } from '../../src/chain/hash.ts';
import type { Address } from '../../src/chain/model.ts';
import type { Page, QueryContext } from '../../src/chain/records.ts';
import { list, u32, u256 } from '../literal.ts';
import { nftCollectionStates, nftCollections, nftItemStates, nftItems } from '../tables/nfts.ts';
import { nftAuctionStates, nftAuctions, nftSaleStates, nftSales, telemintItems } from '../tables/sales.ts';
import type { Table } from '../tables/table.ts';
import { reached, statesAt, toldUpTo } from './at-step.ts';
import { all, behind as behindRow, limits } from './conditions.ts';
import { behindId, firstDetected } from './jettons.ts';
import { addresses } from './keys.ts';
import { newest, type Selection } from './newest.ts';
import type { NewestReading } from './reading.ts';

/** The zeros that stand for no address come first in the table's order, and last in the contract's. */
const NO_ADDRESS = "toFixedString('', 36)";

export function nftQueries(reading: NewestReading) {
  const at = (some: readonly Address[]) => [`address IN ${addresses(distinct([...some]))}`];

  /** Items with their collection and the contract that sells them, all as of a step where one is named. */
  async function listed(
    items: NftItemRecord[],
    context: QueryContext,
    step: number | undefined = undefined,
  ): Promise<ListedNftItem[]> {
    const of = (states: Table, conditions: string[]) => ({
      conditions,
      order: 'address',
      from: past(states, step, conditions),
    });
    const [collections, sales, auctions] = await Promise.all([
      byAddress(
        items.map((item) => item.collectionAddress),
        (conditions) => newest(reading, nftCollections, of(nftCollectionStates, conditions), context),
      ),
      byAddress(
        items.map((item) => item.ownerAddress),
        (conditions) => newest(reading, nftSales, of(nftSaleStates, conditions), context),
      ),
      byAddress(
        items.map((item) => item.ownerAddress),
        (conditions) => newest(reading, nftAuctions, of(nftAuctionStates, conditions), context),
      ),
    ]);
    return items.map((item) => ({
      item,
      collection: (item.collectionAddress && collections.get(hashKey(item.collectionAddress))) ?? null,
      sale: sellerOf(
        item,
        item.ownerAddress ? sales.get(hashKey(item.ownerAddress)) : undefined,
        item.ownerAddress ? auctions.get(hashKey(item.ownerAddress)) : undefined,
      ),
    }));
  }

  /** Rows by their address; nothing is asked for none. */
  async function byAddress<R extends { address: Address }>(
    some: readonly (Address | null)[],
    ask: (conditions: string[]) => Promise<R[]>,
  ): Promise<Map<string, R>> {
    const wanted = some.filter((one) => one !== null);
    const rows = wanted.length === 0 ? [] : await ask(at(wanted));
    return new Map(rows.map((row) => [hashKey(row.address), row]));
  }

  return {
    nftCollections(filter: NftCollectionFilter, context: QueryContext): Promise<NftCollectionRecord[]> {
      const conditions = filter.addresses.length > 0 ? at(filter.addresses) : [];
      let page: Page | null = filter.page;
      if (filter.owners.length > 0) {
        const owner = `owner_address IN ${addresses(filter.owners)}`;
        conditions.push(owner, `address IN (SELECT address FROM nft_collections_by_owner WHERE ${owner})`);
      }
      const beginning = behindId(filter.behind);
      if (conditions.length === 0) {
        conditions.push(`address IN (${firstDetected('nft_collections_by_id', beginning, filter.page)})`);
        page = null;
      } else conditions.push(...beginning);
      return newest(reading, nftCollections, { conditions, order: 'id, address', page }, context);
    },

    async nftItems(filter: NftItemFilter, context: QueryContext): Promise<ListedNftItem[]> {
      const { at: step } = filter;
      if (step !== undefined) await reached(reading, step, context);
      return listed(await newest(reading, nftItems, itemSelection(filter), context), context, step);
    },

    async sellers(some: readonly Address[], context: QueryContext): Promise<Sellers> {
      if (some.length === 0) return { sales: [], auctions: [] };
      const selection = { conditions: at(some), order: 'address' };
      const [sales, auctions] = await Promise.all([
        newest(reading, nftSales, selection, context),
        newest(reading, nftAuctions, selection, context),
      ]);
      return { sales, auctions };
    },

    async nftSales(some: Address[], context: QueryContext): Promise<FoundSales> {
      const conditions = at(some);
      const order = 'id, address';
      const [sales, auctions, telemint] = await Promise.all([
        newest(reading, nftSales, { conditions, order }, context),
        newest(reading, nftAuctions, { conditions, order }, context),
        newest(reading, telemintItems, { conditions, order }, context),
      ]);
      const sold = [...sales, ...auctions].map((one) => one.nftAddress);
      const wanted = [...sold, ...telemint.map(({ address }) => address)];
      const items =
        wanted.length === 0
          ? []
          : await listed(
              await newest(reading, nftItems, { conditions: at(wanted), order: 'address' }, context),
              context,
            );
      return { sales, auctions, telemint, items: new Map(items.map((one) => [hashKey(one.item.address), one])) };
    },
  };
}

/** @param sale and `auction`: what its owner is, where that sells something */
export function sellerOf(
  { address }: NftItemRecord,
  sale: NftSaleRecord | undefined,
  auction: NftAuctionRecord | undefined,
): ListedNftItem['sale'] {
  if (sale?.nftAddress.equals(address)) return { kind: 'sale', address: sale.address, seller: sale.nftOwner };
  if (!auction?.nftAddress.equals(address)) return null;
  return { kind: 'auction', address: auction.address, seller: auction.nftOwner };
}

/** What stands for the table of newest states as of a step; nothing where none is named. */
function past(states: Table, step: number | undefined, keys: readonly string[]): string | undefined {
  return step === undefined ? undefined : statesAt(states, step, keys);
}

/** Spec v3 endpoints 6.2. */
function itemSelection(filter: NftItemFilter): Selection {
  const { addresses: some, owners, collections, indexes, byLastTransaction, behind, at } = filter;
  const beginning = behind && 'id' in behind ? behindId(behind) : [];
  // What holds of an item at every step: its collection confirms it by its index.
  const keys: string[] = [];
  const conditions: string[] = [];
  let page: Page | null = filter.page;
  if (some.length > 0) keys.push(`address IN ${addresses(some)}`);
  if (owners.length > 0) {
    const owned = ownedBy(owners, filter);
    keys.push(owned.key);
    conditions.push(owned.condition);
  }
  if (collections.length > 0) {
    const collection = `collection_address IN ${addresses(collections)}`;
    const place = behind && 'nftIndex' in behind ? ` AND ${behindIndex(behind)}` : '';
    const index = (indexes.length === 0 ? '' : ` AND nft_index IN ${list(indexes.map(u256))}`) + place;
    conditions.push(collection + index);
    if (some.length === 0 && owners.length === 0) {
      const isOne = collections.length === 1 && at === undefined && beginning.length === 0;
      const isInOrder = isOne && !byLastTransaction;
      if (isOne && byLastTransaction && index === '')
        keys.push(`address IN (${newestOfCollection(filter.page, collection)})`);
      else keys.push(`address IN (${collected(collection + index, isInOrder ? filter.page : null)})`);
      if (isInOrder) page = null;
    }
  }
  if (keys.length === 0) {
    const told = at === undefined ? [] : [toldUpTo(at)];
    const states = at === undefined ? 'nft_items_by_lt' : `nft_item_states WHERE mc_seqno <= ${u32(at)}`;
    const first = byLastTransaction
      ? newestItems(filter.page, states)
      : firstDetected('nft_items_by_id', [...beginning, ...told], filter.page);
    keys.push(`address IN (${first})`);
    page = byLastTransaction ? filter.page : null;
  } else conditions.push(...beginning);
  const order = itemOrder(filter);
  if (at !== undefined) return { from: statesAt(nftItemStates, at, keys), conditions, order, page };
  return { conditions: [...keys, ...conditions], order, page };
}

/** A range of the key of the items of a collection. */
function behindIndex({ nftIndex, address }: BehindIndex): string {
  const order = [
    { column: 'nftIndex', sort: 'asc' },
    { column: 'address', sort: 'asc' },
  ] as const;
  return behindRow(nftItems, order, [nftIndex, address]);
}

/** Where the page is in the order of the keys it is cut from them: an item keeps its collection and index. */
function collected(range: string, page: Page | null): string {
  const order = 'ORDER BY collection_address, nft_index, address LIMIT 1 BY nft_index, address';
  const cut = page === null ? '' : ` ${order} ${limits(page)}`;
  return `SELECT address FROM nft_items_by_collection WHERE ${range}${cut}`;
}

/** Read backwards by the whole key: by the lt alone all that the collection has would be sorted. */
function newestOfCollection(page: Page, collection: string): string {
  const key = 'collection_address DESC, last_transaction_lt DESC';
  return newestItems(page, `nft_items_by_collection_lt WHERE ${collection}`, key);
}

/**
 * Entries of older states of the same items stand between those of the newest: as many items as the page ends with are
 * taken, and the page is cut from them once more by their rows. Accounts of different shards may have the same lt.
 */
function newestItems({ offset, limit }: Page, from: string, key = 'last_transaction_lt DESC'): string {
  return `SELECT address FROM ${from} ORDER BY ${key}, address LIMIT 1 BY address LIMIT ${offset + limit}`;
}

/**
 * Items whose owner is one of these; on sale too, their owner or the seller that their owner sells them for.
 * @returns `key`: all that may be so at some step
 */
function ownedBy(
  owners: readonly Address[],
  { includeOnSale, at }: Pick<NftItemFilter, 'includeOnSale' | 'at'>,
): { key: string; condition: string } {
  const some = addresses(owners);
  const owner = `owner_address IN ${some}`;
  // Entries of a table of newest states may lack owners of between: several steps come at once.
  const byOwner = at === undefined ? 'nft_items_by_owner' : 'nft_item_states_by_owner';
  const direct = `SELECT address FROM ${byOwner} WHERE ${owner}`;
  if (!includeOnSale) return { key: `address IN (${direct})`, condition: owner };
  const sellers = SELLERS.map(({ newest: table, states }) => {
    const keys = [
      `address IN (SELECT address FROM ${at === undefined ? table : states.name}_by_owner WHERE nft_owner IN ${some})`,
    ];
    return selling({ table, states, at, keys, condition: `nft_owner IN ${some}` });
  }).join(' UNION ALL ');
  const contracts = SELLERS.map(({ newest: table, states }) =>
    selling({ table, states, at, keys: [`address IN ${some}`], condition: '1' }),
  ).join(' UNION ALL ');
  const sold = `SELECT address FROM ${byOwner} WHERE owner_address IN (SELECT address FROM (${sellers}))`;
  return {
    key: `address IN (${direct} UNION ALL ${sold})`,
    condition: `((${owner} AND (owner_address, address) NOT IN (${contracts})) OR (owner_address, address) IN (${sellers}))`,
  };
}

const SELLERS = [
  { newest: nftSales.name, states: nftSaleStates },
  { newest: nftAuctions.name, states: nftAuctionStates },
] as const;

/** Contracts that sell, each with what it sells. */
function selling({ table, states, at, keys, condition }: Selling): string {
  const conditions = all([...(at === undefined ? keys : []), condition]);
  return `SELECT address, nft_address FROM ${past(states, at, keys) ?? `${table} FINAL`} WHERE ${conditions}`;
}

interface Selling {
  table: string;
  states: Table;
  at: number | undefined;
  keys: readonly string[];
  condition: string;
}

function itemOrder({ owners, collections, byLastTransaction }: NftItemFilter): string {
  if (byLastTransaction) return 'last_transaction_lt DESC, address';
  if (collections.length === 1) return 'collection_address, nft_index, address';
  if (owners.length > 0) {
    // Whoever it is on the chain: of an item on sale the contract that sells it.
    return `owner_address, collection_address = ${NO_ADDRESS}, collection_address, nft_index, address`;
  }
  return 'id, address';
}
