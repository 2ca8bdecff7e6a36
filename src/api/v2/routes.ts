import { blockTransactionsRoutes, getBlockHeaderRoute, lookupBlockRoute, shardsRoute } from './blocks.ts';
import type { Route } from './route.ts';
import { getTransactionsRoute, getTransactionsStdRoute, locateRoutes } from './transactions.ts';
import { detectAddressRoute, detectHashRoute, packAddressRoute, unpackAddressRoute } from './utilities.ts';

/** Every operation of the v2 API, in the order of the documentation. */
export function v2Routes(): Route[] {
  return [
    lookupBlockRoute(),
    shardsRoute('/shards'),
    shardsRoute('/getShards'),
    getBlockHeaderRoute(),
    ...blockTransactionsRoutes(),
    getTransactionsRoute(),
    getTransactionsStdRoute(),
    ...locateRoutes(),
    detectAddressRoute(),
    detectHashRoute(),
    packAddressRoute(),
    unpackAddressRoute(),
  ];
}
