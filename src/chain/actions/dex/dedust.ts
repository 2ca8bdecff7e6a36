/** DeDust v2: trades. */

import { addressOf, rawAddress } from '../../address.ts';
import { compareDecimal } from '../../decimal.ts';
import type { ValueOf } from '../../layouts/codec.ts';
import {
  type DedustStep,
  type dedustAsset,
  dedustPayOutFromPool,
  dedustPayout,
  dedustStep,
  dedustSwapEvent,
  dedustSwapExternal,
  dedustSwapPayload,
  dedustSwapPeer,
  dedustSwap as swapBody,
} from '../../layouts/dex/dedust.ts';
import { body } from '../../layouts/layout.ts';
import { coins, u64 } from '../../layouts/numbers.ts';
import { cell } from '../../layouts/shapes.ts';
import type { Decimal } from '../../model.ts';
import type { Block } from '../block.ts';
import { destinationOf, messageOf, readBody } from '../bodies.ts';
import { type JettonTransfer, jettonTransfer } from '../jettons.ts';
import type { Reading } from '../kind.ts';
import type { Asset, KnownContracts } from '../known.ts';
import type { Match, Pattern } from '../pattern.ts';
import { declareSwap, type Hop, type Leg, type Swap, tonLeg, transferLeg } from './swap.ts';

/** What vaults are asked for; the terms that follow the way are theirs. */
const swapHead = body('dedust_swap', swapBody.opcode, { query_id: u64, amount: coins, step: dedustStep });
const payloadHead = body('dedust_swap', dedustSwapPayload.opcode, { step: dedustStep });

/** What a vault is to pay; neither who proves to be a pool nor who gets it is asked. */
export const payoutHead = body('dedust_pay_out_from_pool', dedustPayOutFromPool.opcode, {
  query_id: u64,
  proof: cell,
  amount: coins,
});

/** The jetton's master, null for TON. */
export function assetText(asset: ValueOf<typeof dedustAsset>): Asset {
  return asset.kind === 'native' ? null : rawAddress(addressOf(asset.workchain_id, asset.address));
}

/** What a pool has a vault pay. */
const payout: Pattern = {
  op: payoutHead.opcode,
  as: 'payout',
  child: {
    any: [
      { op: dedustPayout.opcode, as: 'tonOut' },
      { block: jettonTransfer.block, as: 'out' },
    ],
  },
};

/** A pool that does not trade tells nothing, and gives back what came. */
const event: Pattern = { op: dedustSwapEvent.opcode, as: 'event', optional: true };
const peer: Pattern = { op: [dedustSwapPeer.opcode, dedustSwapExternal.opcode], as: 'swap', child: event };

export const dedustSwap = declareSwap('dedust', [
  {
    rank: 19,
    pattern: {
      op: dedustSwapExternal.opcode,
      as: 'swap',
      children: [event, { chain: { of: peer, until: payout } }],
      parent: {
        any: [
          {
            block: jettonTransfer.block,
            where: (block) => jettonTransfer.of(block)?.forwardPayload?.opcode === dedustSwapPayload.opcode,
            as: 'in',
          },
          { op: swapBody.opcode, as: 'tonIn' },
        ],
      },
    },
    read: readSwap,
  },
]);

/** What was asked for. */
interface Request {
  incoming: Leg;
  step: DedustStep;
}

function jettonRequest(transfer: JettonTransfer): Request | null {
  const { forwardPayload } = transfer;
  const fields = forwardPayload === null ? null : payloadHead.in(forwardPayload);
  return fields === null ? null : { incoming: transferLeg(transfer, transfer.asset), step: fields.step };
}

function tonRequest(block: Block): Request {
  const { amount, step } = readBody(block, swapHead);
  return { incoming: tonLeg(amount, messageOf(block).source, destinationOf(block)), step };
}

function readRequest(found: Match): Request | null {
  const transfer = jettonTransfer.of(found.first('in'));
  if (transfer !== null) return jettonRequest(transfer);
  const ton = found.first('tonIn');
  return ton === null ? null : tonRequest(ton);
}

function readSwap(found: Match, known: KnownContracts): Reading<Swap> | null {
  const request = readRequest(found);
  const payouts = found.named('payout');
  if (request === null || payouts.length !== 1) return null;
  const assetOut = routeEnd(request, known);
  if (assetOut === undefined) return null;
  const hops = readHops(found.named('event'));
  const first = hops.at(0);
  const last = hops.at(-1);
  const paid = paidLeg(found, readBody(payouts[0], payoutHead).amount);
  if (paid === null) return null;
  const { incoming } = request;
  return {
    data: {
      sender: incoming.source,
      assetIn: incoming.asset,
      assetOut,
      incoming: first === undefined ? incoming : { ...incoming, asset: first.assetIn, amount: first.amountIn },
      outgoing: last === undefined ? paid : { ...paid, asset: last.assetOut, amount: last.amountOut },
      hops: hops.length > 1 ? hops : [],
    },
    failed: found.named('swap').some(({ next }) => !next.some(({ opcode }) => opcode === dedustSwapEvent.opcode)),
  };
}

/** The asset at the end of the pools that were asked for; undefined when one of them is not known. */
function routeEnd({ incoming, step }: Request, known: KnownContracts): Asset | undefined {
  let asset = incoming.asset;
  for (let at: DedustStep | null = step; at !== null; at = at.params.next) {
    const pool = known.dedustPool(rawAddress(at.pool_addr));
    if (pool === undefined) return undefined;
    const [one, other] = pool.assets;
    asset = one === asset ? other : one;
  }
  return asset;
}

/** What pools told of their trades, in their order. */
function readHops(events: readonly Block[]): Hop[] {
  return [...events]
    .sort((a, b) => compareDecimal(a.minLt, b.minLt))
    .map((block) => {
      const { asset_in, asset_out, amount_in, amount_out } = readBody(block, dedustSwapEvent);
      return {
        assetIn: assetText(asset_in),
        amountIn: amount_in,
        assetOut: assetText(asset_out),
        amountOut: amount_out,
      };
    });
}

function paidLeg(found: Match, amount: Decimal): Leg | null {
  const transfer = jettonTransfer.of(found.first('out'));
  if (transfer !== null) return transferLeg(transfer, transfer.asset);
  const ton = found.first('tonOut');
  return ton === null ? null : tonLeg(amount, messageOf(ton).source, destinationOf(ton));
}

export const kinds = [dedustSwap];
