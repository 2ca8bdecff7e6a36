import { z } from 'zod';
import type { ApiLimits } from '../limits.ts';
import { jettonBurns } from './contract-schemas.ts';
import { eventFilter, eventParameters, nextEvents, tokensOf } from './event-parameters.ts';
import { address, addresses } from './parameters.ts';
import { listing, type Route, route } from './route.ts';

export function jettonBurnsRoute(limits: ApiLimits): Route {
  return route({
    path: '/jetton/burns',
    tag: 'jettons',
    summary: 'Burns of jettons, aborted ones included',
    parameters: z.object({
      ...eventParameters(limits, 'Owners that burned.'),
      jetton_wallet: addresses('Wallets.', limits.maxAddresses),
      jetton_master: address('The jetton.'),
    }),
    response: jettonBurns,
    async answer(p, asked) {
      const { source, context, book, eventRows } = asked;
      const filter = eventFilter(p, { contracts: p.jetton_wallet, token: p.jetton_master });
      const events = await source.contracts.jettonBurns(filter, context);
      return listing(
        'jetton_burns',
        events.map((event) => eventRows.row('jetton_burns', event, book)),
        asked,
        nextEvents(p, events),
        tokensOf(events),
      );
    },
  });
}
