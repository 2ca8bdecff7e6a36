import * as coffee from './coffee.ts';
import * as dedust from './dedust.ts';
import * as stonfi from './stonfi.ts';
import * as stonfiV2 from './stonfi-v2.ts';
import * as tonco from './tonco.ts';

/** One file an exchange and what is done there. */
export const exchanges = [coffee, dedust, stonfi, stonfiV2, tonco];
