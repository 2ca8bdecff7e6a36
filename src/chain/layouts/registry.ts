/** All bodies that have a name, by opcode. */

import { DecodeError } from '../errors.ts';
import type { CellView } from './cell-view.ts';
import { commonBodies } from './common.ts';
import { dnsBodies } from './dns.ts';
import { jettonBodies } from './jettons.ts';
import type { Layout } from './layout.ts';
import { multisigBodies } from './multisig.ts';
import { nftBodies } from './nfts.ts';
import { stakingBodies } from './staking.ts';
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
