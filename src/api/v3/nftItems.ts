import { z } from 'zod';
import { byId, byIndex } from '../../../clickhouse/queries/keyset.ts';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { nftItems } from './contract-schemas.ts';
import { addresses, atStep, cursor, flag, indexes, limit, offset } from './parameters.ts';
import { createBook } from './render/book.ts';
import { itemJson, itemTokens } from './render/tokens.ts';
import { listing, nextCursor, type Route, route } from './route.ts';
import { requireMasterchainBlock } from './transactions.ts';

export function nftItemsRoute(limits: ApiLimits): Route {
  return route({
    path: '/nft/items',
    tag: 'nfts',
    summary: 'NFT items by owner, collection and index',
    parameters: z.object({
      address: addresses('Items to show.', limits.maxAddresses),
      owner_address: addresses('Owners.', limits.maxAddresses),
      collection_address: addresses('Collections; more than one with exactly one owner.', limits.maxAddresses),
      index: indexes('Indexes in the collection.', limits.maxAddresses),
      include_on_sale: flag('With an owner: items that are on sale for them, too.'),
      sort_by_last_transaction_lt: flag('The item whose last transaction is the newest first.'),
      limit: limit(limits),
      offset: offset(),
      cursor: cursor(),
      at_mc_seqno: atStep(),
    }),
    response: nftItems,
    async answer(p, asked, query) {
      const { source, context, book, testOnly } = asked;
      if (p.collection_address.length > 1 && p.owner_address.length !== 1) {
        throw new ApiError(422, 'exact one owner_address required for multiple collection_address');
      }
      if (query.has('index') && p.collection_address.length === 0) {
        throw new ApiError(422, 'index parameter is not allowed without the collection_address');
      }
      const isOrdered = p.address.length + p.owner_address.length === 0 && p.collection_address.length <= 1;
      if (p.cursor !== undefined && (!isOrdered || p.sort_by_last_transaction_lt)) {
        throw new ApiError(
          422,
          'cursor goes with one collection_address or with none, and with nothing that orders otherwise',
        );
      }
      if (p.at_mc_seqno !== undefined) await requireMasterchainBlock(p.at_mc_seqno, asked);
      const keyset = p.collection_address.length === 0 ? byId : byIndex;
      const filter = {
        addresses: p.address,
        owners: p.owner_address,
        collections: p.collection_address,
        indexes: p.index,
        includeOnSale: p.include_on_sale ?? false,
        byLastTransaction: p.sort_by_last_transaction_lt ?? false,
        behind: keyset.read(p.cursor),
        at: p.at_mc_seqno,
        page: { limit: p.limit, offset: p.offset },
      };
      const items = await source.contracts.nftItems(filter, context);
      const unlisted = createBook(testOnly);
      return listing(
        'nft_items',
        items.map((item) => itemJson(item, book, unlisted)),
        asked,
        nextCursor(
          p.cursor,
          keyset.next(
            items.map(({ item }) => item),
            p.limit,
          ),
        ),
        itemTokens(items),
      );
    },
  });
}
