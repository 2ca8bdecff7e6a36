import { z } from 'zod';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { multisigOrders } from './contract-schemas.ts';
import { addresses, flag, limit, offset, sort } from './parameters.ts';
import { roomForActions } from './render/order-actions.ts';
import { orderJson } from './render/services.ts';
import { listing, type Route, route } from './route.ts';

export function multisigOrdersRoute(limits: ApiLimits): Route {
  return route({
    path: '/multisig/orders',
    tag: 'multisig',
    summary: 'Orders of wallets of several signers',
    parameters: z.object({
      address: addresses('Orders to show.', limits.maxAddresses),
      multisig_address: addresses('Those of one of these.', limits.maxAddresses),
      parse_actions: flag('Whether to tell what the orders do.'),
      limit: limit(limits),
      offset: offset(),
      sort: sort(),
    }),
    response: multisigOrders,
    async answer(p, asked) {
      const { source, context, book } = asked;
      if (p.address.length === 0 && p.multisig_address.length === 0) {
        throw new ApiError(422, 'At least one of address or multisig_address should be specified');
      }
      const page = { limit: p.limit, offset: p.offset };
      const rows = await source.contracts.multisigOrders(
        { addresses: p.address, multisigs: p.multisig_address, sort: p.sort, page },
        context,
      );
      const room = p.parse_actions ? roomForActions() : null;
      return listing(
        'orders',
        rows.map((row) => orderJson(row, room, book)),
        { ...asked, metadata: null },
      );
    },
  });
}
