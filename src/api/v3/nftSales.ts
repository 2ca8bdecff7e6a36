import { z } from 'zod';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { nftSales } from './contract-schemas.ts';
import { addresses } from './parameters.ts';
import { createBook } from './render/book.ts';
import { itemTokens, saleRows } from './render/tokens.ts';
import { listing, type Route, route } from './route.ts';

export function nftSalesRoute(limits: ApiLimits): Route {
  return route({
    path: '/nft/sales',
    tag: 'nfts',
    summary: 'Contracts that sell NFT items: fix-price sales, auctions, names of Telegram',
    parameters: z.object({ address: addresses('Contracts to show.', limits.maxAccountStates, true) }),
    response: nftSales,
    async answer(p, asked) {
      const { source, context, book, testOnly } = asked;
      if (p.address.length === 0) throw new ApiError(422, 'at least 1 address required');
      const found = await source.contracts.nftSales(p.address, context);
      const tokens = itemTokens([...found.items.values()]);
      return listing('nft_sales', saleRows(found, book, createBook(testOnly)), asked, '', tokens);
    },
  });
}
