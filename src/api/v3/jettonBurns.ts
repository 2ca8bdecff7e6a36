import { z } from 'zod';
import type { ApiLimits } from '../limits.ts';
import { jettonBurns } from './contract-schemas.ts';
import { address, addresses, lenientAddress, limit, offset, sort, uint64, utime } from './parameters.ts';
import { jettonBurnJson } from './render/tokens.ts';
import { listing, type Route, route } from './route.ts';

export function jettonBurnsRoute(limits: ApiLimits): Route {
  return route({
    path: '/jetton/burns',
    tag: 'jettons',
    summary: 'Burns of jettons, aborted ones included',
    parameters: z.object({
      owner_address: addresses('Owners that burned.', limits.maxAddresses),
      address: lenientAddress('Former name of `owner_address`.'),
      jetton_wallet: addresses('Wallets.', limits.maxAddresses),
      jetton_master: address('The jetton.'),

      start_utime: utime('At this time or later.'),
      end_utime: utime('At this time or earlier.'),
      start_lt: uint64('With this lt or more.'),
      end_lt: uint64('With this lt or less.'),
      limit: limit(limits),
      offset: offset(),
      sort: sort(),
    }),
    response: jettonBurns,
    async answer(p, asked) {
      const { source, context, book } = asked;
      const filter = {
        owners: p.owner_address.length > 0 || p.address === undefined ? p.owner_address : [p.address],

        contracts: p.jetton_wallet,
        token: p.jetton_master,
        utime: { start: p.start_utime, end: p.end_utime },
        ltWindow: { start: p.start_lt, end: p.end_lt },
        sort: p.sort,
        page: { limit: p.limit, offset: p.offset },
      };
      const events = await source.contracts.jettonBurns(filter, context);
      return listing(
        'jetton_burns',
        events.map((event) => jettonBurnJson(event, book)),
        asked,
      );
    },
  });
}
