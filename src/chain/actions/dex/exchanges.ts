import * as coffee from './coffee.ts';
import * as coffeeLiquidity from './coffee-liquidity.ts';
import * as coffeeServices from './coffee-services.ts';
import * as dedust from './dedust.ts';
import * as stonfi from './stonfi.ts';
import * as stonfiV2 from './stonfi-v2.ts';
import * as tonco from './tonco.ts';
import * as toncoLiquidity from './tonco-liquidity.ts';

/** One file an exchange and what is done there. */
export const exchanges = [coffee, coffeeLiquidity, coffeeServices, dedust, stonfi, stonfiV2, tonco, toncoLiquidity];
