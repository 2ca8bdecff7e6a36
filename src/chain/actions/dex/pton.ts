/** TON that is sent to an exchange, or comes from it, through a wallet of proxy TON (pTON v2). */

import { jettonNotify, ptonTonTransfer } from '../../layouts/jettons.ts';
import { body } from '../../layouts/layout.ts';
import { coins, u64 } from '../../layouts/numbers.ts';
import type { Decimal } from '../../model.ts';
import type { Block } from '../block.ts';
import { destinationOf, messageOf, readBody } from '../bodies.ts';
import { type JettonTransfer, jettonTransfer, tonOr } from '../jettons.ts';
import type { Match, Pattern } from '../pattern.ts';
import { type Leg, transferLeg } from './swap.ts';

export const PTON_TRANSFER = ptonTonTransfer.opcode;

/** Up to the amount; what follows is for the wallet of pTON. */
const ptonHead = body('pton_ton_transfer', PTON_TRANSFER, { query_id: u64, ton_amount: coins });

/** The TON that a transfer of pTON carries. */
export function ptonAmount(block: Block): Decimal {
  return readBody(block, ptonHead).ton_amount;
}

/** What a router is paid with: jettons (`in`), or TON through pTON (`tonIn`, and its notification `notified`). */
export const payment: Pattern = {
  any: [
    { block: jettonTransfer.block, as: 'in' },
    { op: jettonNotify.opcode, as: 'notified', parent: { op: PTON_TRANSFER, as: 'tonIn' } },
  ],
};

/** The leg of a {@link payment}; null when the match has none. */
export function paymentLeg(found: Match, router: Block): Leg | null {
  const transfer = jettonTransfer.of(found.first('in'));
  if (transfer !== null) return transferLeg(transfer, tonOr(transfer.asset));
  const tonIn = found.first('tonIn');
  if (tonIn === null) return null;
  return {
    asset: null,
    amount: ptonAmount(tonIn),
    source: messageOf(tonIn).source,
    destination: messageOf(router).source,
    sourceWallet: null,
    destinationWallet: destinationOf(tonIn),
  };
}

/** The transfer of a {@link payment} that was made in jettons. */
export function paidTransfer(found: Match): JettonTransfer | null {
  return jettonTransfer.of(found.first('in'));
}
