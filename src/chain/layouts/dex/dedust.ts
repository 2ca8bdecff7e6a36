/** DeDust v2 (dedust-io). */

import type { Address, Decimal } from '../../model.ts';
import { address, internalAddress } from '../addresses.ts';
import type { Codec } from '../codec.ts';
import { body } from '../layout.ts';
import { bits256, bool, coins, int, u8, u16, u32, u64, uint } from '../numbers.ts';
import { argument, cell, lazy, maybe, maybeCell, record, ref, rest, union, unnamed, variant } from '../shapes.ts';

const query = { query_id: u64 };

/** Types without a constructor's name print their one field. */
const version = record(null, { version: u16 });
const timestamp = record(null, { timestamp: u32 });

export const dedustAsset = union(
  'DedustAsset',
  variant('native', 4, 0, {}),
  variant('jetton', 4, 1, { workchain_id: int(8), address: bits256 }),
);

const contractType = union(
  'DedustContractType',
  variant('vault', 8, 1, {}),
  variant('pool', 8, 2, {}),
  variant('liquidity_deposit', 8, 3, {}),
  variant('operator', 8, 4, {}),
);

const role = union(
  'DedustRole',
  variant('code_installer', 8, 1, {}),
  variant('code_updater', 8, 2, {}),
  variant('fee_collector', 8, 3, {}),
  variant('fee_configurator', 8, 4, {}),
  variant('stable_pool_factory', 8, 5, {}),
  variant('legacy_vault_factory', 8, 6, {}),
  variant('quote_synchronizer', 8, 7, {}),
  variant('quote_configurator', 8, 8, {}),
);

export const dedustPoolParams = record('pool_params', { is_stable: bool, asset0: dedustAsset, asset1: dedustAsset });

/** What shows that the sender was deployed by the factory. */
function proofOf<T>(params: Codec<T>) {
  const proof = record('proof', {
    factory_addr: internalAddress,
    contract_type: contractType,
    params: argument(params),
  });
  return record(null, { proof });
}

const vaultProof = proofOf(dedustAsset);
const poolProof = proofOf(dedustPoolParams);
const depositParams = record(null, { owner_addr: internalAddress, pool_params: dedustPoolParams });
const depositProof = proofOf(ref(depositParams));

export interface DedustStepParams {
  kind: boolean;
  limit: Decimal;
  next: DedustStep | null;
}

export interface DedustStep {
  pool_addr: Address;
  params: DedustStepParams;
}

/** `kind`: false for the amount that goes in, true for the one that comes out. */
const stepParams: Codec<DedustStepParams> = record('step_params', {
  kind: bool,
  limit: coins,
  next: maybe(ref(lazy(() => dedustStep))),
});

export const dedustStep: Codec<DedustStep> = record('step', { pool_addr: internalAddress, params: stepParams });

const swapParams = record('swap_params', {
  deadline: timestamp,
  recipient_addr: address,
  referral_addr: address,
  fulfill_payload: maybeCell,
  reject_payload: maybeCell,
});

const outcomes = { fulfill_payload: maybeCell, reject_payload: maybeCell };
const targets = { min_lp_amount: coins, asset0_target_balance: coins, asset1_target_balance: coins };
const twoAssets = { asset0: dedustAsset, asset1: dedustAsset };

export const dedustSwap = body('dedust_swap', 0xea06185d, {
  query_id: u64,
  amount: coins,
  step: unnamed(dedustStep),
  swap_params: ref(swapParams),
});

/** Of a transfer to a jetton vault. */
export const dedustSwapPayload = body('dedust_swap', 0xe3a0d482, {
  step: unnamed(dedustStep),
  swap_params: ref(swapParams),
});

export const dedustSwapExternal = body('dedust_swap_external', 0x61ee542d, {
  query_id: u64,
  proof: ref(vaultProof),
  amount: coins,
  sender_addr: internalAddress,
  current: stepParams,
  swap_params: ref(swapParams),
});

export const dedustSwapPeer = body('dedust_swap_peer', 0x72aca8aa, {
  query_id: u64,
  proof: ref(poolProof),
  asset: dedustAsset,
  amount: coins,
  sender_addr: internalAddress,
  current: stepParams,
  swap_params: ref(swapParams),
});

export const dedustPayOutFromPool = body('dedust_pay_out_from_pool', 0xad4eb6f5, {
  query_id: u64,
  proof: ref(poolProof),
  amount: coins,
  recipient_addr: address,
  payload: maybeCell,
});

export const dedustPayOutFromDeposit = body('dedust_pay_out_from_deposit', 0x6b0b787f, {
  query_id: u64,
  proof: ref(depositProof),
  amount: coins,
  payload: maybeCell,
});

export const dedustPayout = body('dedust_payout', 0x474f86cf, { query_id: u64, payload: maybeCell });

export const dedustDepositLiquidity = body('dedust_deposit_liquidity', 0xd55e4686, {
  query_id: u64,
  amount: coins,
  pool_params: dedustPoolParams,
  deposit_params: ref(record(null, targets)),
  ...outcomes,
});

/** The targets beside the rest rather than in a reference. */
export const dedustDepositLiquidityInline = body('dedust_deposit_liquidity', 0xd55e4686, {
  query_id: u64,
  amount: coins,
  pool_params: dedustPoolParams,
  ...targets,
  ...outcomes,
});

/** Of a transfer to a jetton vault. */
export const dedustDepositPayload = body('dedust_deposit_liquidity', 0x40e108d6, {
  pool_params: dedustPoolParams,
  ...targets,
  ...outcomes,
});

export const dedustDepositAll = body('dedust_deposit_liquidity_all', 0xb56b9598, {
  query_id: u64,
  proof: ref(depositProof),
  owner_addr: internalAddress,
  min_lp_amount: coins,
  assets: unnamed(
    ref(record(null, { asset0: dedustAsset, asset0_amount: coins, asset1: dedustAsset, asset1_amount: coins })),
  ),
  ...outcomes,
});

export const dedustCreateDeposit = body('dedust_create_liquidity_deposit', 0xf04ec526, {
  query_id: u64,
  proof: ref(vaultProof),
  owner_addr: internalAddress,
  pool_params: dedustPoolParams,
  deposit: unnamed(
    ref(
      record(null, {
        asset0_target_balance: coins,
        asset1_target_balance: coins,
        deposit_asset: dedustAsset,
        deposit_amount: coins,
        min_lp_amount: coins,
      }),
    ),
  ),
  ...outcomes,
});

export const dedustInstall = body('dedust_install', 0x9b3aa3fa, {
  query_id: u64,
  blank_code: cell,
  code_version: version,
  code: cell,
  extra_params: rest,
});

export const dedustDepositAsset = body('dedust_deposit_asset', 0x54240fe5, {
  query_id: u64,
  asset: dedustAsset,
  amount: coins,
});

export const dedustRejectDeposit = body('dedust_reject_deposit', 0xe1a36cd4, {
  query_id: u64,
  proof: ref(poolProof),
  payload: maybeCell,
});

/** An external message of a pool. The decoder has no name for it. */
export const dedustSwapEvent = body('dedust_swap', 0x9c610de3, {
  asset_in: dedustAsset,
  asset_out: dedustAsset,
  amount_in: coins,
  amount_out: coins,
  details: unnamed(
    ref(record(null, { sender_addr: internalAddress, referral_addr: address, reserve0: coins, reserve1: coins })),
  ),
});

const install = { query_id: u64, code_version: version, code: cell };

const factory = [
  body('dedust_transfer_ownership', 0xca61554e, { query_id: u64, new_owner_addr: address }),
  body('dedust_accept_ownership', 0xdee60404, query),
  body('dedust_cancel_ownership_transfer', 0x16cb7fc2, query),
  body('dedust_install_vault_code', 0xbc3f26f6, {
    query_id: u64,
    asset_type: record(null, { asset_type: uint(4) }),
    code_version: version,
    code: cell,
  }),
  body('dedust_create_vault', 0x21cfe02b, { query_id: u64, asset: dedustAsset }),
  body('dedust_create_legacy_jetton_vault', 0xc9a5752d, {
    query_id: u64,
    minter_addr: internalAddress,
    resolver_addr: internalAddress,
  }),
  body('dedust_upgrade_vault', 0x25d66911, { query_id: u64, asset: dedustAsset }),
  body('dedust_upgrade', 0xdf4a27aa, install),
  body('dedust_reset_gas', 0x9f3f0937, query),
  body('dedust_deploy_operator', 0xb9d29997, { query_id: u64, role, user_addr: internalAddress }),
  body('dedust_change_operator_user_addr', 0x1be6df93, { query_id: u64, role, user_addr: internalAddress }),
  body('dedust_install_operator_code', 0xe505d21a, install),
  body('dedust_upgrade_operator', 0x0085f5a3, { query_id: u64, role }),
  body('dedust_install_pool_code', 0xa3e45df1, install),
  body('dedust_create_volatile_pool', 0x97d51f2f, { query_id: u64, ...twoAssets }),
  body('dedust_create_stable_pool', 0x7c40ac87, {
    query_id: u64,
    asset0: dedustAsset,
    asset0_decimals: u8,
    asset1: dedustAsset,
    asset1_decimals: u8,
  }),
  body('dedust_upgrade_pool', 0x53e252ae, { query_id: u64, pool_params: dedustPoolParams }),
  body('dedust_sync_fee_collector_addr', 0x817462a9, { query_id: u64, pool_addr: internalAddress }),
  body('dedust_configure_pool_asset_quote_provider', 0xa805f43e, {
    query_id: u64,
    pool_addr: internalAddress,
    asset: dedustAsset,
    quote_provider_addr: address,
  }),
  body('dedust_sync_pool_asset_quote', 0x59317e9a, { query_id: u64, pool_addr: internalAddress, asset: dedustAsset }),
  body('dedust_install_liquidity_deposit_code', 0x99a84311, install),
  dedustCreateDeposit,
  body('dedust_destroy_non_ready_vault', 0x8a518d0d, { query_id: u64, asset: dedustAsset }),
  dedustInstall,
];

const vault = [
  dedustPayOutFromDeposit,
  dedustPayOutFromPool,
  body('dedust_provide_vault_state', 0xe93405b9, query),
  body('dedust_take_vault_state', 0xa913dc0d, { query_id: u64, is_ready: bool }),
  dedustDepositLiquidity,
  dedustDepositLiquidityInline,
  dedustPayout,
  dedustSwap,
  dedustDepositPayload,
  dedustSwapPayload,
  body('dedust_destroy_non_ready', 0x9d65482b, query),
];

const pool = [
  dedustDepositAll,
  dedustSwapExternal,
  dedustSwapPeer,
  body('dedust_collect_fees', 0x0b429f52, {
    query_id: u64,
    asset0_amount: coins,
    asset0_destination: internalAddress,
    asset0_payload: maybeCell,
    asset1_amount: coins,
    asset1_destination: address,
    asset1_payload: maybeCell,
  }),
  body('dedust_configure_fee_collector_addr', 0xeda15922, { query_id: u64, fee_collector_addr: internalAddress }),
  body('dedust_configure_quote_provider', 0xabb46b3d, {
    query_id: u64,
    asset: dedustAsset,
    quote_provider_addr: address,
  }),
  body('dedust_sync_asset_quote', 0x6873c90c, { query_id: u64, asset: dedustAsset }),
  body('dedust_provide_pool_state', 0x6e24728d, { query_id: u64, include_assets: bool }),
  body('dedust_take_pool_state', 0xbddd4954, {
    query_id: u64,
    reserve0: coins,
    reserve1: coins,
    total_supply: coins,
    assets: maybe(ref(record(null, twoAssets))),
  }),
  body('dedust_configure_start_time', 0x7ed7f6ce, { query_id: u64, start_at: timestamp }),
  body('dedust_provide_current_quote', 0xad83913f, { query_id: u64, custom_payload: maybeCell }),
  body('dedust_configure_trade_fee', 0xc015297f, { query_id: u64, trade_fee: u16 }),
  body('dedust_reset_gas_v2', 0x26c63ab7, { query_id: u64, response_destination: internalAddress }),
];

export const dedustFulfillDeposit = body('dedust_fulfill_deposit', 0xaae79256, {
  query_id: u64,
  proof: ref(poolProof),
  asset0_deposit: coins,
  asset1_deposit: coins,
});

const deposit = [
  dedustDepositAsset,
  dedustFulfillDeposit,
  dedustRejectDeposit,
  body('dedust_cancel_deposit', 0x166cedee, { query_id: u64, payload: maybeCell }),
  body('dedust_set_user_addr', 0x48e5a95d, { query_id: u64, user_addr: address }),
  body('dedust_forward', 0xf1989255, { query_id: u64, destination: internalAddress, body: cell }),
];

export const dedustBodies = [...factory, ...vault, ...pool, ...deposit];
