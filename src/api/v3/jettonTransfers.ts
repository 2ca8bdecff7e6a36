import { z } from 'zod';
import type { ApiLimits } from '../limits.ts';
import { jettonTransfers } from './contract-schemas.ts';
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
import { jettonTransferJson } from './render/tokens.ts';
import { listing, type Route, route } from './route.ts';

export function jettonTransfersRoute(limits: ApiLimits): Route {
  return route({
    path: '/jetton/transfers',
    tag: 'jettons',
    summary: 'Transfers of jettons that were not aborted',
    parameters: z.object({
      owner_address: addresses('Owners that sent or received.', limits.maxAddresses),
      address: lenientAddress('Former name of `owner_address`.'),
      jetton_wallet: addresses('Wallets that sent.', limits.maxAddresses),
      jetton_master: address('The jetton.'),
      direction: transferDirection('With an owner: `in` what they received, `out` what they sent.'),
      start_utime: utime('At this time or later.'),
      end_utime: utime('At this time or earlier.'),
      start_lt: uint64('With this lt or more.'),
      end_lt: uint64('With this lt or less.'),
      limit: limit(limits),
      offset: offset(),
      sort: sort(),
    }),
    response: jettonTransfers,
    async answer(p, asked) {
      const { source, context, book } = asked;
      const filter = {
        owners: p.owner_address.length > 0 || p.address === undefined ? p.owner_address : [p.address],
        direction: p.direction,
        contracts: p.jetton_wallet,
        token: p.jetton_master,
        utime: { start: p.start_utime, end: p.end_utime },
        ltWindow: { start: p.start_lt, end: p.end_lt },
        sort: p.sort,
        page: { limit: p.limit, offset: p.offset },
      };
      const events = await source.contracts.jettonTransfers(filter, context);
      return listing(
        'jetton_transfers',
        events.map((event) => jettonTransferJson(event, book)),
        asked,
      );
    },
  });
}
