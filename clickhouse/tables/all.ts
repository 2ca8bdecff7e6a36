import { accountCodes, accountData, accounts, balances, codes, learnedAccounts } from './accounts.ts';
import { actionAccounts, actionDoubts, actions } from './actions.ts';
import { blocks, shardTops } from './blocks.ts';
import { documents } from './documents.ts';
import { gaps } from './gaps.ts';
import {
  jettonBalances,
  jettonBurns,
  jettonHolders,
  jettonMasters,
  jettonTransfers,
  jettonWalletCodes,
  jettonWallets,
} from './jettons.ts';
import { messages } from './messages.ts';
import { dnsRecords, nftCollectionStates, nftCollections, nftItemStates, nftItems, nftTransfers } from './nfts.ts';
import { nftAuctionStates, nftAuctions, nftSaleStates, nftSales, telemintItems } from './sales.ts';
import {
  contractWaits,
  dedustPools,
  multisigOrders,
  multisigWallets,
  nominatorPools,
  vestingContracts,
} from './services.ts';
import { chainStatistics, subjectStatistics } from './statistics.ts';
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
  learnedAccounts,
  accountData,
  accountCodes,
  codes,
  balances,
  traces,
  traceAccounts,
  actions,
  actionAccounts,
  actionDoubts,
  gaps,
  jettonMasters,
  jettonWallets,
  jettonWalletCodes,
  jettonHolders,
  jettonBalances,
  jettonTransfers,
  jettonBurns,
  nftCollections,
  nftCollectionStates,
  nftItems,
  nftItemStates,
  dnsRecords,
  nftTransfers,
  nftSales,
  nftSaleStates,
  nftAuctions,
  nftAuctionStates,
  telemintItems,
  multisigWallets,
  multisigOrders,
  vestingContracts,
  dedustPools,
  nominatorPools,
  contractWaits,
  documents,
  chainStatistics,
  subjectStatistics,
];
