import { z } from 'zod';
import type { ApiLimits } from '../limits.ts';
import { balances } from './account-schemas.ts';
import { limit, offset } from './parameters.ts';
import { balanceJson } from './render/account.ts';
import { type Route, route } from './route.ts';

export function topAccountsByBalanceRoute(limits: ApiLimits): Route {
  return route({
    path: '/topAccountsByBalance',
    tag: 'accounts',
    summary: 'Accounts by balance, the greatest first',
    parameters: z.object({ limit: limit(limits), offset: offset() }),
    response: balances,
    async answer(p, { source, context }) {
      const rows = await source.topBalances({ limit: p.limit, offset: p.offset }, context);
      return `[${rows.map(balanceJson).join(',')}]`;
    },
  });
}
