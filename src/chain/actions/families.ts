import * as auctions from './auctions.ts';
import type { Block } from './block.ts';
import * as cocoon from './cocoon.ts';
import { exchanges } from './dex/exchanges.ts';
import * as dns from './dns.ts';
import * as ethena from './ethena.ts';
import * as evaa from './evaa.ts';
import * as evaaLiquidation from './evaa-liquidation.ts';
import * as jettons from './jettons.ts';
import * as jvault from './jvault.ts';
import type { Attempt, Kind } from './kind.ts';
import * as layerzero from './layerzero.ts';
import * as liquidStaking from './liquid-staking.ts';
import * as multisig from './multisig.ts';
import * as nfts from './nfts.ts';
import * as sales from './sales.ts';
import * as staking from './staking.ts';
import * as subscriptions from './subscriptions.ts';
import * as tgbtc from './tgbtc.ts';
import * as ton from './ton.ts';
import * as vesting from './vesting.ts';

/** One file a family: a new type is a declaration in its family's file. */
const families = [
  auctions,
  cocoon,
  dns,
  ethena,
  evaa,
  evaaLiquidation,
  jettons,
  jvault,
  layerzero,
  liquidStaking,
  multisig,
  nfts,
  sales,
  staking,
  subscriptions,
  tgbtc,
  ton,
  vesting,
  ...exchanges,
];

/** What a family makes of the blocks of a trace once everything is matched. */
type Fold = (blocks: readonly Block[]) => readonly Block[];

export const folds: readonly Fold[] = families.flatMap((family): Fold[] => ('fold' in family ? [family.fold] : []));

export const kinds: readonly Kind[] = families.flatMap((family): readonly Kind[] => family.kinds);

const inOrder = kinds.flatMap((kind) => kind.attempts).sort((a, b) => a.rank - b.rank);

/** The matchers in the order in which they are applied. */
export const attempts: readonly Attempt[] = inOrder.filter(({ ghosts }) => !ghosts);

/** Those for messages that were not sent. */
export const ghostAttempts: readonly Attempt[] = inOrder.filter(({ ghosts }) => ghosts);
