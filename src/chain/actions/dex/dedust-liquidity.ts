/** DeDust v2: liquidity. */

import { rawAddress } from '../../address.ts';
import { compareDecimal } from '../../decimal.ts';
import { internalAddress } from '../../layouts/addresses.ts';
import {
  dedustAsset,
  dedustCreateDeposit,
  dedustDepositAll,
  dedustDepositAsset,
  dedustDepositLiquidity,
  dedustDepositLiquidityInline,
  dedustDepositPayload,
  dedustFulfillDeposit,
  dedustInstall,
  dedustPayOutFromDeposit,
  dedustPayout,
  dedustPoolParams,
  dedustRejectDeposit,
} from '../../layouts/dex/dedust.ts';
import {
  jettonBurnNotification,
  jettonInternalTransfer,
  jettonNotify,
  jettonTransfer as transferBody,
} from '../../layouts/jettons.ts';
import { body } from '../../layouts/layout.ts';
import { coins, u64 } from '../../layouts/numbers.ts';
import { cell, record, ref } from '../../layouts/shapes.ts';
import type { Decimal } from '../../model.ts';
import { Block } from '../block.ts';
import { addressText, destinationOf, messageOf, readBody, sentValue, sourceOf, tryBody } from '../bodies.ts';
import { arrived, burnHead, jettonTransfer } from '../jettons.ts';
import type { Reading } from '../kind.ts';
import type { KnownContracts } from '../known.ts';
import type { Match, Pattern } from '../pattern.ts';
import { tonTransfer } from '../ton.ts';
import type { RawAddress } from '../trace.ts';
import { assetText, payoutHead } from './dedust.ts';
import {
  type AssetAmount,
  type AssetTarget,
  type Deposit,
  declareDeposit,
  declareWithdrawal,
  NO_PART,
  type Part,
  type Withdrawal,
} from './liquidity.ts';
import { masterOf } from './swap.ts';

// Of each body what is told, and nothing behind it.

const targetFields = { min_lp_amount: coins, asset0_target_balance: coins, asset1_target_balance: coins };
const tonDeposit = body('dedust_deposit_liquidity', dedustDepositLiquidity.opcode, {
  query_id: u64,
  amount: coins,
  pool_params: dedustPoolParams,
  deposit_params: ref(record(null, targetFields)),
});
const jettonDeposit = body('dedust_deposit_liquidity', dedustDepositPayload.opcode, {
  pool_params: dedustPoolParams,
  ...targetFields,
});
const depositAll = body('dedust_deposit_liquidity_all', dedustDepositAll.opcode, {
  query_id: u64,
  proof: cell,
  owner_addr: internalAddress,
  min_lp_amount: coins,
  assets: ref(record(null, { asset0: dedustAsset, amount0: coins, asset1: dedustAsset, amount1: coins })),
});

/** How one asset came to a vault, TON (`tonIn`) or a jetton (`transfer`, `notified`), which then made the deposit known. */
const created: Pattern = {
  op: dedustCreateDeposit.opcode,
  child: { op: dedustInstall.opcode, optional: true },
  parent: {
    any: [
      { op: dedustDepositLiquidity.opcode, as: 'tonIn' },
      {
        op: jettonNotify.opcode,
        as: 'notified',
        parent: { op: jettonInternalTransfer.opcode, parent: { op: transferBody.opcode, as: 'transfer' } },
      },
    ],
  },
};

/** What vaults give back, and what is left of the value. */
const givenBack: Pattern = {
  any: [
    {
      op: dedustPayOutFromDeposit.opcode,
      child: {
        any: [
          { op: dedustPayout.opcode, as: 'tonBack' },
          {
            op: transferBody.opcode,
            child: {
              op: jettonInternalTransfer.opcode,
              // As for any transfer of jettons, the wallet that they came to must be known.
              where: (block, known) => known.jettonWallet(destinationOf(block)) !== undefined,
              as: 'jettonBack',
              child: { op: jettonNotify.opcode, optional: true },
            },
          },
        ],
        optional: true,
      },
    },
    { block: tonTransfer.block },
  ],
  optional: true,
};

export const dedustDeposit = declareDeposit('dedust', 'dedust_deposit_liquidity', [
  {
    rank: 3,
    pattern: {
      op: dedustDepositAll.opcode,
      parent: { op: dedustDepositAsset.opcode, parent: created },
      children: [
        {
          any: [
            { op: jettonInternalTransfer.opcode, as: 'lp', child: { op: jettonNotify.opcode, optional: true } },
            { op: dedustRejectDeposit.opcode, as: 'rejected', child: givenBack },
          ],
        },
        { op: dedustFulfillDeposit.opcode, child: givenBack, optional: true },
      ],
    },
    read: readDeposit,
  },
]);

function readDeposit(found: Match, known: KnownContracts): Reading<Deposit> | null {
  const { owner_addr, assets } = readBody(found.head, depositAll);
  const owner = rawAddress(owner_addr);
  const first = deposited(owner, found, known);
  const lp = found.first('lp');
  if (first === null) return null;
  return {
    data: {
      source: owner,
      first,
      second: NO_PART,
      pool: destinationOf(found.head),
      destination: sourceOf(found.head),
      lp: lp === null ? null : (arrived(lp)?.amount ?? null),
      targets: [
        { asset: assetText(assets.asset0), amount: assets.amount0 },
        { asset: assetText(assets.asset1), amount: assets.amount1 },
      ],
      excesses: excessesTo(owner, found, known),
      contract: sourceOf(found.head),
    },
    failed: found.first('rejected') !== null,
  };
}

/** What this trace put in. */
function deposited(owner: RawAddress, found: Match, known: KnownContracts): Part | null {
  const ton = found.first('tonIn');
  if (ton !== null) return { asset: null, amount: readTonDeposit(ton).amount, wallet: null };
  const notified = found.first('notified');
  const transfer = found.first('transfer');
  if (notified === null || transfer === null) return null;
  const asset = masterOf(sourceOf(notified), known);
  if (asset === null) return null;
  const wallet = destinationOf(transfer);
  const isOwn = messageOf(transfer).source === owner;
  return {
    asset,
    amount: readBody(notified, jettonNotify).amount,
    wallet: isOwn && masterOf(wallet, known) === asset ? wallet : null,
  };
}

/** TON first, then jettons. */
function excessesTo(owner: RawAddress, found: Match, known: KnownContracts): AssetAmount[] {
  const excesses: AssetAmount[] = [];
  for (const block of found.named('tonBack')) {
    if (destinationOf(block) === owner) excesses.push({ asset: null, amount: sentValue(block) });
  }
  for (const block of found.named('jettonBack')) {
    const wallet = known.jettonWallet(destinationOf(block));
    const amount = arrived(block)?.amount;
    if (wallet?.owner === owner && amount !== undefined) excesses.push({ asset: wallet.jetton, amount });
  }
  return excesses;
}

interface Asked {
  amount: Decimal;
  targets: readonly [AssetTarget, AssetTarget];
}

function targetsOf(
  pool: { asset0: Parameters<typeof assetText>[0]; asset1: Parameters<typeof assetText>[0] },
  balances: { asset0_target_balance: Decimal; asset1_target_balance: Decimal },
): Asked['targets'] {
  return [
    { asset: assetText(pool.asset0), amount: balances.asset0_target_balance },
    { asset: assetText(pool.asset1), amount: balances.asset1_target_balance },
  ];
}

/** The targets stand in a reference, or beside the rest where the whole body says so. */
function readTonDeposit(block: Block): Asked {
  const inline = tryBody(block, dedustDepositLiquidity) === null ? tryBody(block, dedustDepositLiquidityInline) : null;
  if (inline !== null) return { amount: inline.amount, targets: targetsOf(inline.pool_params, inline) };
  const { amount, pool_params, deposit_params } = readBody(block, tonDeposit);
  return { amount, targets: targetsOf(pool_params, deposit_params) };
}

/** The first of two assets, which waits for the other. */
export const dedustPartialDeposit = declareDeposit('dedust', 'dedust_deposit_liquidity_partial', [
  {
    rank: 4,
    pattern: {
      op: dedustDepositAsset.opcode,
      where: ({ next }) =>
        !next.some(({ opcode }) => opcode === dedustDepositAll.opcode || opcode === dedustRejectDeposit.opcode),
      parent: { ...created, child: { op: dedustInstall.opcode } },
    },
    read: readPartial,
  },
]);

function readPartial(found: Match, known: KnownContracts): Reading<Deposit> | null {
  const contract = destinationOf(found.head);
  const common = { second: NO_PART, pool: null, destination: contract, contract, lp: null, excesses: [] };
  const ton = found.first('tonIn');
  if (ton !== null) {
    const { amount, targets } = readTonDeposit(ton);
    const first = { asset: null, amount, wallet: null };
    return { data: { ...common, source: messageOf(ton).source, first, targets } };
  }
  const notified = found.first('notified');
  if (notified === null || notified.prev === null) return null;
  const { sender, amount, forward_payload } = readBody(notified, jettonNotify);
  const asked = forward_payload.inReference ? jettonDeposit.in(forward_payload.cell) : null;
  if (asked === null) return null;
  const asset = masterOf(sourceOf(notified), known);
  if (asset === null) return null;
  const first = { asset, amount, wallet: sourceOf(notified.prev) };
  const targets = targetsOf(asked.pool_params, asked);
  return { data: { ...common, source: addressText(sender), first, targets } };
}

/** A vault makes a deposit known once for each asset; with more than two of any contract they are not told apart. */
const PAIR = 2;

/** Deposits of one asset become part of the deposit that they were completed by in the same trace. */
export function fold(blocks: readonly Block[]): readonly Block[] {
  const byContract = new Map<RawAddress, Block[]>();
  for (const block of blocks) {
    const contract = (dedustDeposit.of(block) ?? dedustPartialDeposit.of(block))?.contract;
    if (contract === null || contract === undefined) continue;
    const found = byContract.get(contract);
    if (found === undefined) byContract.set(contract, [block]);
    else found.push(block);
  }
  for (const ofOne of byContract.values()) if (ofOne.length > PAIR) return blocks;
  const replaced = new Map<Block, Block | null>();
  for (const pair of byContract.values()) {
    const full = pair.find((block) => dedustDeposit.of(block) !== null);
    const partial = pair.find((block) => dedustPartialDeposit.of(block) !== null);
    if (pair.length !== PAIR || full === undefined || partial === undefined) continue;
    const folded = foldPair(partial, full);
    if (folded === null) continue;
    replaced.set(full, folded).set(partial, null);
  }
  return replaced.size === 0
    ? blocks
    : blocks.flatMap((block) => replaced.get(block) ?? (replaced.has(block) ? [] : block));
}

function foldPair(partial: Block, full: Block): Block | null {
  const one = dedustPartialDeposit.of(partial);
  const other = dedustDeposit.of(full);
  if (one === null || other === null || assetsOf(one) !== assetsOf(other)) return null;
  const { first, second } = added(one.first, other.first);
  const [target0, target1] = other.targets;
  const nodes = [...partial.nodes, ...full.nodes];
  const starter = earliest(partial).parent;
  if (starter !== null && partial.initiator !== full.initiator) nodes.push(starter);
  const data: Deposit = {
    ...other,
    first,
    second,
    targets: [
      { asset: first.asset, amount: target0.amount },
      { asset: second.asset, amount: target1.amount },
    ],
  };
  return new Block({ kind: dedustDeposit, data, failed: full.failed, nodes, initiator: full.initiator });
}

function earliest({ nodes }: Block) {
  return nodes.reduce((first, node) => (compareDecimal(node.lt, first.lt) < 0 ? node : first));
}

const assetsOf = ({ targets }: Deposit): string =>
  targets
    .map(({ asset }) => asset ?? '')
    .sort()
    .join();

/** Two deposits of one asset are one. */
function added(one: Part, other: Part): { first: Part; second: Part } {
  if (one.asset !== other.asset) return { first: one, second: other };
  const amount = (BigInt(one.amount ?? 0) + BigInt(other.amount ?? 0)).toString();
  return { first: { asset: one.asset, amount, wallet: one.wallet ?? other.wallet }, second: NO_PART };
}

/** What a pool has a vault pay of one asset. */
const payout: Pattern = {
  op: payoutHead.opcode,
  as: 'payout',
  child: { any: [{ op: dedustPayout.opcode }, { block: jettonTransfer.block }] },
};

export const dedustWithdrawal = declareWithdrawal('dedust', 'dex_withdraw_liquidity', [
  {
    rank: 17,
    pattern: {
      op: burnHead.opcode,
      child: { op: jettonBurnNotification.opcode, as: 'notice', children: [payout, payout] },
    },
    read: readWithdrawal,
  },
]);

function readWithdrawal(found: Match, known: KnownContracts): Reading<Withdrawal> | null {
  const wallet = destinationOf(found.head);
  const notice = found.first('notice');
  const [one, other] = found.named('payout');
  if (known.jettonWallet(wallet) === undefined || notice === null || other === undefined) return null;
  return {
    data: {
      source: sourceOf(found.head),
      sourceWallet: wallet,
      first: paidPart(one),
      second: paidPart(other),
      pool: destinationOf(notice),
      lp: readBody(found.head, burnHead).amount,
    },
  };
}

function paidPart(block: Block): Part {
  const { amount } = readBody(block, payoutHead);
  for (const next of block.next) {
    const transfer = jettonTransfer.of(next);
    if (transfer !== null) return { asset: transfer.asset, amount, wallet: transfer.receiverWallet };
  }
  return { asset: null, amount, wallet: null };
}

export const kinds = [dedustDeposit, dedustPartialDeposit, dedustWithdrawal];
