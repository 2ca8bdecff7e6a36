/** swap.coffee: trades. */

import { compareDecimal } from '../../decimal.ts';
import { address } from '../../layouts/addresses.ts';
import type { ValueOf } from '../../layouts/codec.ts';
import {
  coffeeAsset,
  coffeeNotification,
  coffeePayout,
  coffeePayoutInternal,
  coffeeSwapInternal,
  coffeeSwapSucceeded,
  coffeeSwap as swapBody,
} from '../../layouts/dex/coffee.ts';
import { body } from '../../layouts/layout.ts';
import { coins, u64 } from '../../layouts/numbers.ts';
import type { Block } from '../block.ts';
import { addressText, destinationOf, messageOf, readBody, sentValue } from '../bodies.ts';
import { jettonTransfer } from '../jettons.ts';
import type { Reading } from '../kind.ts';
import type { Asset } from '../known.ts';
import type { Match, Pattern } from '../pattern.ts';
import { declareSwap, type Hop, type Leg, type Swap, tonLeg, transferLeg } from './swap.ts';

/** What is read of a trade in TON, of a payout and of what a pool tells; what follows is not asked for. */
const swapHead = body('coffee_swap', swapBody.opcode, { query_id: u64, amount: coins });
export const payoutHead = body('coffee_payout_internal', coffeePayoutInternal.opcode, {
  query_id: u64,
  recipient: address,
  amount: coins,
});
const tradedHead = body('coffee_swap_succeeded', coffeeSwapSucceeded.opcode, {
  query_id: u64,
  input: coffeeAsset,
  input_amount: coins,
  output_amount: coins,
});

/** Whether this is the asset: an extra currency is neither TON nor a jetton. */
export function isAsset(asset: Asset, told: ValueOf<typeof coffeeAsset>): boolean {
  return told.kind !== 'extra' && assetText(told) === asset;
}

/** The jetton's master, null for TON and for extra currencies. */
export function assetText(asset: ValueOf<typeof coffeeAsset>): Asset {
  if (asset.kind !== 'jetton') return null;
  return `${(asset.chain << 24) >> 24}:${BigInt(asset.hash).toString(16).toUpperCase().padStart(64, '0')}`;
}

/** What a pool has a vault pay: jettons (`out`), TON (`tonOut`) or TON with a notification (`notified`). */
export const payout: Pattern = {
  op: coffeePayoutInternal.opcode,
  as: 'payout',
  child: {
    any: [
      { block: jettonTransfer.block, as: 'out' },
      { op: coffeePayout.opcode, as: 'tonOut' },
      { op: coffeeNotification.opcode, as: 'notified' },
    ],
  },
};

/** Every pool on the way tells what it traded; a way on which one does not is no trade. */
const event: Pattern = { op: coffeeSwapSucceeded.opcode, as: 'event' };

export const coffeeSwap = declareSwap('coffee', [
  {
    rank: 66,
    pattern: {
      op: coffeeSwapInternal.opcode,
      children: [event, { chain: { of: { op: coffeeSwapInternal.opcode, child: event }, until: payout } }],
      parent: {
        any: [
          { block: jettonTransfer.block, as: 'in' },
          { op: swapBody.opcode, as: 'tonIn' },
        ],
      },
    },
    read: readSwap,
  },
]);

function readSwap(found: Match): Reading<Swap> | null {
  const incoming = incomingLeg(found);
  const paid = found.first('payout');
  const outgoing = paid === null ? null : payoutLeg(found, paid);
  if (incoming === null || outgoing === null) return null;
  const events = found.named('event');
  return {
    data: {
      sender: incoming.source,
      incoming,
      outgoing,
      assetIn: incoming.asset,
      assetOut: outgoing.asset,
      hops: events.length > 1 ? readHops(events, outgoing.asset) : [],
    },
  };
}

function incomingLeg(found: Match): Leg | null {
  const transfer = jettonTransfer.of(found.first('in'));
  if (transfer !== null) return transferLeg(transfer, transfer.asset);
  const ton = found.first('tonIn');
  return ton === null ? null : tonLeg(readBody(ton, swapHead).amount, messageOf(ton).source, destinationOf(ton));
}

function payoutLeg(found: Match, paid: Block): Leg | null {
  const transfer = jettonTransfer.of(found.first('out'));
  if (transfer !== null) return transferLeg(transfer, transfer.asset);
  if (found.first('tonOut') !== null) {
    const { amount, recipient } = readBody(paid, payoutHead);
    return tonLeg(amount, messageOf(paid).source, addressText(recipient));
  }
  const notified = found.first('notified');
  return notified === null ? null : tonLeg(sentValue(notified), messageOf(notified).source, destinationOf(notified));
}

/** A pool tells what came in; what went out is what came into the next one. */
function readHops(events: readonly Block[], lastAsset: Asset): Hop[] {
  const told = [...events].sort((a, b) => compareDecimal(a.minLt, b.minLt)).map((block) => readBody(block, tradedHead));
  return told.map(({ input, input_amount, output_amount }, i) => ({
    assetIn: assetText(input),
    amountIn: input_amount,
    assetOut: i + 1 < told.length ? assetText(told[i + 1].input) : lastAsset,
    amountOut: output_amount,
  }));
}

export const kinds = [coffeeSwap];
