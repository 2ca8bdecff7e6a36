import { z } from 'zod';
import type { ApiLimits } from '../limits.ts';
import { nftTransfers } from './contract-schemas.ts';
import {
  address,
  addresses,
  lenientAddress,
  limit,
  offset,
  sort,
  transferDirection,
  uint64,
  utime,
} from './parameters.ts';
import { nftTransferJson } from './render/tokens.ts';
import { listing, type Route, route } from './route.ts';

export function nftTransfersRoute(limits: ApiLimits): Route {
  return route({
    path: '/nft/transfers',
    tag: 'nfts',
    summary: 'Transfers of NFT items, aborted ones included',
    parameters: z.object({
      owner_address: addresses('Owners before or after.', limits.maxAddresses),
      address: lenientAddress('Former name of `owner_address`.'),
      item_address: addresses('Items.', limits.maxAddresses),
      collection_address: address('The collection.'),
      direction: transferDirection('With an owner: `in` what they received, `out` what they sent.'),
      start_utime: utime('At this time or later.'),
      end_utime: utime('At this time or earlier.'),
      start_lt: uint64('With this lt or more.'),
      end_lt: uint64('With this lt or less.'),
      limit: limit(limits),
      offset: offset(),
      sort: sort(),
    }),
    response: nftTransfers,
    async answer(p, asked) {
      const { source, context, book } = asked;
      const filter = {
        owners: p.owner_address.length > 0 || p.address === undefined ? p.owner_address : [p.address],
        direction: p.direction,
        contracts: p.item_address,
        token: p.collection_address,
        utime: { start: p.start_utime, end: p.end_utime },
        ltWindow: { start: p.start_lt, end: p.end_lt },
        sort: p.sort,
        page: { limit: p.limit, offset: p.offset },
      };
      const events = await source.contracts.nftTransfers(filter, context);
      return listing(
        'nft_transfers',
        events.map((event) => nftTransferJson(event, book)),
        asked,
      );
    },
  });
}
