import type {
  BehindId,
  FoundSales,
  ListedNftItem,
  NftAuctionRecord,
  NftCollectionRecord,
  NftItemFilter,
  NftItemRecord,
  NftSaleRecord,
} from '../../src/chain/contract-records.ts';
import { hashKey } from '../../src/chain/hash.ts';
import type { Address } from '../../src/chain/model.ts';
import type { Page, QueryContext } from '../../src/chain/records.ts';
import { list, u256 } from '../literal.ts';
import { nftCollections, nftItems } from '../tables/nfts.ts';
import { nftAuctions, nftSales, telemintItems } from '../tables/sales.ts';
import { behindId, firstDetected } from './jettons.ts';
import { addresses, distinct } from './keys.ts';
import { newest } from './newest.ts';
import type { NewestReading } from './reading.ts';

/** The zeros that stand for no address come first in the table's order, and last in the contract's. */
const NO_ADDRESS = "toFixedString('', 36)";

export function nftQueries(reading: NewestReading) {
  const at = (some: readonly Address[]) => [`address IN ${addresses(distinct([...some]))}`];

  /** Items with their collection and the contract that sells them. */
  async function listed(items: NftItemRecord[], context: QueryContext): Promise<ListedNftItem[]> {
    const [collections, sales, auctions] = await Promise.all([
      byAddress(
        items.map((item) => item.collectionAddress),
        (conditions) => newest(reading, nftCollections, { conditions, order: 'address' }, context),
      ),
      byAddress(
        items.map((item) => item.ownerAddress),
        (conditions) => newest(reading, nftSales, { conditions, order: 'address' }, context),
      ),
      byAddress(
        items.map((item) => item.ownerAddress),
        (conditions) => newest(reading, nftAuctions, { conditions, order: 'address' }, context),
      ),
    ]);
    const saleOf = (item: NftItemRecord): ListedNftItem['sale'] => {
      const owner = item.ownerAddress && hashKey(item.ownerAddress);
      const sells = (one: NftSaleRecord | NftAuctionRecord | undefined): one is NftSaleRecord | NftAuctionRecord =>
        one?.nftAddress.equals(item.address) ?? false;
      if (owner === null) return null;
      const [sale, auction] = [sales.get(owner), auctions.get(owner)];
      if (sells(sale)) return { kind: 'sale', address: sale.address, seller: sale.nftOwner };
      return sells(auction) ? { kind: 'auction', address: auction.address, seller: auction.nftOwner } : null;
    };
    return items.map((item) => ({
      item,
      collection: (item.collectionAddress && collections.get(hashKey(item.collectionAddress))) ?? null,
      sale: saleOf(item),
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
    nftCollections(
      filter: { addresses: Address[]; owners: Address[]; behind?: BehindId | undefined; page: Page },
      context: QueryContext,
    ): Promise<NftCollectionRecord[]> {
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
      const selection = itemSelection(filter);
      return listed(await newest(reading, nftItems, selection, context), context);
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

/** Spec v3 endpoints 6.2. */
function itemSelection(filter: NftItemFilter): { conditions: string[]; order: string; page: Page | null } {
  const { addresses: some, owners, collections, indexes, byLastTransaction, behind } = filter;
  const beginning = behind && 'id' in behind ? behindId(behind) : [];
  const conditions: string[] = [];
  let page: Page | null = filter.page;
  if (some.length > 0) conditions.push(`address IN ${addresses(some)}`);
  if (owners.length > 0) conditions.push(...owned(owners, filter.includeOnSale));
  if (collections.length > 0) {
    const collection = `collection_address IN ${addresses(collections)}`;
    const place = behind && 'nftIndex' in behind ? ` AND nft_index > ${u256(behind.nftIndex)}` : '';
    const index = (indexes.length === 0 ? '' : ` AND nft_index IN ${list(indexes.map(u256))}`) + place;
    conditions.push(collection + index);
    if (some.length === 0 && owners.length === 0) {
      conditions.push(`address IN (SELECT address FROM nft_items_by_collection WHERE ${collection}${index})`);
    }
  }
  if (conditions.length === 0) {
    conditions.push(
      `address IN (${byLastTransaction ? newestItems(filter.page) : firstDetected('nft_items_by_id', beginning, filter.page)})`,
    );
    page = byLastTransaction ? filter.page : null;
  } else conditions.push(...beginning);
  return { conditions, order: itemOrder(filter), page };
}

/**
 * Entries of older states of the same items stand between those of the newest: as many items as the page ends with are
 * taken, and the page is cut from them once more by their rows.
 */
function newestItems({ offset, limit }: Page): string {
  return `SELECT address FROM nft_items_by_lt ORDER BY last_transaction_lt DESC LIMIT 1 BY address LIMIT ${offset + limit}`;
}

/** Items whose owner is one of these; with `onSale` their owner or the seller that their owner sells them for. */
function owned(owners: readonly Address[], onSale: boolean): string[] {
  const some = addresses(owners);
  const owner = `owner_address IN ${some}`;
  const direct = `SELECT address FROM nft_items_by_owner WHERE ${owner}`;
  if (!onSale) return [owner, `address IN (${direct})`];
  const selling = (table: string, condition: string) =>
    `SELECT address, nft_address FROM ${table} FINAL WHERE ${condition}`;
  const both = (condition: (table: string) => string) =>
    `${selling('nft_sales', condition('nft_sales'))} UNION ALL ${selling('nft_auctions', condition('nft_auctions'))}`;
  const sellers = both(
    (table) => `nft_owner IN ${some} AND address IN (SELECT address FROM ${table}_by_owner WHERE nft_owner IN ${some})`,
  );
  const contracts = both(() => `address IN ${some}`);
  const sold = `SELECT address FROM nft_items_by_owner WHERE owner_address IN (SELECT address FROM (${sellers}))`;
  return [
    `address IN (${direct} UNION ALL ${sold})`,
    `((${owner} AND (owner_address, address) NOT IN (${contracts})) OR (owner_address, address) IN (${sellers}))`,
  ];
}

function itemOrder({ owners, collections, byLastTransaction, includeOnSale }: NftItemFilter): string {
  if (byLastTransaction) return 'last_transaction_lt DESC, address';
  if (collections.length === 1) return 'collection_address, nft_index, address';
  if (owners.length > 0) {
    // Who owns an item that is on sale is its contract: those of one seller stand together.
    const owner = includeOnSale ? '' : 'owner_address, ';
    return `${owner}collection_address = ${NO_ADDRESS}, collection_address, nft_index, address`;
  }
  return 'id, address';
}
