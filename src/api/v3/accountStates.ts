import { z } from 'zod';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { addresses, flag, hashes } from './parameters.ts';
import { accountJson } from './render/account.ts';
import { type Route, route } from './route.ts';
import { accountStates } from './schemas.ts';

export function accountStatesRoute(limits: ApiLimits): Route {
  return route({
    path: '/accountStates',
    tag: 'accounts',
    summary: 'Latest states of accounts',
    parameters: z.object({
      address: addresses('Accounts to show.', limits.maxAccountStates, true),
      code_hash: hashes('Only accounts with one of these code hashes.'),
      include_boc: flag('Whether to add code and data; true when absent.'),
    }),
    response: accountStates,
    async answer(p, { source, context, addressBook, metadata }) {
      if (p.address.length === 0) throw new ApiError(422, 'address of account is required');
      const found = await source.accountStates(p.address, p.code_hash, p.include_boc ?? true, context);
      const rows = found.map(accountJson).join(',');
      const [book, tokens] = await Promise.all([addressBook(found), metadata(found)]);
      return `{"accounts":[${rows}],"address_book":${book},"metadata":${tokens}}`;
    },
  });
}
