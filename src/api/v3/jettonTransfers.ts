import { z } from 'zod';
import type { ApiLimits } from '../limits.ts';
import { jettonTransfers } from './contract-schemas.ts';
import { eventFilter, eventParameters, nextEvents, tokensOf } from './event-parameters.ts';
import { address, addresses, transferDirection } from './parameters.ts';
import { listing, type Route, route } from './route.ts';

export function jettonTransfersRoute(limits: ApiLimits): Route {
  return route({
    path: '/jetton/transfers',
    tag: 'jettons',
    summary: 'Transfers of jettons that were not aborted',
    parameters: z.object({
      ...eventParameters(limits, 'Owners that sent or received.'),
      jetton_wallet: addresses('Wallets that sent.', limits.maxAddresses),
      jetton_master: address('The jetton.'),
      direction: transferDirection('With an owner: `in` what they received, `out` what they sent.'),
    }),
    response: jettonTransfers,
    async answer(p, asked) {
      const { source, context, book, eventRows } = asked;
      const filter = eventFilter(p, { contracts: p.jetton_wallet, token: p.jetton_master, direction: p.direction });
      const events = await source.contracts.jettonTransfers(filter, context);
      return listing(
        'jetton_transfers',
        events.map((event) => eventRows.row('jetton_transfers', event, book)),
        asked,
        nextEvents(p, events),
        tokensOf(events),
      );
    },
  });
}
