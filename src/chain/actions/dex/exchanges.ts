import * as coffee from './coffee.ts';
import * as coffeeLiquidity from './coffee-liquidity.ts';
import * as coffeeServices from './coffee-services.ts';
import * as dedust from './dedust.ts';
import * as dedustLiquidity from './dedust-liquidity.ts';
import * as stonfi from './stonfi.ts';
import * as stonfiV2 from './stonfi-v2.ts';
import * as stonfiV2Liquidity from './stonfi-v2-liquidity.ts';
import * as tonco from './tonco.ts';
import * as toncoLiquidity from './tonco-liquidity.ts';

/** One file an exchange and what is done there. */
export const exchanges = [
  coffee,
  coffeeLiquidity,
  coffeeServices,
  dedust,
  dedustLiquidity,
  stonfi,
  stonfiV2,
  stonfiV2Liquidity,
  tonco,
  toncoLiquidity,
];
