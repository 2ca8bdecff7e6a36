import { z } from 'zod';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { multisigWallets } from './contract-schemas.ts';
import { addresses, flag, limit, offset, sort } from './parameters.ts';
import { multisigJson } from './render/services.ts';
import { listing, type Route, route } from './route.ts';

export function multisigWalletsRoute(limits: ApiLimits): Route {
  return route({
    path: '/multisig/wallets',
    tag: 'multisig',
    summary: 'Wallets of several signers with their orders',
    parameters: z.object({
      address: addresses('Multisigs to show.', limits.maxAddresses),
      wallet_address: addresses('Signers or proposers.', limits.maxAddresses),
      include_orders: flag('Whether to add the orders; true when absent.'),
      limit: limit(limits),
      offset: offset(),
      sort: sort(),
    }),
    response: multisigWallets,
    async answer(p, asked) {
      const { source, context, book } = asked;
      if (p.address.length === 0 && p.wallet_address.length === 0) {
        throw new ApiError(422, 'At least one of address or wallet_address should be specified');
      }
      const page = { limit: p.limit, offset: p.offset };
      const rows = await source.contracts.multisigWallets(
        { addresses: p.address, members: p.wallet_address, sort: p.sort, page },
        context,
      );
      const orders =
        rows.length === 0 || p.include_orders === false
          ? []
          : await source.contracts.multisigOrders(
              { addresses: [], multisigs: rows.map((row) => row.address), sort: 'asc', page: null },
              context,
            );
      return listing(
        'multisigs',
        rows.map((row) => multisigJson(row, orders, book)),
        { ...asked, metadata: null },
      );
    },
  });
}
