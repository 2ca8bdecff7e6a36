import { z } from 'zod';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { walletStates } from './account-schemas.ts';
import { addresses, hashes } from './parameters.ts';
import { goneAmong } from './render/account.ts';
import { joinTexts } from './render/rows.ts';
import { walletStateJson } from './render/wallet.ts';
import { type Route, route } from './route.ts';

export function walletStatesRoute(limits: ApiLimits): Route {
  return route({
    path: '/walletStates',
    tag: 'accounts',
    summary: 'Latest states of accounts with what wallets keep',
    parameters: z.object({
      address: addresses('Accounts to show.', limits.maxAccountStates, true),
      code_hash: hashes('Only accounts with one of these code hashes.'),
    }),
    response: walletStates,
    async answer(p, { source, context, addressBook, metadata }) {
      if (p.address.length === 0) throw new ApiError(422, 'address of account is required');
      const found = await source.accountStates(p.address, p.code_hash, 'wallets', context);
      const [book, tokens] = await Promise.all([addressBook(found), metadata(found, { listed: goneAmong(found) })]);
      return joinTexts('{"wallets":[', found.map(walletStateJson), `],"address_book":${book},"metadata":${tokens}}`);
    },
  });
}
