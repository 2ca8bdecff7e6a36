/** STON.fi v2 (ston-fi/dex-core-v2): liquidity. */
import { address } from '../../layouts/addresses.ts';
import {
  stonfiAddLiquidityV2,
  stonfiBurnNotificationV2,
  stonfiCallbackAddLiquidityV2,
  stonfiPayToV2,
  stonfiProvideV2,
} from '../../layouts/dex/stonfi.ts';
import { jettonInternalTransfer, jettonNotify } from '../../layouts/jettons.ts';
import { body } from '../../layouts/layout.ts';
import { amount, u64 } from '../../layouts/numbers.ts';
import type { Block } from '../block.ts';
import { addressText, destinationOf, messageOf, readBody, sourceOf } from '../bodies.ts';
import { arrived, jettonBurn, jettonTransfer } from '../jettons.ts';
import type { Reading } from '../kind.ts';
import type { Match, Pattern } from '../pattern.ts';
import {
  type Deposit,
  declareDeposit,
  declareWithdrawal,
  NO_PART,
  NO_TARGETS,
  type Part,
  type Withdrawal,
} from './liquidity.ts';
import { PTON_TRANSFER, ptonAmount } from './pton.ts';
import { nextCall } from './swap.ts';

const REFUND_ME = 0x0f98e2b8;
const DIRECT_REFUND = 0x132b9a2c;

/** The pool's tokens for the depositor, or the deposit given back to wait. */
const outcome: Pattern = {
  any: [
    { op: jettonInternalTransfer.opcode, as: 'lp' },
    { op: stonfiAddLiquidityV2.opcode, as: 'refund' },
  ],
};

export const stonfiV2Deposit = declareDeposit('stonfi_v2', 'dex_deposit_liquidity', [
  {
    rank: 46,
    pattern: {
      op: stonfiProvideV2.opcode,
      parent: {
        any: [
          { block: jettonTransfer.block, as: 'in' },
          { op: jettonNotify.opcode, parent: { op: PTON_TRANSFER, as: 'tonIn' } },
          {
            op: jettonNotify.opcode,
            parent: { op: jettonInternalTransfer.opcode, parent: { block: jettonTransfer.block, as: 'in' } },
          },
        ],
      },
      child: {
        op: stonfiAddLiquidityV2.opcode,
        child: { op: stonfiCallbackAddLiquidityV2.opcode, optional: true, child: outcome },
      },
    },
    read: readDeposit,
  },
]);

/** Up to the amounts; the terms are the pool's. */
const provideHead = body('stonfi_provide_lp_v2', stonfiProvideV2.opcode, {
  query_id: u64,
  from_user: address,
  amount1: amount,
  amount2: amount,
});

function readDeposit(found: Match): Reading<Deposit> | null {
  const asked = readBody(found.head, provideHead);
  const transfer = jettonTransfer.of(found.first('in'));
  const lp = found.first('lp');
  const own: Deposit = {
    source: addressText(asked.from_user),
    first: {
      asset: transfer?.asset ?? null,
      amount: asked.amount1 === '0' ? asked.amount2 : asked.amount1,
      wallet: transfer?.senderWallet ?? null,
    },
    second: NO_PART,
    pool: destinationOf(found.head),
    lp: lp === null ? null : (arrived(lp)?.amount ?? null),
    targets: NO_TARGETS,
    excesses: [],
  };
  const failed = found.first('refund') !== null;
  const before = (found.first('in') ?? found.first('tonIn'))?.prev ?? null;
  const sibling = before?.next.find((block) => isOtherHalf(stonfiV2Deposit.of(block), own));
  const other = sibling === undefined ? null : stonfiV2Deposit.of(sibling);
  if (before === null || sibling === undefined || other === null) return { data: own, failed };
  return {
    data: { ...own, second: other.first, lp: own.lp ?? other.lp },
    failed,
    blocks: [...found.all(), sibling],
    under: before,
  };
}

/** The deposit of the other asset, sent at the same time: the pool's tokens are made for one of the two. */
function isOtherHalf(other: Deposit | null, own: Deposit): boolean {
  return other !== null && other.source === own.source && other.pool === own.pool && other.lp !== own.lp;
}

/** TON that the router pays; what its receiver makes of it stays apart. */
const tonOut: Pattern = { op: PTON_TRANSFER, optional: true, returns: false };

/** What the router pays for the pool's tokens, or gives back: once for each asset. */
const paid: Pattern = {
  op: stonfiPayToV2.opcode,
  as: 'paid',
  child: { block: jettonTransfer.block, child: tonOut },
};

/** The payments beside the one that is tried. What they give back themselves stays apart, as with that one. */
const allPaid: Pattern = {
  ...paid,
  child: { block: jettonTransfer.block, child: tonOut, returns: false },
  returns: false,
};

export const stonfiV2Withdrawal = declareWithdrawal('stonfi_v2', 'dex_withdraw_liquidity', [
  {
    rank: 47,
    pattern: {
      ...paid,
      parent: {
        any: [
          { op: stonfiBurnNotificationV2.opcode, child: allPaid, parent: { block: jettonBurn.block, as: 'burn' } },
          { op: REFUND_ME, child: allPaid, parent: { op: DIRECT_REFUND, as: 'refund' } },
        ],
      },
    },
    read: readWithdrawal,
  },
]);

function readWithdrawal(found: Match): Reading<Withdrawal> | null {
  const burn = jettonBurn.of(found.first('burn'));
  const refund = found.first('refund');
  const [first, second = NO_PART] = [...new Set(found.named('paid'))].map(paidPart);
  if (first === undefined) return null;
  return {
    data: {
      source: burn?.owner ?? (refund === null ? null : messageOf(refund).source),
      sourceWallet: burn?.wallet ?? null,
      first,
      second,
      pool: sourceOf(found.head),
      lp: burn?.amount ?? null,
    },
  };
}

/** What a payment of the router brought, TON where it goes on as such. */
function paidPart(block: Block): Part {
  for (const next of block.next) {
    const transfer = jettonTransfer.of(next);
    if (transfer === null) continue;
    const wallet = transfer.receiverWallet;
    const ton = nextCall(next, PTON_TRANSFER);
    if (ton !== null) return { asset: null, amount: ptonAmount(ton), wallet };
    return { asset: transfer.asset, amount: transfer.amount, wallet };
  }
  return NO_PART;
}

export const kinds = [stonfiV2Deposit, stonfiV2Withdrawal];
