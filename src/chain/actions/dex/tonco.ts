/** TONCO: trades. */

import { compareDecimal } from '../../decimal.ts';
import { DecodeError } from '../../errors.ts';
import { address } from '../../layouts/addresses.ts';
import type { CellView } from '../../layouts/cell-view.ts';
import { toncoPayTo, toncoPoolSwap } from '../../layouts/dex/tonco.ts';
import { jettonNotify, ptonTonTransfer, jettonTransfer as transferBody } from '../../layouts/jettons.ts';
import { body } from '../../layouts/layout.ts';
import { amount, bigUint, u32, u64 } from '../../layouts/numbers.ts';
import { maybe, maybeCell, record, ref } from '../../layouts/shapes.ts';
import type { Decimal } from '../../model.ts';
import type { Block } from '../block.ts';
import { addressText, readBody, tryBody } from '../bodies.ts';
import { type JettonTransfer, jettonTransfer, tonOr } from '../jettons.ts';
import type { Reading } from '../kind.ts';
import type { Asset, KnownContracts } from '../known.ts';
import type { Match, Pattern } from '../pattern.ts';
import type { RawAddress } from '../trace.ts';
import { PTON_TRANSFER, payment, paymentLeg } from './pton.ts';
import { declareSwap, type Hop, type Leg, masterOf, nextCall, type Swap, transferLeg } from './swap.ts';

/** Pools on one way; a body is no deeper. */
const MAX_HOPS = 64;
const SUCCESS: ReadonlySet<number> = new Set([0, 200]);

/** What every form of the message has; what follows depends on the exit code. */
export const payTo = body('tonco_pay_to', toncoPayTo.opcode, {
  query_id: u64,
  receiver0: address,
  receiver1: address,
  exit_code: u32,
  seqno: u64,
  coins: maybe(ref(record(null, { amount0: amount, jetton0: address, amount1: amount, jetton1: address }))),
});

/** Where a pool's trade is paid from; what follows is for the pool. */
const swapHead = body('tonco_pool_swap', toncoPoolSwap.opcode, {
  query_id: u64,
  owner: address,
  source_wallet: address,
});

/** What is asked of a router with a transfer. */
const swapPayload = record('tonco_swap_payload', {
  target_router_wallet: address,
  price_limit: bigUint(160),
  min_out: amount,
  recipient: address,
  inner: maybeCell,
});

const trade: Pattern = {
  op: toncoPoolSwap.opcode,
  as: 'swap',
  get child(): Pattern {
    return paid;
  },
};

/** Beside a transfer that goes on to the next pool. */
const tonAside: Pattern = { op: PTON_TRANSFER, returns: false, optional: true };

const paid: Pattern = {
  op: payTo.opcode,
  as: 'paid',
  child: {
    any: [
      { block: jettonTransfer.block, children: [trade, tonAside] },
      { block: jettonTransfer.block, child: { op: PTON_TRANSFER, child: { op: jettonNotify.opcode, child: trade } } },
      { block: jettonTransfer.block, as: 'out' },
      { op: transferBody.opcode, as: 'out', child: { op: PTON_TRANSFER } },
    ],
  },
};

export const toncoSwap = declareSwap('tonco', [
  { rank: 22, pattern: { ...trade, child: paid, parent: payment }, read: readSwap },
]);

interface Step {
  /** The router's wallet that the pool was paid from. */
  source: RawAddress | null;
  exitCode: number;
  wallet: RawAddress | null;
  amount: Decimal;
}

/** A pool that traded, null where what it was asked for or what it paid cannot be read. */
function readStep(swap: Block, payment: Block): Step | null {
  const asked = tryBody(swap, swapHead);
  const paid = tryBody(payment, payTo);
  if (asked === null || paid === null) return null;
  const { exit_code: exitCode, coins } = paid;
  const source = addressText(asked.source_wallet);
  if (coins === null) return { source, exitCode, wallet: null, amount: '0' };
  return compareDecimal(coins.amount0, coins.amount1) >= 0
    ? { source, exitCode, wallet: addressText(coins.jetton0), amount: coins.amount0 }
    : { source, exitCode, wallet: addressText(coins.jetton1), amount: coins.amount1 };
}

const byLt = (a: Block, b: Block): number => compareDecimal(a.minLt, b.minLt);

function readSwap(found: Match, known: KnownContracts): Reading<Swap> | null {
  const incoming = paymentLeg(found, found.head);
  const last = found.named('out').sort(byLt).at(-1);
  if (incoming === null || last === undefined) return null;
  const out = jettonTransfer.of(last);
  if (out === null) return null;
  // The TON alone: what its receiver makes of it is not part of the trade.
  const ton = nextCall(last, PTON_TRANSFER);
  const outgoing = transferLeg(out, tonOr(out.asset));
  const payments = found.named('paid').sort(byLt);
  const swaps = found.named('swap').sort(byLt);
  if (payments.length !== swaps.length) return null;
  const steps = swaps.map((swap, at) => readStep(swap, payments[at]));
  const failed = steps.some((step) => step === null || !SUCCESS.has(step.exitCode));
  const read = steps.filter((step) => step !== null);
  const asked = failed && read.length > 0 ? requested(found, known) : null;
  return {
    data: {
      sender: incoming.source,
      incoming,
      outgoing,
      assetIn: incoming.asset,
      assetOut: asked === null ? outgoing.asset : asked.asset,
      minOut: asked === null ? outgoing.amount : asked.minOut,
      hops: readHops(read, { incoming, out }, known),
    },
    failed,
    blocks: ton === null ? found.all() : [...found.all(), ton],
  };
}

/** What a failed trade was to bring. Only what was asked for together with TON is looked at. */
function requested(found: Match, known: KnownContracts): { asset: Asset; minOut: Decimal } | null {
  const ton = found.first('tonIn');
  if (ton === null) return null;
  let fields = readPayload(readBody(ton, ptonTonTransfer).forward_payload.cell);
  if (fields === null) return null;
  for (let hops = 0; hops < MAX_HOPS; hops++) {
    const inner = readPayload(fields.inner);
    if (inner === null) break;
    fields = inner;
  }
  const master = masterOf(addressText(fields.target_router_wallet), known);
  return master === null ? null : { asset: tonOr(master), minOut: fields.min_out };
}

/** What is asked of a router. Null for anything else that is sent: it is for the receiver. */
function readPayload(view: CellView | null) {
  if (view?.opcode !== toncoPoolSwap.opcode) return null;
  try {
    const cursor = view.cursor();
    cursor.skip(32);
    return swapPayload.read(cursor);
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

/**
 * The pools that traded. Wallets that trades were paid from, and that the last one was paid out of, are known; any other
 * stands for TON, but where the way begins with one nothing of it is told.
 */
function readHops(
  steps: readonly Step[],
  { incoming, out }: { incoming: Leg; out: JettonTransfer },
  known: KnownContracts,
): Hop[] {
  if (steps.length < 2 || !SUCCESS.has(steps[0].exitCode)) return [];
  const assets = new Map<RawAddress | null, Asset>();
  for (const { source } of steps) {
    const master = masterOf(source, known);
    if (master !== null) assets.set(source, tonOr(master));
  }
  assets.set(out.senderWallet, tonOr(out.asset));
  assets.set(out.receiverWallet, tonOr(out.asset));
  if (steps[0].wallet === null || !assets.has(steps[0].wallet)) return [];
  const hops: Hop[] = [];
  let { asset: assetIn, amount: amountIn } = incoming;
  for (const { exitCode, wallet, amount: amountOut } of steps) {
    // A later pool that did not trade gave back what it was paid.
    if (!SUCCESS.has(exitCode) || wallet === null) continue;
    const assetOut = assets.get(wallet) ?? null;
    hops.push({ assetIn, amountIn, assetOut, amountOut });
    assetIn = assetOut;
    amountIn = amountOut;
  }
  return hops;
}

export const kinds = [toncoSwap];
