import { z } from 'zod';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { dnsRecords } from './contract-schemas.ts';
import { address, limit, offset, text } from './parameters.ts';
import { dnsRecordJson } from './render/services.ts';
import { listing, type Route, route } from './route.ts';

export function dnsRecordsRoute(limits: ApiLimits): Route {
  return route({
    path: '/dns/records',
    tag: 'dns',
    summary: 'Names and where they lead to',
    parameters: z.object({
      wallet: address('Names that lead to this account.'),
      domain: text('The whole name.'),
      limit: limit(limits),
      offset: offset(),
    }),
    response: dnsRecords,
    async answer(p, asked) {
      const { source, context, book } = asked;
      if (p.wallet === undefined && !p.domain) {
        throw new ApiError(422, 'either wallet address or domain is required');
      }
      if (p.wallet !== undefined && p.domain) {
        throw new ApiError(422, 'provide either wallet address or domain, not both');
      }
      const filter = { wallet: p.wallet, domain: p.domain || undefined, page: { limit: p.limit, offset: p.offset } };
      const rows = await source.contracts.dnsRecords(filter, context);
      return listing(
        'records',
        rows.map((row) => dnsRecordJson(row, book)),
        { ...asked, metadata: null },
      );
    },
  });
}
