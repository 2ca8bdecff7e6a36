/** swap.coffee: liquidity, vaults and pools. */
import { address } from '../../layouts/addresses.ts';
import {
  coffeeAsset,
  coffeeCreatePoolExtra,
  coffeeCreatePoolPayload,
  coffeeCreatePoolRequest,
  coffeeDeploy,
  coffeeDepositInternal,
  coffeeDepositoryRequest,
  coffeeDepositSucceeded,
  coffeeNotification,
  coffeePayout,
  coffeePoolCreatorRequest,
  coffeeWithdrawSucceeded,
  coffeeCreatePool as createPoolBody,
  coffeeCreateVault as createVaultBody,
  coffeeDeposit as depositBody,
} from '../../layouts/dex/coffee.ts';
import { jettonInternalTransfer, provideWalletAddress, takeWalletAddress } from '../../layouts/jettons.ts';
import { body } from '../../layouts/layout.ts';
import { coins, u64, uint } from '../../layouts/numbers.ts';
import { maybeCell, record, ref, rest } from '../../layouts/shapes.ts';
import type { Decimal } from '../../model.ts';
import type { Block } from '../block.ts';
import { addressText, destinationOf, messageOf, readBody, sentValue, sourceOf } from '../bodies.ts';
import { jettonBurn, jettonTransfer } from '../jettons.ts';
import { declare, type Reading } from '../kind.ts';
import type { Asset } from '../known.ts';
import type { Match, Pattern } from '../pattern.ts';
import type { RawAddress } from '../trace.ts';
import { assetText, isAsset, payout, payoutHead } from './coffee.ts';
import {
  type AssetAmount,
  type Deposit,
  declareDeposit,
  declareWithdrawal,
  NO_PART,
  type Part,
  type Withdrawal,
} from './liquidity.ts';
import { nextCall } from './swap.ts';

const NOTIFIED = 0xb216d31f;

/** Amounts and tokens of the pool as it tells of a deposit or a withdrawal; what follows is not asked for. */
const change = { query_id: u64, amount1: coins, amount2: coins, lp: coins };
const depositEvent = body('coffee_deposit', coffeeDepositSucceeded.opcode, change);
const withdrawEvent = body('coffee_withdraw', coffeeWithdrawSucceeded.opcode, change);

/** The pool that is asked for, whatever its formula; more of the terms is not told. */
const depositRequest = body('coffee_depository_request', coffeeDepositoryRequest.opcode, {
  query_id: u64,
  amount: coins,
  params: ref(rest),
  pool: ref(record(null, { first: coffeeAsset, second: coffeeAsset })),
  sender: address,
});

/** The tokens of the pool and what it tells of them. */
const minted: Pattern = { op: jettonInternalTransfer.opcode };
const told: Pattern = { op: depositEvent.opcode, as: 'event' };

export const coffeeDeposit = declareDeposit('coffee', 'coffee_deposit_liquidity', [
  {
    rank: 65,
    pattern: {
      op: depositRequest.opcode,
      parent: { any: [{ block: jettonTransfer.block, as: 'in' }, { op: depositBody.opcode }] },
      child: {
        op: coffeeDeploy.opcode,
        as: 'contract',
        child: {
          op: coffeeDepositInternal.opcode,
          optional: true,
          children: [minted, told, { ...payout, optional: true }],
        },
      },
    },
    read: readDeposit,
  },
]);

function readDeposit(found: Match): Reading<Deposit> | null {
  const request = readBody(found.head, depositRequest);
  const transfer = jettonTransfer.of(found.first('in'));
  const contract = found.first('contract');
  const event = found.first('event');
  const asset = transfer?.asset ?? null;
  const first = assetText(request.pool.first);
  const second = assetText(request.pool.second);
  const part: Part = { asset, amount: request.amount, wallet: transfer?.senderWallet ?? null };
  const isFirst = isAsset(asset, request.pool.first);
  if (!isFirst && !isAsset(asset, request.pool.second)) return null;
  return {
    data: {
      source: addressText(request.sender),
      first: isFirst ? part : NO_PART,
      second: isFirst ? NO_PART : part,
      pool: event === null ? null : sourceOf(event),
      lp: event === null ? null : readBody(event, depositEvent).lp,
      targets: [
        { asset, amount: null },
        { asset: isFirst ? second : first, amount: null },
      ],
      excesses: found.named('payout').flatMap((block) => paidOut(block) ?? []),
      contract: contract === null ? null : destinationOf(contract),
    },
  };
}

/** What a payout sent, and to which wallet; of TON with a notification none is told. Null for one that sent nothing. */
function paidOut(block: Block): (AssetAmount & { wallet: RawAddress | null }) | null {
  for (const next of block.next) {
    const transfer = jettonTransfer.of(next);
    if (transfer !== null) return { asset: transfer.asset, amount: transfer.amount, wallet: transfer.receiverWallet };
  }
  const ton = nextCall(block, coffeePayout.opcode);
  if (ton !== null) return { asset: null, amount: sentValue(ton), wallet: destinationOf(ton) };
  const notified = nextCall(block, coffeeNotification.opcode);
  return notified === null ? null : { asset: null, amount: sentValue(notified), wallet: null };
}

export const coffeeWithdrawal = declareWithdrawal('coffee', 'dex_withdraw_liquidity', [
  {
    rank: 67,
    pattern: {
      block: jettonBurn.block,
      children: [payout, payout, { op: withdrawEvent.opcode, as: 'event' }],
    },
    read: readWithdrawal,
  },
]);

function readWithdrawal(found: Match): Reading<Withdrawal> | null {
  const burn = jettonBurn.of(found.head);
  const event = found.first('event');
  const payouts = found.named('payout');
  if (burn === null || event === null || payouts.length !== 2) return null;
  const { amount1, amount2 } = readBody(event, withdrawEvent);
  // Which payout is which is told by the amounts alone.
  const [one, other] = payouts;
  const inOrder = readBody(one, payoutHead).amount === amount1;
  const crossed = !inOrder && readBody(other, payoutHead).amount === amount1;
  return {
    data: {
      source: burn.owner,
      sourceWallet: burn.wallet,
      first: paidPart(crossed ? other : one, amount1),
      second: paidPart(crossed ? one : other, amount2),
      pool: sourceOf(event),
      lp: burn.amount,
    },
  };
}

function paidPart(block: Block, amount: Decimal): Part {
  const paid = paidOut(block);
  return paid === null ? { ...NO_PART, amount } : { asset: paid.asset, amount, wallet: paid.wallet };
}

interface Vault {
  source: RawAddress | null;
  vault: RawAddress;
  asset: Asset;
  value: Decimal;
}

export const coffeeCreateVault = declare<Vault>({
  block: 'coffee_create_vault',
  groups: ['v2', 'coffee'],
  leaf: false,
  matchers: [
    {
      rank: 68,
      pattern: {
        op: createVaultBody.opcode,
        child: {
          op: coffeeDeploy.opcode,
          as: 'vault',
          child: {
            op: provideWalletAddress.opcode,
            optional: true,
            child: { op: takeWalletAddress.opcode, optional: true },
          },
        },
      },
      read(found) {
        const vault = found.first('vault');
        if (vault === null) return null;
        const asset = assetText(readBody(found.head, createVaultBody).asset);
        const { source } = messageOf(found.head);
        return { data: { source, vault: destinationOf(vault), asset, value: sentValue(found.head) } };
      },
    },
  ],
  details: ({ source, vault, asset, value }) => ({ source, vault, asset, value }),
  accounts: ({ source, vault }) => ({ source, destination: vault }),
});

interface PoolCreator {
  source: RawAddress | null;
  wallet: RawAddress | null;
  recipient: RawAddress | null;
  contract: RawAddress;
  asset: Asset;
  amount: Decimal;
  poolFirst: Asset;
  poolSecond: Asset;
  /** Whether the asset is the second of the pool, and not the first. */
  isSecond: boolean;
}

export const coffeeCreatePoolCreator = declare<PoolCreator>({
  block: 'coffee_create_pool_creator',
  groups: ['v2', 'coffee'],
  leaf: false,
  matchers: [
    {
      rank: 69,
      pattern: {
        op: coffeePoolCreatorRequest.opcode,
        child: { op: coffeeDeploy.opcode, as: 'contract' },
        parent: {
          any: [
            { block: jettonTransfer.block, as: 'in' },
            { op: createPoolBody.opcode, as: 'tonIn' },
            { op: coffeeCreatePoolExtra.opcode },
          ],
        },
      },
      read: readPoolCreator,
    },
  ],
  details: ({ source, wallet, recipient, contract, asset, amount, poolFirst }) => ({
    source,
    source_jetton_wallet: wallet,
    deposit_recipient: recipient,
    pool_creator_contract: contract,
    provided_asset: null,
    asset_1: asset,
    asset_2: poolFirst,
    amount,
  }),
  accounts: ({ source, wallet, recipient, contract }) => ({
    source,
    source2: wallet,
    destination: recipient,
    destination2: contract,
  }),
});

/** The pool that is asked for, whatever its formula, and whose it will be; more of the terms is not told. */
const terms = {
  pool: record(null, { first: coffeeAsset, second: coffeeAsset, amm: uint(3), settings: maybeCell }),
  recipient: address,
};
const poolPayload = body('coffee_create_pool_forward_payload', coffeeCreatePoolPayload.opcode, terms);
const tonPoolRequest = body('coffee_create_pool', createPoolBody.opcode, { query_id: u64, amount: coins, ...terms });

/** Null for a deposit in an extra currency, of which nothing is told. */
function readPoolCreator(found: Match): Reading<PoolCreator> | null {
  const contract = found.first('contract');
  const transfer = jettonTransfer.of(found.first('in'));
  const ton = found.first('tonIn');
  const asked = ton === null ? null : readBody(ton, tonPoolRequest);
  const payload = transfer?.forwardPayload ?? null;
  const agreed = asked ?? (payload === null ? null : poolPayload.in(payload));
  if (contract === null || agreed === null) return null;
  const asset = transfer?.asset ?? null;
  const { first, second } = agreed.pool;
  return {
    data: {
      source: transfer?.sender ?? (ton === null ? null : messageOf(ton).source),
      wallet: transfer?.senderWallet ?? null,
      recipient: addressText(agreed.recipient),
      contract: destinationOf(contract),
      asset,
      amount: transfer?.amount ?? asked?.amount ?? '0',
      poolFirst: assetText(first),
      poolSecond: assetText(second),
      isSecond: !isAsset(asset, first) && isAsset(asset, second),
    },
  };
}

interface Pool {
  creator: PoolCreator;
  initiators: readonly [RawAddress | null, RawAddress | null];
  assets: readonly [Asset, Asset];
  amounts: readonly [Decimal, Decimal];
  pool: RawAddress;
  lp: Decimal;
}

export const coffeeCreatePool = declare<Pool>({
  block: 'coffee_create_pool',
  groups: ['v2', 'coffee'],
  leaf: false,
  matchers: [
    {
      rank: 70,
      pattern: {
        block: coffeeCreatePoolCreator.block,
        child: {
          op: coffeeCreatePoolRequest.opcode,
          as: 'request',
          child: {
            op: coffeeDeploy.opcode,
            as: 'pool',
            children: [
              minted,
              told,
              { op: coffeeNotification.opcode, optional: true, child: { op: NOTIFIED, optional: true } },
            ],
          },
        },
      },
      read: readPool,
    },
  ],
  details: ({ creator, initiators, assets, amounts, pool, lp }) => ({
    source: creator.source,
    source_jetton_wallet: creator.wallet,
    initiator_1: initiators[0],
    initiator_2: initiators[1],
    pool,
    pool_creator_contract: null,
    provided_asset: creator.asset,
    amount: creator.amount,
    asset_1: assets[0],
    asset_2: assets[1],
    amount_1: amounts[0],
    amount_2: amounts[1],
    lp_tokens_minted: lp,
  }),
  accounts: ({ creator, pool }) => ({
    source: creator.source,
    source2: creator.wallet,
    destination: pool,
    destination2: creator.contract,
  }),
});

/** Up to its initiator; the terms are not told. */
const poolRequest = body('coffee_create_pool_request', coffeeCreatePoolRequest.opcode, {
  query_id: u64,
  amount1: coins,
  amount2: coins,
  initiator: address,
});

function readPool(found: Match): Reading<Pool> | null {
  const creator = coffeeCreatePoolCreator.of(found.head);
  const request = found.first('request');
  const pool = found.first('pool');
  const event = found.first('event');
  if (creator === null || request === null || pool === null || event === null) return null;
  const { amount1, amount2, initiator } = readBody(request, poolRequest);
  const other = addressText(initiator);
  const { isSecond } = creator;
  return {
    data: {
      creator,
      // What was deposited last comes first.
      initiators: isSecond ? [other, creator.source] : [creator.source, other],
      assets: isSecond ? [creator.asset, creator.poolFirst] : [creator.poolFirst, creator.poolSecond],
      amounts: isSecond ? [amount2, amount1] : [amount1, amount2],
      pool: destinationOf(pool),
      lp: readBody(event, depositEvent).lp,
    },
  };
}

export const kinds = [coffeeDeposit, coffeeWithdrawal, coffeeCreateVault, coffeeCreatePoolCreator, coffeeCreatePool];
