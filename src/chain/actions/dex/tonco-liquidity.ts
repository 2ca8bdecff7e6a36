/** TONCO: positions and pools. */
import { address } from '../../layouts/addresses.ts';
import {
  toncoAddLiquidity,
  toncoCreatePool,
  toncoFundAccount,
  toncoFundAccountPayload,
  toncoPoolBurn,
  toncoPoolInit,
  toncoPoolMintAndRefund,
  toncoPositionBurn,
  toncoPositionInit,
  toncoStartBurn,
} from '../../layouts/dex/tonco.ts';
import { jettonNotify } from '../../layouts/jettons.ts';
import { body } from '../../layouts/layout.ts';
import { amount, bigUint, bool, int, u64, u128, u256 } from '../../layouts/numbers.ts';
import { record, ref } from '../../layouts/shapes.ts';
import type { Decimal } from '../../model.ts';
import type { Block } from '../block.ts';
import { addressText, destinationOf, messageOf, readBody, sourceOf, tryBody } from '../bodies.ts';
import { jettonTransfer, tonOr } from '../jettons.ts';
import { declare, type Reading } from '../kind.ts';
import type { KnownContracts } from '../known.ts';
import { nftMint } from '../nfts.ts';
import { EXCESSES, type Match, type Pattern } from '../pattern.ts';
import type { RawAddress, TraceNode } from '../trace.ts';
import { type Deposit, declareDeposit, declareWithdrawal, type Part, type Withdrawal } from './liquidity.ts';
import { PTON_TRANSFER, paidTransfer, payment, ptonAmount } from './pton.ts';
import { masterOf, nextCall } from './swap.ts';
import { payTo } from './tonco.ts';

const BURNED = 201;
/** A router's wallet of pTON, from which it pays TON. */
const ROUTER_PTON = '0:871DA9215B14902166F0EA2A16DB56278D528108377F8158C5F4CCFDFDD22E17';

/** What the router pays out. */
const payout: Pattern = {
  block: jettonTransfer.block,
  as: 'out',
  child: { op: PTON_TRANSFER, optional: true },
  optional: true,
};

export const toncoDeposit = declareDeposit('tonco', 'tonco_deposit_liquidity', [
  {
    rank: 62,
    pattern: {
      op: toncoAddLiquidity.opcode,
      parent: { op: toncoFundAccount.opcode, parent: payment },
      child: {
        op: toncoPoolMintAndRefund.opcode,
        optional: true,
        children: [
          { op: payTo.opcode, optional: true, children: [payout, payout] },
          { block: nftMint.block, as: 'position' },
        ],
      },
    },
    read: readDeposit,
  },
]);

/** The message by which the router learned of the payment. */
function notification(found: Match): TraceNode | null {
  const notified = found.first('notified');
  if (notified !== null) return notified.node;
  return found.first('in')?.nodes.find(({ message }) => message?.opcode === jettonNotify.opcode) ?? null;
}

/** Up to the amounts; the terms are the pool's. */
const fundPayload = body('tonco_fund_account_payload', toncoFundAccountPayload.opcode, {
  other_wallet: address,
  amount0: amount,
  amount1: amount,
});

/** Of a position up to its number; what follows is for the item. */
const positionInitHead = body('tonco_position_nft_init', toncoPositionInit.opcode, {
  query_id: u64,
  user: address,
  liquidity: u128,
  tick_lower: int(24),
  tick_upper: int(24),
  fees: ref(record(null, { fee0: u256, fee1: u256, index: u64 })),
});

function readDeposit(found: Match, known: KnownContracts): Reading<Deposit> | null {
  const { message } = notification(found) ?? { message: null };
  if (message === null) return null;
  const paid = jettonNotify.read(message.body().cursor());
  const fund = fundPayload.in(paid.forward_payload.cell);
  if (fund === null || fund.other_wallet === null) return null;
  const added = readBody(found.head, toncoAddLiquidity);
  const isFirst = added.new_amount0 !== '0';
  const wallet = paidTransfer(found)?.senderWallet ?? null;
  const asset = tonOr(masterOf(message.source, known));
  const other = tonOr(masterOf(addressText(fund.other_wallet), known));
  const position = found.first('position');
  const made = position === null ? null : readBody(position, positionInitHead);
  return {
    data: {
      source: addressText(paid.sender),
      first: { asset, amount: paid.amount, wallet: isFirst ? wallet : null },
      second: { asset: null, amount: null, wallet: isFirst ? null : wallet },
      pool: sourceOf(found.head),
      lp: made?.liquidity ?? null,
      targets: [
        { asset: isFirst ? asset : other, amount: added.new_enough0 },
        { asset: isFirst ? other : asset, amount: added.new_enough1 },
      ],
      excesses: found.named('out').flatMap((block) => paidBack(block) ?? []),
      position: {
        tickLower: added.tick_lower,
        tickUpper: added.tick_upper,
        index: made?.fees.index ?? null,
        nft: nftMint.of(position)?.item.address ?? null,
      },
      sourceWallet: wallet,
      contract: destinationOf(found.head),
    },
  };
}

interface PaidOut extends Part {
  amount: Decimal;
  /** The router's wallet that it comes from, null for TON. */
  from: RawAddress | null;
}

/** A payout of the router, TON where it goes on as such. */
function paidBack(block: Block): PaidOut | null {
  const transfer = jettonTransfer.of(block);
  const ton = nextCall(block, PTON_TRANSFER);
  if (transfer === null) return null;
  const { senderWallet: from, receiverWallet: wallet } = transfer;
  if (ton !== null) return { asset: null, amount: ptonAmount(ton), wallet: null, from };
  return { asset: transfer.asset, amount: transfer.amount, wallet, from };
}

export const toncoWithdrawal = declareWithdrawal('tonco', 'tonco_withdraw_liquidity', [
  {
    rank: 64,
    pattern: {
      op: toncoStartBurn.opcode,
      child: {
        op: toncoPositionBurn.opcode,
        as: 'position',
        child: {
          op: toncoPoolBurn.opcode,
          as: 'burned',
          child: { op: payTo.opcode, as: 'paid', children: [payout, payout] },
        },
      },
    },
    read: readWithdrawal,
  },
]);

/** Of a withdrawal whose it is and which position; the rest is for the pool. */
const positionHead = body('tonco_position_nft_burn', toncoPositionBurn.opcode, { query_id: u64, nft_owner: address });
const burnedHead = body('tonco_pool_burn', toncoPoolBurn.opcode, {
  query_id: u64,
  recipient: address,
  burned_index: u64,
});

function readWithdrawal(found: Match, known: KnownContracts): Reading<Withdrawal> | null {
  const position = found.first('position');
  const burned = found.first('burned');
  const paid = found.first('paid');
  if (position === null || burned === null || paid === null) return null;
  const start = readBody(found.head, toncoStartBurn);
  const { exit_code, coins, receiver0, receiver1 } = readBody(paid, payTo);
  if (coins === null || coins.jetton0 === null || coins.jetton1 === null) return null;
  const asked = [
    { jetton: coins.jetton0, amount: coins.amount0, receiver: receiver0 },
    { jetton: coins.jetton1, amount: coins.amount1, receiver: receiver1 },
  ].map(({ jetton, amount, receiver }): PaidOut => {
    const text = addressText(jetton);
    const from = text === ROUTER_PTON ? null : text;
    return { from, asset: tonOr(masterOf(from, known)), amount, wallet: addressText(receiver) };
  });
  const outs = found.named('out').flatMap((block) => paidBack(block) ?? []);
  // A payout stands in for the next one that was asked for, whatever it is of; then the first one's wallet decides on the
  // order. So of a position that was paid out in the second asset alone that is told twice.
  const told = asked.map((one, at) => outs[at] ?? one);
  const [first, second] = told[0].from === asked[0].from ? told : told.reverse();
  const burnt = tryBody(burned, burnedHead)?.burned_index ?? '0';
  return {
    data: {
      source: addressText(readBody(position, positionHead).nft_owner),
      sourceWallet: null,
      first,
      second,
      pool: destinationOf(found.head),
      lp: start.liquidity_to_burn,
      position: {
        tickLower: start.tick_lower,
        tickUpper: start.tick_upper,
        index: burnt === '0' ? start.burned_index : burnt,
        nft: destinationOf(position),
      },
    },
    failed: exit_code !== 0 && exit_code !== BURNED,
  };
}

interface NewPool {
  source: RawAddress | null;
  router: RawAddress;
  pool: RawAddress;
  wallets: readonly [RawAddress | null, RawAddress | null];
  minters: readonly [RawAddress | null, RawAddress | null];
  tickSpacing: number;
  price: Decimal;
  protocolFee: number;
  lpFeeBase: number;
  lpFeeCurrent: number;
  isActive: boolean;
}

/** The fields up to whether the pool works; what follows is for the pool alone. */
const initHead = body('tonco_pool_init', toncoPoolInit.opcode, {
  query_id: u64,
  from_admin: bool,
  has_admin: bool,
  admin: address,
  has_controller: bool,
  controller: address,
  set_spacing: bool,
  tick_spacing: int(24),
  set_price: bool,
  price: bigUint(160),
  set_active: bool,
  pool_active: bool,
});

export const toncoDeployPool = declare<NewPool>({
  block: 'tonco_deploy_pool',
  groups: ['v2'],
  leaf: false,
  matchers: [
    {
      rank: 63,
      pattern: {
        op: toncoCreatePool.opcode,
        child: {
          op: toncoPoolInit.opcode,
          as: 'init',
          // What is left of the value; a pool that was there before may refuse, too.
          children: [{ op: EXCESSES, optional: true, returns: false }],
          returns: false,
        },
      },
      read(found) {
        const init = found.first('init');
        if (init === null) return null;
        const asked = readBody(found.head, toncoCreatePool);
        const { jetton0_minter, jetton1_minter } = asked.minter_cell;
        return {
          data: {
            source: messageOf(found.head).source,
            router: destinationOf(found.head),
            pool: destinationOf(init),
            wallets: [addressText(asked.jetton_wallet0), addressText(asked.jetton_wallet1)],
            minters: [addressText(jetton0_minter), addressText(jetton1_minter)],
            tickSpacing: asked.tick_spacing,
            price: asked.initial_price_x96,
            protocolFee: asked.protocol_fee,
            lpFeeBase: asked.lp_fee_base,
            lpFeeCurrent: asked.lp_fee_current,
            isActive: readBody(init, initHead).pool_active,
          },
        };
      },
    },
  ],
  details: (told) => ({
    source: told.source,
    pool: told.pool,
    router: told.router,
    router_jetton_wallet_1: told.wallets[0],
    router_jetton_wallet_2: told.wallets[1],
    jetton_minter_1: told.minters[0],
    jetton_minter_2: told.minters[1],
    tick_spacing: String(told.tickSpacing),
    initial_price_x96: told.price,
    protocol_fee: String(told.protocolFee),
    lp_fee_base: String(told.lpFeeBase),
    lp_fee_current: String(told.lpFeeCurrent),
    pool_active: told.isActive,
  }),
  accounts: ({ source, router, pool }) => ({ source, destination: router, destination2: pool }),
});

export const kinds = [toncoDeposit, toncoWithdrawal, toncoDeployPool];
