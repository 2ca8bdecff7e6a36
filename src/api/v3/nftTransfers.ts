import { z } from 'zod';
import type { ApiLimits } from '../limits.ts';
import { nftTransfers } from './contract-schemas.ts';
import { eventFilter, eventParameters, nextEvents, tokensOf } from './event-parameters.ts';
import { address, addresses, transferDirection } from './parameters.ts';
import { listing, type Route, route } from './route.ts';

export function nftTransfersRoute(limits: ApiLimits): Route {
  return route({
    path: '/nft/transfers',
    tag: 'nfts',
    summary: 'Transfers of NFT items, aborted ones included',
    parameters: z.object({
      ...eventParameters(limits, 'Owners before or after.'),
      item_address: addresses('Items.', limits.maxAddresses),
      collection_address: address('The collection.'),
      direction: transferDirection('With an owner: `in` what they received, `out` what they sent.'),
    }),
    response: nftTransfers,
    async answer(p, asked) {
      const { source, context, book, eventRows } = asked;
      const filter = eventFilter(p, { contracts: p.item_address, token: p.collection_address, direction: p.direction });
      const events = await source.contracts.nftTransfers(filter, context);
      return listing(
        'nft_transfers',
        events.map((event) => eventRows.row('nft_transfers', event, book)),
        asked,
        nextEvents(p, events),
        tokensOf(events),
      );
    },
  });
}
