/** Where the states are kept that the newest one of a contract has replaced. */
import { jettonBalances, jettonWallets } from './jettons.ts';
import { nftCollectionStates, nftCollections, nftItemStates, nftItems } from './nfts.ts';
import { nftAuctionStates, nftAuctions, nftSaleStates, nftSales } from './sales.ts';
import type { Table } from './table.ts';

export interface Past {
  name: string;
  /** The column that states of a contract are in order of. */
  lt: string;
}

const PAST = new Map<string, Past>([
  [jettonWallets.name, { name: jettonBalances.name, lt: 'lt' }],
  ...[
    [nftCollections, nftCollectionStates],
    [nftItems, nftItemStates],
    [nftSales, nftSaleStates],
    [nftAuctions, nftAuctionStates],
  ].map(([{ name }, states]) => [name, { name: states.name, lt: 'last_transaction_lt' }] as const),
]);

/** Of jetton wallets what changes: balance, owner, master. Null for a table whose earlier states are gone. */
export function pastOf({ name }: Pick<Table, 'name'>): Past | null {
  return PAST.get(name) ?? null;
}
