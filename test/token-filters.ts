/** Questions for tokens that name none. */
import type { JettonWalletFilter, NftItemFilter } from '../src/chain/contract-records.ts';

const ALL = { limit: 1_000, offset: 0 };
export const WALLETS: JettonWalletFilter = {
  addresses: [],
  owners: [],
  jettons: [],
  excludeZeroBalance: false,
  page: ALL,
};
export const ITEMS: NftItemFilter = {
  addresses: [],
  owners: [],
  collections: [],
  indexes: [],
  includeOnSale: false,
  byLastTransaction: false,
  page: ALL,
};
