import type { ApiLimits } from '../limits.ts';
import { accountStatesRoute } from './accountStates.ts';
import { actionsRoute } from './actions.ts';
import { addressBookRoute } from './addressBook.ts';
import { addressInformationRoute } from './addressInformation.ts';
import { adjacentTransactionsRoute } from './adjacentTransactions.ts';
import { balanceChangesRoute } from './balanceChanges.ts';
import { balanceHistoryRoute } from './balanceHistory.ts';
import { blocksRoute } from './blocks.ts';
import { decodeRoute } from './decode.ts';
import { dnsRecordsRoute } from './dnsRecords.ts';
import { estimateFeeRoute } from './estimateFee.ts';
import { jettonBurnsRoute } from './jettonBurns.ts';
import { jettonMastersRoute } from './jettonMasters.ts';
import { jettonTransfersRoute } from './jettonTransfers.ts';
import { jettonWalletsRoute } from './jettonWallets.ts';
import { masterchainBlockShardStateRoute } from './masterchainBlockShardState.ts';
import { masterchainBlockShardsRoute } from './masterchainBlockShards.ts';
import { masterchainInfoRoute } from './masterchainInfo.ts';
import { messageRoute } from './message.ts';
import { messagesRoute } from './messages.ts';
import { messageTraceRoute } from './messageTrace.ts';
import { metadataRoute } from './metadata.ts';
import { multisigOrdersRoute } from './multisigOrders.ts';
import { multisigWalletsRoute } from './multisigWallets.ts';
import { nftCollectionsRoute } from './nftCollections.ts';
import { nftItemsRoute } from './nftItems.ts';
import { nftSalesRoute } from './nftSales.ts';
import { nftTransfersRoute } from './nftTransfers.ts';
import { pendingActionsRoute } from './pendingActions.ts';
import { pendingTracesRoute } from './pendingTraces.ts';
import { pendingTransactionsRoute } from './pendingTransactions.ts';
import type { Route } from './route.ts';
import { runGetMethodRoute } from './runGetMethod.ts';
import { topAccountsByBalanceRoute } from './topAccountsByBalance.ts';
import { eventsRoute, tracesRoute } from './traces.ts';
import { transactionsRoute } from './transactions.ts';
import { transactionsByMasterchainBlockRoute } from './transactionsByMasterchainBlock.ts';
import { transactionsByMessageRoute } from './transactionsByMessage.ts';
import { vestingRoute } from './vesting.ts';
import { walletInformationRoute } from './walletInformation.ts';
import { walletStatesRoute } from './walletStates.ts';

/** Every operation of the v3 API, in the order of the documentation. */
export function v3Routes(limits: ApiLimits): Route[] {
  return [
    masterchainInfoRoute(),
    masterchainBlockShardStateRoute(),
    masterchainBlockShardsRoute(limits),
    blocksRoute(limits),
    transactionsRoute(limits),
    transactionsByMasterchainBlockRoute(limits),
    transactionsByMessageRoute(limits),
    adjacentTransactionsRoute(),
    messagesRoute(limits),
    pendingTransactionsRoute(limits),
    tracesRoute(limits),
    pendingTracesRoute(),
    eventsRoute(limits),
    actionsRoute(limits),
    pendingActionsRoute(),
    messageTraceRoute(),
    balanceChangesRoute(),
    balanceHistoryRoute(limits),
    accountStatesRoute(limits),
    walletStatesRoute(limits),
    addressBookRoute(limits),
    metadataRoute(limits),
    topAccountsByBalanceRoute(limits),
    jettonMastersRoute(limits),
    jettonWalletsRoute(limits),
    jettonTransfersRoute(limits),
    jettonBurnsRoute(limits),
    nftCollectionsRoute(limits),
    nftItemsRoute(limits),
    nftTransfersRoute(limits),
    nftSalesRoute(limits),
    dnsRecordsRoute(limits),
    multisigWalletsRoute(limits),
    multisigOrdersRoute(limits),
    vestingRoute(limits),
    decodeRoute(),
    addressInformationRoute(),
    addressInformationRoute('/account'),
    walletInformationRoute(),
    walletInformationRoute('/wallet'),
    messageRoute(),
    runGetMethodRoute(),
    estimateFeeRoute(),
  ];
}
