/** All bodies that have a name, by opcode. */

import { DecodeError } from '../errors.ts';
import type { CellView } from './cell-view.ts';
import { channelBodies } from './channels.ts';
import { cocoonBodies } from './cocoon.ts';
import { commonBodies } from './common.ts';
import { bidaskBodies } from './dex/bidask.ts';
import { coffeeBodies } from './dex/coffee.ts';
import { dedustBodies } from './dex/dedust.ts';
import { otherExchangeBodies } from './dex/others.ts';
import { stonfiBodies } from './dex/stonfi.ts';
import { toncoBodies } from './dex/tonco.ts';
import { dnsBodies } from './dns.ts';
import { evaaBodies } from './evaa.ts';
import { jettonBodies } from './jettons.ts';
import type { Layout } from './layout.ts';
import { multisigBodies } from './multisig.ts';
import { nftBodies } from './nfts.ts';
import { serviceBodies } from './services.ts';
import { stakingBodies } from './staking.ts';
import { stormBodies } from './storm.ts';
import { telegramBodies } from './telegram.ts';
import { vestingBodies } from './vesting.ts';
import { walletBodies } from './wallets.ts';

const families: readonly (readonly Layout[])[] = [
  commonBodies,
  jettonBodies,
  nftBodies,
  dnsBodies,
  walletBodies,
  multisigBodies,
  vestingBodies,
  stakingBodies,
  telegramBodies,
  stonfiBodies,
  dedustBodies,
  toncoBodies,
  coffeeBodies,
  bidaskBodies,
  otherExchangeBodies,
  evaaBodies,
  cocoonBodies,
  channelBodies,
  serviceBodies,
  stormBodies,
];

const byOpcode = new Map<number, Layout[]>();
for (const layout of families.flat()) {
  const known = byOpcode.get(layout.opcode);
  if (known === undefined) byOpcode.set(layout.opcode, [layout]);
  else known.push(layout);
}

const NONE: readonly Layout[] = [];

/** The layouts of an opcode in the order of trial; none for an unknown one. */
export function layoutsOf(opcode: number): readonly Layout[] {
  return byOpcode.get(opcode) ?? NONE;
}

/** The name of an opcode, whether a body with it would parse or not; null for an unknown one. */
export function opcodeName(opcode: number): string | null {
  return byOpcode.get(opcode)?.[0].name ?? null;
}

/** All known opcodes. */
export function opcodes(): number[] {
  return [...byOpcode.keys()];
}

export interface Body {
  layout: Layout;
  fields: unknown;
}

/** The first layout of its opcode that a body fits, and what it reads; null when there is none. Throws nothing. */
export function readBody(view: CellView): Body | null {
  const { opcode } = view;
  if (opcode === null) return null;
  for (const layout of layoutsOf(opcode)) {
    try {
      return { layout, fields: layout.in(view) };
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
    }
  }
  return null;
}
