import type { Decimal } from '../../model.ts';
import type { Details } from '../details.ts';
import { declare, type Kind, type Matcher } from '../kind.ts';
import type { Asset } from '../known.ts';
import type { RawAddress } from '../trace.ts';

export interface AssetAmount {
  asset: Asset;
  amount: Decimal;
}

/** One of the two assets of a deposit or withdrawal; all null where this action says nothing of it. */
export interface Part {
  asset: Asset;
  amount: Decimal | null;
  wallet: RawAddress | null;
}

export const NO_PART: Part = { asset: null, amount: null, wallet: null };

/** Liquidity put into a pool, whatever the exchange. */
export interface Deposit {
  source: RawAddress | null;
  first: Part;
  second: Part;
  /** Null when the pool has not got it. */
  pool: RawAddress | null;
  /** Printed as where the liquidity went; the pool by default. */
  destination?: RawAddress | null;
  lp: Decimal | null;
  targets: readonly [AssetTarget, AssetTarget];
  excesses: readonly AssetAmount[];
  /** A position with bounds of its own. */
  position?: { tickLower: number; tickUpper: number; index: Decimal | null; nft: RawAddress | null };
  /** Accounts that the action is found by, too. */
  sourceWallet?: RawAddress | null;
  contract?: RawAddress | null;
}

/** What of an asset the pool is to have. */
export interface AssetTarget {
  asset: Asset;
  amount: Decimal | null;
}

export const NO_TARGETS: readonly [AssetTarget, AssetTarget] = [
  { asset: null, amount: null },
  { asset: null, amount: null },
];

/** The deposits of one exchange. */
export function declareDeposit(dex: string, block: string, matchers: readonly Matcher<Deposit>[]): Kind<Deposit> {
  return declare<Deposit>({
    block,
    type: 'dex_deposit_liquidity',
    groups: ['v1'],
    leaf: true,
    matchers,
    details: (deposit) => depositDetails(dex, deposit),
    accounts: ({ source, sourceWallet = null, pool, contract = null }) => ({
      source,
      source2: sourceWallet,
      destination: pool,
      destination2: contract,
    }),
  });
}

function depositDetails(dex: string, deposit: Deposit): Details {
  const { first, second, targets, position } = deposit;
  return {
    dex,
    amount_1: first.amount,
    amount_2: second.amount,
    asset_1: first.asset,
    asset_2: second.asset,
    user_jetton_wallet_1: first.wallet,
    user_jetton_wallet_2: second.wallet,
    source: deposit.source,
    pool: deposit.pool,
    destination_liquidity: deposit.destination === undefined ? deposit.pool : deposit.destination,
    lp_tokens_minted: deposit.lp,
    target_asset_1: targets[0].asset,
    target_asset_2: targets[1].asset,
    target_amount_1: targets[0].amount,
    target_amount_2: targets[1].amount,
    vault_excesses: deposit.excesses.map(({ asset, amount }) => ({ asset, amount })),
    tick_lower: position === undefined ? null : String(position.tickLower),
    tick_upper: position === undefined ? null : String(position.tickUpper),
    nft_index: position?.index ?? null,
    nft_address: position?.nft ?? null,
  };
}

/** Liquidity taken out of a pool, whatever the exchange. */
export interface Withdrawal {
  source: RawAddress | null;
  sourceWallet: RawAddress | null;
  first: Part;
  second: Part;
  pool: RawAddress | null;
  lp: Decimal | null;
  position?: { tickLower: number; tickUpper: number; index: Decimal | null; nft: RawAddress | null };
}

/** The withdrawals of one exchange. */
export function declareWithdrawal(
  dex: string,
  block: string,
  matchers: readonly Matcher<Withdrawal>[],
): Kind<Withdrawal> {
  return declare<Withdrawal>({
    block,
    type: 'dex_withdraw_liquidity',
    groups: ['v1'],
    leaf: true,
    matchers,
    details: ({ source, first, second, pool, lp, position }) => ({
      dex,
      amount_1: first.amount,
      amount_2: second.amount,
      asset_1: first.asset,
      asset_2: second.asset,
      user_jetton_wallet_1: first.wallet,
      user_jetton_wallet_2: second.wallet,
      lp_tokens_burnt: lp,
      is_refund: null,
      source,
      pool,
      destination_liquidity: pool,
      burnt_nft_index: position?.index ?? null,
      burnt_nft_address: position?.nft ?? null,
      tick_lower: position === undefined ? null : String(position.tickLower),
      tick_upper: position === undefined ? null : String(position.tickUpper),
    }),
    accounts: ({ source, sourceWallet, pool }) => ({ source, source2: sourceWallet, destination: pool }),
  });
}
