/** STON.fi v1 (ston-fi/dex-core). */

import { compareDecimal } from '../../decimal.ts';
import { address } from '../../layouts/addresses.ts';
import {
  stonfiPaymentRequest,
  stonfiSwapOk,
  stonfiSwapOkReferral,
  stonfiSwapPayload,
  stonfiSwap as swapBody,
} from '../../layouts/dex/stonfi.ts';
import { body } from '../../layouts/layout.ts';
import { amount, u32, u64 } from '../../layouts/numbers.ts';
import { record, ref } from '../../layouts/shapes.ts';
import type { Decimal } from '../../model.ts';
import type { Block } from '../block.ts';
import { addressText, readBody, tryBody } from '../bodies.ts';
import { type JettonTransfer, jettonTransfer } from '../jettons.ts';
import type { Reading } from '../kind.ts';
import type { KnownContracts } from '../known.ts';
import type { Match } from '../pattern.ts';
import type { RawAddress } from '../trace.ts';
import { declareSwap, masterOf, type Swap } from './swap.ts';

/** Exit codes of a payment: what it is for. */
export const SWAP_OK = stonfiSwapOk.opcode;
const NO_LIQUIDITY = 0x5ffe1295;
const RESERVE_ERROR = 0x38976e9b;
const REFERRAL_PAYMENT = stonfiSwapOkReferral.opcode;
const OUTCOMES: ReadonlySet<number> = new Set([SWAP_OK, NO_LIQUIDITY, RESERVE_ERROR]);

/** Up to who gets it; a referral is not told. */
const payloadHead = body('stonfi_swap_forward_payload', stonfiSwapPayload.opcode, {
  token_wallet: address,
  min_out: amount,
  to_address: address,
});

/** Whatever pools say before it, what is to be paid stands in the reference. */
const paymentRequest = body('stonfi_payment_request', stonfiPaymentRequest.opcode, {
  query_id: u64,
  owner: address,
  exit_code: u32,
  params: ref(record(null, { amount0: amount, token0: address, amount1: amount, token1: address })),
});

export const stonfiSwap = declareSwap('stonfi', [
  {
    rank: 20,
    pattern: {
      block: jettonTransfer.block,
      child: {
        op: swapBody.opcode,
        as: 'swap',
        child: {
          op: paymentRequest.opcode,
          where: (block) => tryBody(block, paymentRequest)?.exit_code !== REFERRAL_PAYMENT,
          as: 'request',
          child: { block: jettonTransfer.block },
        },
      },
    },
    read: readSwap,
  },
]);

interface Request {
  block: Block;
  exitCode: number;
  token: RawAddress | null;
  amount: Decimal;
}

/** The payment of the largest amount. */
function paidRequest(found: Match): Request | null {
  let largest: Request | null = null;
  for (const block of found.named('request')) {
    const { exit_code: exitCode, params } = readBody(block, paymentRequest);
    if (!OUTCOMES.has(exitCode)) continue;
    const { amount0, token0, amount1, token1 } = params;
    const request =
      amount0 !== '0'
        ? { block, exitCode, amount: amount0, token: addressText(token0) }
        : { block, exitCode, amount: amount1, token: addressText(token1) };
    if (largest === null || compareDecimal(request.amount, largest.amount) > 0) largest = request;
  }
  return largest;
}

function payloadOf({
  forwardPayload,
}: JettonTransfer): { token: RawAddress | null; receiver: RawAddress | null } | null {
  const fields = forwardPayload === null ? null : payloadHead.in(forwardPayload);
  return fields === null ? null : { token: addressText(fields.token_wallet), receiver: addressText(fields.to_address) };
}

function readSwap(found: Match, known: KnownContracts): Reading<Swap> | null {
  const paid = jettonTransfer.of(found.head);
  const asks = found.first('swap');
  const request = paidRequest(found);
  if (paid === null || asks === null || request === null) return null;
  const out = request.block.next.map((block) => jettonTransfer.of(block)).find((one) => one !== null);
  if (out === undefined) return null;
  const asked = payloadOf(paid);
  const swap = readBody(asks, swapBody);
  const tokenWallet = addressText(swap.sender_address);
  const wallet = tokenWallet === null ? undefined : known.jettonWallet(tokenWallet);
  if (wallet === undefined) return null;
  const sender = addressText(swap.addrs.from_user);
  const assetIn = wallet.jetton;
  const assetOut = masterOf(request.token, known);
  return {
    data: {
      sender,
      assetIn,
      assetOut: masterOf(asked?.token ?? null, known) ?? assetOut,
      incoming: {
        asset: assetIn,
        amount: swap.jetton_amount,
        source: sender,
        destination: wallet.owner,
        sourceWallet: paid.senderWallet,
        destinationWallet: tokenWallet,
      },
      outgoing: {
        asset: assetOut,
        amount: request.amount,
        source: out.sender,
        destination: out.hasInternal ? out.receiver : (asked?.receiver ?? addressText(swap.to_address)),
        sourceWallet: out.senderWallet,
        destinationWallet: out.hasInternal ? out.receiverWallet : null,
      },
      hops: [],
      requestedWallet: asked?.token ?? null,
    },
    failed: request.exitCode !== SWAP_OK,
  };
}

export const kinds = [stonfiSwap];
