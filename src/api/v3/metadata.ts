import { z } from 'zod';
import { parseAddress } from '../../chain/address.ts';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { texts } from './parameters.ts';
import { metadataJson } from './render/metadata.ts';
import { type Route, route } from './route.ts';
import { metadata } from './schemas.ts';

export function metadataRoute(limits: ApiLimits): Route {
  return route({
    path: '/metadata',
    tag: 'accounts',
    summary: 'What tokens are: names, symbols, pictures, and whose wallet a jetton wallet is',
    parameters: z.object({ address: texts('Addresses in any spelling.', limits.maxAddresses) }),
    response: metadata,
    async answer(p, { source, context }) {
      if (p.address.length === 0) throw new ApiError(422, 'at least 1 address required');
      const accounts = p.address.map(parseAddress).filter((address) => address !== null);
      const records = accounts.length === 0 ? [] : await source.book(accounts, context);
      return metadataJson(records, source.contracts, context, { listed: accounts });
    },
  });
}
