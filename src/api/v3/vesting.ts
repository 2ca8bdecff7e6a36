import { z } from 'zod';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { vestingContracts } from './contract-schemas.ts';
import { addresses, flag, limit, offset } from './parameters.ts';
import { vestingJson } from './render/services.ts';
import { listing, type Route, route } from './route.ts';

export function vestingRoute(limits: ApiLimits): Route {
  return route({
    path: '/vesting',
    tag: 'vesting',
    summary: 'Vesting contracts by address or by who has to do with them',
    parameters: z.object({
      contract_address: addresses('Contracts to show.', limits.maxAddresses),
      wallet_address: addresses('Owners or senders.', limits.maxAddresses),
      check_whitelist: flag('Look for the wallets in the whitelists, too.'),
      limit: limit(limits),
      offset: offset(),
    }),
    response: vestingContracts,
    async answer(p, asked) {
      const { source, context, book } = asked;
      if (p.contract_address.length === 0 && p.wallet_address.length === 0) {
        throw new ApiError(422, 'at least one of contract_address or wallet_address is required');
      }
      if (p.contract_address.length > 0 && p.wallet_address.length > 0) {
        throw new ApiError(422, 'only one of contract_address or wallet_address should be specified');
      }
      const filter = {
        addresses: p.contract_address,
        members: p.wallet_address,
        checkWhitelist: p.check_whitelist ?? false,
        page: { limit: p.limit, offset: p.offset },
      };
      const rows = await source.contracts.vestingContracts(filter, context);
      return listing(
        'vesting_contracts',
        rows.map((row) => vestingJson(row, book)),
        { ...asked, metadata: null },
      );
    },
  });
}
