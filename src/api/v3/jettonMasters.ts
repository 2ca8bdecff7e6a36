import { z } from 'zod';
import { byId } from '../../../clickhouse/queries/keyset.ts';
import type { ApiLimits } from '../limits.ts';
import { jettonMasters } from './contract-schemas.ts';
import { addresses, cursor, limit, offset } from './parameters.ts';
import { masterJson } from './render/tokens.ts';
import { listing, nextCursor, type Route, route } from './route.ts';

export function jettonMastersRoute(limits: ApiLimits): Route {
  return route({
    path: '/jetton/masters',
    tag: 'jettons',
    summary: 'Jetton masters in the order of their detection',
    parameters: z.object({
      address: addresses('Masters to show.', limits.maxAddresses),
      admin_address: addresses('Those that one of these administers.', limits.maxAddresses),
      limit: limit(limits),
      offset: offset(),
      cursor: cursor(),
    }),
    response: jettonMasters,
    async answer(p, asked) {
      const { source, context, book } = asked;
      const page = { limit: p.limit, offset: p.offset };
      const behind = byId.read(p.cursor);
      const rows = await source.contracts.jettonMasters(
        { addresses: p.address, admins: p.admin_address, behind, page },
        context,
      );
      return listing(
        'jetton_masters',
        rows.map((row) => masterJson(row, book)),
        asked,
        nextCursor(p.cursor, byId.next(rows, p.limit)),
        rows.map(({ address }) => address),
      );
    },
  });
}
