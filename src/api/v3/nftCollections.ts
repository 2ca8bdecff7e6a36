import { z } from 'zod';
import { byId } from '../../../clickhouse/queries/keyset.ts';
import type { ApiLimits } from '../limits.ts';
import { nftCollections } from './contract-schemas.ts';
import { addresses, cursor, limit, offset } from './parameters.ts';
import { collectionJson } from './render/tokens.ts';
import { listing, nextCursor, type Route, route } from './route.ts';

export function nftCollectionsRoute(limits: ApiLimits): Route {
  return route({
    path: '/nft/collections',
    tag: 'nfts',
    summary: 'NFT collections in the order of their detection',
    parameters: z.object({
      collection_address: addresses('Collections to show.', limits.maxAddresses),
      owner_address: addresses('Owners.', limits.maxAddresses),
      limit: limit(limits),
      offset: offset(),
      cursor: cursor(),
    }),
    response: nftCollections,
    async answer(p, asked) {
      const { source, context, book } = asked;
      const page = { limit: p.limit, offset: p.offset };
      const behind = byId.read(p.cursor);
      const filter = { addresses: p.collection_address, owners: p.owner_address, behind, page };
      const rows = await source.contracts.nftCollections(filter, context);
      return listing(
        'nft_collections',
        rows.map((row) => collectionJson(row, book)),
        asked,
        nextCursor(p.cursor, byId.next(rows, p.limit)),
        rows.map(({ address }) => address),
      );
    },
  });
}
