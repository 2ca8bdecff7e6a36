import type { ApiLimits } from '../limits.ts';
import { accountStatesRoute } from './accountStates.ts';
import { addressBookRoute } from './addressBook.ts';
import { adjacentTransactionsRoute } from './adjacentTransactions.ts';
import { blocksRoute } from './blocks.ts';
import { decodeRoute } from './decode.ts';
import { masterchainBlockShardStateRoute } from './masterchainBlockShardState.ts';
import { masterchainBlockShardsRoute } from './masterchainBlockShards.ts';
import { masterchainInfoRoute } from './masterchainInfo.ts';
import { messagesRoute } from './messages.ts';
import type { Route } from './route.ts';
import { topAccountsByBalanceRoute } from './topAccountsByBalance.ts';
import { transactionsRoute } from './transactions.ts';
import { transactionsByMasterchainBlockRoute } from './transactionsByMasterchainBlock.ts';
import { transactionsByMessageRoute } from './transactionsByMessage.ts';

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
    accountStatesRoute(limits),
    addressBookRoute(limits),
    topAccountsByBalanceRoute(limits),
    decodeRoute(),
  ];
}
