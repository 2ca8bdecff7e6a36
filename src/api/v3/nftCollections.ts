import { z } from 'zod';
import type { ApiLimits } from '../limits.ts';
import { nftCollections } from './contract-schemas.ts';
import { addresses, limit, offset } from './parameters.ts';
import { collectionJson } from './render/tokens.ts';
import { listing, type Route, route } from './route.ts';

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
    }),
    response: nftCollections,
    async answer(p, asked) {
      const { source, context, book } = asked;
      const page = { limit: p.limit, offset: p.offset };
      const filter = { addresses: p.collection_address, owners: p.owner_address, page };
      const rows = await source.contracts.nftCollections(filter, context);
      return listing(
        'nft_collections',
        rows.map((row) => collectionJson(row, book)),
        asked,
      );
    },
  });
}
