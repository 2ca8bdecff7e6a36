import { z } from 'zod';
import { byBalance, byId } from '../../../clickhouse/queries/keyset.ts';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { jettonWallets } from './contract-schemas.ts';
import { addresses, atStep, cursor, flag, limit, offset, optionalSort } from './parameters.ts';
import { walletJson } from './render/tokens.ts';
import { listing, nextCursor, type Route, route } from './route.ts';
import { requireMasterchainBlock } from './transactions.ts';

export function jettonWalletsRoute(limits: ApiLimits): Route {
  return route({
    path: '/jetton/wallets',
    tag: 'jettons',
    summary: 'Jetton wallets by owner or jetton, in the order of their detection or by balance',
    parameters: z.object({
      address: addresses('Wallets to show.', limits.maxAddresses),
      owner_address: addresses('Owners.', limits.maxAddresses),
      jetton_address: addresses('Jetton masters; more than one with exactly one owner.', limits.maxAddresses),
      exclude_zero_balance: flag('Leave out wallets without a balance.'),
      limit: limit(limits),
      offset: offset(),
      sort: optionalSort('Order by balance.'),
      cursor: cursor(),
      at_mc_seqno: atStep(),
    }),
    response: jettonWallets,
    async answer(p, asked) {
      const { source, context, book } = asked;
      if (p.jetton_address.length > 1 && p.owner_address.length !== 1) {
        throw new ApiError(422, 'exact one owner_address required for multiple jetton_address');
      }
      const isHolders = p.jetton_address.length === 1 && p.owner_address.length + p.address.length === 0;
      if (p.cursor !== undefined && (p.address.length > 0 || p.owner_address.length > 1 || (p.sort && !isHolders))) {
        throw new ApiError(
          422,
          'cursor goes with at most one owner_address, and with sort only with one jetton_address alone',
        );
      }
      if (p.at_mc_seqno !== undefined) await requireMasterchainBlock(p.at_mc_seqno, asked);
      const keyset = p.sort === undefined ? byId : byBalance;
      const filter = {
        addresses: p.address,
        owners: p.owner_address,
        jettons: p.jetton_address,
        excludeZeroBalance: p.exclude_zero_balance ?? false,
        byBalance: p.sort,
        behind: keyset.read(p.cursor),
        at: p.at_mc_seqno,
        page: { limit: p.limit, offset: p.offset },
      };
      const rows = await source.contracts.jettonWallets(filter, context);
      return listing(
        'jetton_wallets',
        rows.map((row) => walletJson(row, book)),
        asked,
        nextCursor(p.cursor, keyset.next(rows, p.limit)),
        rows.map(({ address }) => address),
      );
    },
  });
}
