/** STON.fi v2 (ston-fi/dex-core-v2): trades. */

import { compareDecimal } from '../../decimal.ts';
import { address } from '../../layouts/addresses.ts';
import type { CellView } from '../../layouts/cell-view.ts';
import { stonfiCrossSwapPayload, stonfiPayToV2, stonfiSwapV2, stonfiSwapV2Payload } from '../../layouts/dex/stonfi.ts';
import { jettonNotify, ptonTonTransfer } from '../../layouts/jettons.ts';
import { body } from '../../layouts/layout.ts';
import { amount, coins, u64 } from '../../layouts/numbers.ts';
import { maybeCell, record, ref } from '../../layouts/shapes.ts';
import type { Decimal } from '../../model.ts';
import type { Block } from '../block.ts';
import { addressText, destinationOf, messageOf, readBody, tryBody } from '../bodies.ts';
import { jettonTransfer, tonOr } from '../jettons.ts';
import type { Reading } from '../kind.ts';
import type { Asset, KnownContracts } from '../known.ts';
import type { Match, Pattern } from '../pattern.ts';
import type { RawAddress } from '../trace.ts';
import { PTON_TRANSFER, paidTransfer, payment, paymentLeg, ptonAmount } from './pton.ts';
import { SWAP_OK } from './stonfi.ts';
import { declareSwap, type Hop, type Leg, masterOf, nextCall, type Swap, transferLeg } from './swap.ts';

/** Pools on one way; a body is no deeper. */
const MAX_HOPS = 64;

/** What asks for a further trade. The opcode before it is one of two. */
const crossSwap = record('cross_swap', {
  token_wallet1: address,
  refund_address: address,
  excesses_address: address,
  tx_deadline: u64,
  cross_swap_body: ref(record(null, { min_out: amount, receiver: address, fwd_gas: coins, custom_payload: maybeCell })),
});

/** Of what a router was asked for, the wallet of the first pool's other asset. */
const payloadHead = body('stonfi_swap_v2_forward_payload', stonfiSwapV2Payload.opcode, { token_wallet1: address });

/**
 * A pool's trade, what it has the router pay, and the next pool where that goes to one: a pool that had nothing paid does
 * not count.
 */
const trade: Pattern = {
  op: stonfiSwapV2.opcode,
  as: 'swap',
  get child(): Pattern {
    return paid;
  },
  optional: true,
};

/** TON that a router sends on to where the next pool is asked from. */
const sentOn: Pattern = {
  op: PTON_TRANSFER,
  where: goesOn,
  child: { op: jettonNotify.opcode, child: trade },
};

/** Of the last TON on the way only the message itself is part of the trade, and not what its receiver makes of it. */
const paid: Pattern = {
  op: stonfiPayToV2.opcode,
  as: 'paid',
  child: {
    any: [
      {
        block: jettonTransfer.block,
        where: (block) => jettonTransfer.of(block)?.hasInternal === false,
        as: 'out',
        child: sentOn,
      },
      { block: jettonTransfer.block, as: 'out', child: trade },
      trade,
    ],
  },
};

/** Whether TON goes to whom the router said, to be traded there. */
function goesOn(block: Block): boolean {
  const payload = tryBody(block, ptonTonTransfer)?.forward_payload.cell;
  return (
    payload?.opcode === stonfiSwapV2.opcode && jettonTransfer.of(block.prev)?.receiver === messageOf(block).destination
  );
}

export const stonfiV2Swap = declareSwap('stonfi_v2', [
  { rank: 21, pattern: { ...trade, child: paid, parent: payment }, read: readSwap },
]);

interface Paid {
  exitCode: number;
  token: RawAddress | null;
  amount: Decimal;
}

/** What a pool has the router pay: the larger of the two amounts. */
function readPaid(block: Block): Paid {
  const { exit_code: exitCode, additional } = readBody(block, stonfiPayToV2);
  const { amount0_out, token0_address, amount1_out, token1_address } = additional;
  return compareDecimal(amount0_out, amount1_out) >= 0
    ? { exitCode, amount: amount0_out, token: addressText(token0_address) }
    : { exitCode, amount: amount1_out, token: addressText(token1_address) };
}

function readSwap(found: Match, known: KnownContracts): Reading<Swap> | null {
  const incoming = paymentLeg(found, found.head);
  const out = found.named('out').at(-1);
  const outgoing = out === undefined ? null : outgoingLeg(out);
  if (incoming === null || out === undefined || outgoing === null) return null;
  const ton = nextCall(out, PTON_TRANSFER);
  const payments = found.named('paid').map(readPaid);
  const hops = readHops(found.named('swap'), payments, incoming, known);
  if (hops === null) return null;
  const failed = payments.some(({ exitCode }) => exitCode !== SWAP_OK);
  return {
    data: {
      sender: incoming.source,
      incoming,
      outgoing,
      assetIn: incoming.asset,
      assetOut: failed ? requestedAsset(found, outgoing.asset, known) : outgoing.asset,
      hops,
    },
    failed,
    blocks: ton === null ? found.all() : [...found.all(), ton],
  };
}

function outgoingLeg(block: Block): Leg | null {
  const transfer = jettonTransfer.of(block);
  if (transfer === null) return null;
  const ton = nextCall(block, PTON_TRANSFER);
  // A transfer of pTON that went on to nobody paid nothing out.
  if (ton === null) return transfer.hasInternal ? transferLeg(transfer, tonOr(transfer.asset)) : null;
  return {
    asset: null,
    amount: ptonAmount(ton),
    source: transfer.sender,
    destination: destinationOf(ton),
    sourceWallet: transfer.senderWallet,
    destinationWallet: null,
  };
}

/** The last token wallet that a trade's payload names, over all the trades it asks for. */
function lastWallet(first: Block): RawAddress | null {
  const { dex_payload } = readBody(first, stonfiSwapV2);
  let wallet = dex_payload.token_wallet1;
  let next: CellView | null = dex_payload.swap_body.custom_payload;
  for (let hops = 0; next !== null && hops < MAX_HOPS; hops++) {
    if (next.opcode !== stonfiSwapV2Payload.opcode && next.opcode !== stonfiCrossSwapPayload.opcode) break;
    const cursor = next.cursor();
    cursor.skip(32);
    const fields = crossSwap.read(cursor);
    wallet = fields.token_wallet1;
    next = fields.cross_swap_body.custom_payload;
  }
  return addressText(wallet);
}

/** What was asked for when it was not got. */
function requestedAsset(found: Match, got: Asset, known: KnownContracts): Asset {
  const last = masterOf(lastWallet(found.head), known);
  if (last !== null) return tonOr(last);
  const ton = found.first('tonIn');
  const payload =
    ton === null ? paidTransfer(found)?.forwardPayload : tryBody(ton, ptonTonTransfer)?.forward_payload.cell;
  const fields = payload === null || payload === undefined ? null : payloadHead.in(payload);
  const named = fields === null ? null : masterOf(addressText(fields.token_wallet1), known);
  return named === null ? got : named;
}

/**
 * The pools that traded, none for less than two. Only wallets that trades asked for count as known, up to the first
 * without a record; null when a pool paid from another one.
 */
function readHops(swaps: readonly Block[], payments: readonly Paid[], incoming: Leg, known: KnownContracts) {
  if (swaps.length < 2) return [];
  // All are asked for at once: what is not in memory is loaded between two readings.
  const asked = swaps.map((swap) => {
    const wallet = addressText(readBody(swap, stonfiSwapV2).dex_payload.token_wallet1);
    return { wallet, master: masterOf(wallet, known) };
  });
  const assets = new Map<RawAddress | null, Asset>();
  for (const { wallet, master } of asked) {
    if (master === null) break;
    assets.set(wallet, tonOr(master));
  }
  const hops: Hop[] = [];
  let { asset: assetIn, amount: amountIn } = incoming;
  for (const [i, { exitCode, token, amount: amountOut }] of payments.entries()) {
    // A later pool that did not trade gave back what it was paid.
    if (i > 0 && exitCode !== SWAP_OK) continue;
    const assetOut = assets.get(token);
    if (assetOut === undefined) return null;
    hops.push({ assetIn, amountIn, assetOut, amountOut });
    if (exitCode !== SWAP_OK) break;
    assetIn = assetOut;
    amountIn = amountOut;
  }
  return hops.length < 2 ? [] : hops;
}

export const kinds = [stonfiV2Swap];
