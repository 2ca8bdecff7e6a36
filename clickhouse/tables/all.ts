import { accountCodes, accountData, accounts, balances, codes } from './accounts.ts';
import { actionAccounts, actions } from './actions.ts';
import { blocks, shardTops } from './blocks.ts';
import { gaps } from './gaps.ts';
import {
  jettonBalances,
  jettonBurns,
  jettonHolders,
  jettonMasters,
  jettonTransfers,
  jettonWallets,
} from './jettons.ts';
import { messages } from './messages.ts';
import { dnsRecords, nftCollections, nftItems, nftTransfers } from './nfts.ts';
import { nftAuctions, nftSales, telemintItems } from './sales.ts';
import {
  contractWaits,
  dedustPools,
  multisigOrders,
  multisigWallets,
  nominatorPools,
  vestingContracts,
} from './services.ts';
import type { Table } from './table.ts';
import { traceAccounts, traces } from './traces.ts';
import { transactions } from './transactions.ts';

/** Every table of rows; how the projection stands is in tables of its own (streams/project/position.ts). */
export const TABLES: readonly Table[] = [
  blocks,
  shardTops,
  transactions,
  messages,
  accounts,
  accountData,
  accountCodes,
  codes,
  balances,
  traces,
  traceAccounts,
  actions,
  actionAccounts,
  gaps,
  jettonMasters,
  jettonWallets,
  jettonHolders,
  jettonBalances,
  jettonTransfers,
  jettonBurns,
  nftCollections,
  nftItems,
  dnsRecords,
  nftTransfers,
  nftSales,
  nftAuctions,
  telemintItems,
  multisigWallets,
  multisigOrders,
  vestingContracts,
  dedustPools,
  nominatorPools,
  contractWaits,
];
