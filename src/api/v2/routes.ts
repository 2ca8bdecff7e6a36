import { accountRoutes } from './accounts.ts';
import { blockTransactionsRoutes, getBlockHeaderRoute, lookupBlockRoute, shardsRoute } from './blocks.ts';
import {
  getConfigAllRoute,
  getConfigParamRoute,
  getConsensusBlockRoute,
  getLibrariesRoute,
  getMasterchainInfoRoute,
} from './chain.ts';
import { dnsResolveRoute } from './dnsResolve.ts';
import { estimateFeeRoute } from './estimateFee.ts';
import { runGetMethodRoute, runGetMethodStdRoute } from './get-methods.ts';
import { getTokenDataRoute } from './getTokenData.ts';
import { getWorkerStateRoute } from './getWorkerState.ts';
import { getMasterchainBlockSignaturesRoute, getShardBlockProofRoute, outMsgQueueSizesRoute } from './proofs.ts';
import type { Route } from './route.ts';
import { sendBocRoutes, sendQueryRoutes } from './sending.ts';
import { getTransactionsRoute, getTransactionsStdRoute, locateRoutes } from './transactions.ts';
import { detectAddressRoute, detectHashRoute, packAddressRoute, unpackAddressRoute } from './utilities.ts';

/** Every operation of the v2 API, in the order of the documentation. */
export function v2Routes(): Route[] {
  return [
    ...accountRoutes(),
    getTokenDataRoute(),
    dnsResolveRoute(),
    getMasterchainInfoRoute(),
    getConsensusBlockRoute(),
    lookupBlockRoute(),
    shardsRoute('/shards'),
    shardsRoute('/getShards'),
    getBlockHeaderRoute(),
    ...blockTransactionsRoutes(),
    getMasterchainBlockSignaturesRoute(),
    getShardBlockProofRoute(),
    outMsgQueueSizesRoute('/getOutMsgQueueSizes'),
    outMsgQueueSizesRoute('/getOutMsgQueueSize'),
    getWorkerStateRoute(),
    getTransactionsRoute(),
    getTransactionsStdRoute(),
    ...locateRoutes(),
    getConfigParamRoute(),
    getConfigAllRoute(),
    getLibrariesRoute(),
    runGetMethodRoute(),
    runGetMethodStdRoute(),
    ...sendBocRoutes(),
    ...sendQueryRoutes(),
    estimateFeeRoute('/estimateFee'),
    estimateFeeRoute('/estimateFeeSimple'),
    detectAddressRoute(),
    detectHashRoute(),
    packAddressRoute(),
    unpackAddressRoute(),
  ];
}
