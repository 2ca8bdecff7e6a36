/** swap.coffee: exchange, staking, protection against front-running. */

import type { Decimal } from '../../model.ts';
import { missableAddress } from '../addresses.ts';
import type { Codec } from '../codec.ts';
import { body } from '../layout.ts';
import { bool, coins, int, u8, u16, u32, u64, u256 } from '../numbers.ts';
import { cell, lazy, maybe, maybeCell, record, ref, union, unnamed, variant } from '../shapes.ts';

const query = { query_id: u64 };

export const coffeeAsset = union(
  'CoffeeAsset',
  variant('native', 2, 0, {}),
  variant('jetton', 2, 1, { chain: u8, hash: u256 }),
  variant('extra', 2, 2, { id: u32 }),
);

const formula = union('CoffeeAMM', variant('constant_product', 3, 0, {}), variant('curve_fi_stable', 3, 1, {}));

export const coffeePoolParams = record('pool_params', {
  first: coffeeAsset,
  second: coffeeAsset,
  amm: formula,
  amm_settings: maybeCell,
});

export const coffeeCreationParams = record('pool_creation_params', {
  public: record('public_pool_creation_params', {
    recipient: missableAddress,
    use_recipient_on_failure: int(1),
    notification_data: maybeCell,
  }),
  private: record('private_pool_creation_params', { is_active: bool, extra_settings: maybeCell }),
});

const notification = record('notification_data_single', {
  receiver: missableAddress,
  fwd_gas: coins,
  payload: cell,
});

const notifications = record('notification_data', {
  on_success: maybe(ref(notification)),
  on_failure: maybe(ref(notification)),
});

const swapParams = record('swap_params', {
  deadline: u32,
  recipient: missableAddress,
  referral: missableAddress,
  notification_data: maybe(ref(notifications)),
});

export interface CoffeeStep {
  pool_address_hash: Decimal;
  min_output_amount: Decimal;
  next: CoffeeStep | null;
}

const step: Codec<CoffeeStep> = record('swap_step_params', {
  pool_address_hash: u256,
  min_output_amount: coins,
  next: maybe(ref(lazy(() => step))),
});

const internalStep = record('swap_step_internal_params', {
  previous_amount: coins,
  previous_asset_hint: maybe(coffeeAsset),
  min_output_amount: coins,
  next: maybe(ref(step)),
});

const ratio = { denominator: u16, min_nominator: u16, max_nominator: u16 };

const condition = union(
  'CoffeeDepositLiquidityCondition',
  variant('none', 2, 0, {}),
  variant('lp_quantity', 2, 1, { min_lp_amount: coins }),
  variant('reserves_ratio', 2, 2, ratio),
  variant('complex', 2, 3, { min_lp_amount: coins, ...ratio }),
);

const depositTrimmed = record('deposit_liquidity_params_trimmed', {
  recipient: missableAddress,
  use_recipient_on_failure: int(1),
  referral: missableAddress,
  deadline: u32,
  condition,
  extra_settings: maybeCell,
  notification_data: maybe(ref(notifications)),
});

const depositParams = record('deposit_liquidity_params', {
  params: ref(depositTrimmed),
  pool_params: ref(coffeePoolParams),
});

const reserves = record('pool_reserves', { input_reserve: coins, output_reserve: coins });
const contractUpdate = record('contract_update', { code: maybeCell, data: maybeCell });

export const coffeeSwap = body('coffee_swap', 0xc0ffee00, {
  query_id: u64,
  amount: coins,
  step: unnamed(step),
  params: ref(swapParams),
});

export const coffeeCreatePool = body('coffee_create_pool', 0xc0ffee02, {
  query_id: u64,
  amount: coins,
  params: coffeePoolParams,
  creation_params: coffeeCreationParams,
});

export const coffeeCreatePoolPayload = body('coffee_create_pool_forward_payload', 0xc0ffee11, {
  params: coffeePoolParams,
  creation_params: coffeeCreationParams,
});

export const coffeeCreateVault = body('coffee_create_vault', 0xc0ffee06, { query_id: u64, asset: coffeeAsset });

export const coffeePayoutInternal = body('coffee_payout_internal', 0xc0ffee21, {
  query_id: u64,
  recipient: missableAddress,
  amount: coins,
  notification_data: maybe(ref(notification)),
  proof: maybeCell,
});

export const coffeeCreatePoolRequest = body('coffee_create_pool_request', 0xc0ffee25, {
  query_id: u64,
  amount1: coins,
  amount2: coins,
  tx_initiator: missableAddress,
  creation_params: ref(coffeeCreationParams),
  proof: cell,
});

export const coffeeDepositoryRequest = body('coffee_create_liquidity_depository_request', 0xc0ffee27, {
  query_id: u64,
  amount: coins,
  params: depositParams,
  sender: missableAddress,
  proof: cell,
});

export const coffeeSwapSucceeded = body('coffee_swap_succeeded', 0xc0ffee30, {
  query_id: u64,
  input: coffeeAsset,
  input_amount: coins,
  output_amount: coins,
  reserves,
  protocol_fee: coins,
});

const liquidityChange = {
  query_id: u64,
  amount1: coins,
  amount2: coins,
  lp_amount: coins,
  total_supply: reserves,
  reserves,
};

export const coffeeDepositSucceeded = body('coffee_deposit_liquidity_succeeded', 0xc0ffee33, liquidityChange);
export const coffeeWithdrawSucceeded = body('coffee_withdraw_liquidity_succeeded', 0xc0ffee35, liquidityChange);

export const coffeeMevFailedSwap = body('coffee_mev_protect_failed_swap', 0xee51ce51, {
  query_id: u64,
  recipient: missableAddress,
});

export const coffeeStakingClaim = body('coffee_staking_claim_rewards', 0xb30c7310, {
  query_id: u64,
  jetton_wallet: missableAddress,
  jetton_amount: coins,
  receiver: missableAddress,
  payload: maybe(ref(record('staking_forward_data', { gas: coins, payload: cell }))),
});

export const coffeeStakingDeposit = body('coffee_staking_deposit', 0xf9471134, {
  query_id: u64,
  sender: missableAddress,
  jetton_amount: coins,
  from_user: missableAddress,
  period_id: u32,
});

export const coffeeSwapInternal = body('coffee_swap_internal', 0xc0ffee20, {
  query_id: u64,
  step: unnamed(internalStep),
  params: ref(swapParams),
  proof: cell,
});

export const coffeePayout = body('coffee_payout', 0xc0ffee32, query);
export const coffeeDeploy = body('coffee_deploy', 0xc0ffee22, { code: cell, data: cell, action: maybeCell });
export const coffeeCreatePoolExtra = body('coffee_create_pool_extra', 0xc0ffee03, {
  query_id: u64,
  params: coffeePoolParams,
  creation_params: coffeeCreationParams,
});

export const coffeePoolCreatorRequest = body('coffee_create_pool_creator_request', 0xc0ffee23, {
  query_id: u64,
  amount: coins,
  params: coffeePoolParams,
  creation_params: ref(coffeeCreationParams),
  sender: missableAddress,
  proof: cell,
});

export const coffeeDeposit = body('coffee_deposit_liquidity', 0xc0ffee04, {
  query_id: u64,
  input_amount: coins,
  params: depositParams,
});
export const coffeeDepositInternal = body('coffee_deposit_liquidity_internal', 0xc0ffee29, {
  query_id: u64,
  amount1: coins,
  amount2: coins,
  tx_initiator: missableAddress,
  params: ref(depositTrimmed),
  proof: cell,
});

export const coffeeNotification = body('coffee_notification', 0xc0ffee36, { query_id: u64, body: cell });
export const coffeeMevHoldFunds = body('coffee_mev_protect_hold_funds', 0x6bc79e7e, query);

const exchange = [
  coffeeSwap,
  body('coffee_swap_extra', 0xc0ffee01, { query_id: u64, step: unnamed(step), params: ref(swapParams) }),
  coffeeSwapInternal,
  coffeePayout,
  coffeePayoutInternal,
  coffeeDeploy,
  coffeeCreatePool,
  coffeeCreatePoolExtra,
  coffeePoolCreatorRequest,
  body('coffee_create_pool_creator_internal', 0xc0ffee24, {
    query_id: u64,
    asset: coffeeAsset,
    amount: coins,
    creation_params: ref(coffeeCreationParams),
  }),
  coffeeCreatePoolRequest,
  body('coffee_create_pool_internal', 0xc0ffee26, {
    query_id: u64,
    amount1: coins,
    amount2: coins,
    tx_initiator: missableAddress,
    recipient: missableAddress,
    use_recipient_on_failure: int(1),
    extra_settings: maybeCell,
    notification_data: maybe(ref(notifications)),
  }),
  coffeeDeposit,
  body('coffee_deposit_liquidity_extra', 0xc0ffee05, { query_id: u64, params: depositParams }),
  coffeeDepositoryRequest,
  body('coffee_create_liquidity_depository_internal', 0xc0ffee28, {
    query_id: u64,
    asset: coffeeAsset,
    amount: coins,
    params: ref(depositTrimmed),
  }),
  coffeeDepositInternal,
  coffeeCreateVault,
  body('coffee_create_vault_internal', 0xc0ffee2a, query),
  body('coffee_withdraw_deposit', 0xc0ffee07, query),
  coffeeNotification,
  body('coffee_swap_forward_payload', 0xc0ffee10, { step: unnamed(step), params: ref(swapParams) }),
  coffeeCreatePoolPayload,
  body('coffee_deposit_liquidity_forward_payload', 0xc0ffee12, { params: depositParams }),
  body('coffee_cross_dex_resend', 0x200f9086, {
    query_id: u64,
    next_recipient: missableAddress,
    next: cell,
    total_gas: coins,
    next_gas: coins,
  }),
  body('coffee_cross_dex_resend_forward_payload', 0x4ee9b106, { next: cell }),
  body('coffee_cross_dex_failure', 0xb902e61a, { query_id: u64, recipient: missableAddress }),
  coffeeMevHoldFunds,
  coffeeMevFailedSwap,
];

const events = [
  coffeeSwapSucceeded,
  body('coffee_swap_failed', 0xc0ffee31, {
    query_id: u64,
    input: coffeeAsset,
    input_amount: coins,
    reserves: maybe(ref(reserves)),
  }),
  coffeeDepositSucceeded,
  body('coffee_deposit_liquidity_failed', 0xc0ffee34, {
    query_id: u64,
    amount1: coins,
    amount2: coins,
    min_lp_amount: coins,
    total_supply: coins,
    reserves,
  }),
  coffeeWithdrawSucceeded,
];

const administration = [
  body('coffee_update_admin', 0xc0ffee40, { query_id: u64, address: missableAddress }),
  body('coffee_activate_vault', 0xc0ffee42, { query_id: u64, asset: coffeeAsset, wallet: missableAddress }),
  body('coffee_activate_vault_internal', 0xc0ffee2c, { query_id: u64, wallet: missableAddress }),
  body('coffee_withdraw', 0xc0ffee43, {
    query_id: u64,
    pool_address: missableAddress,
    asset: coffeeAsset,
    amount: coins,
    receiver: missableAddress,
  }),
  body('coffee_withdraw_internal', 0xc0ffee2d, {
    query_id: u64,
    asset: coffeeAsset,
    amount: coins,
    receiver: missableAddress,
  }),
  body('coffee_update_code_cells', 0xc0ffee44, { query_id: u64, first: cell, second: cell }),
  body('coffee_update_contract', 0xc0ffee45, {
    query_id: u64,
    contract_address: missableAddress,
    update: unnamed(contractUpdate),
  }),
  body('coffee_update_contract_internal', 0xc0ffee2e, {
    query_id: u64,
    excesses_receiver: missableAddress,
    update: unnamed(contractUpdate),
  }),
  body('coffee_update_withdrawer', 0xc0ffee46, { query_id: u64, address: missableAddress }),
];

/** Messages before the events that share their opcodes. */
const staking = [
  body('coffee_staking_init', 0xbe5a7595, {
    query_id: u64,
    owner: missableAddress,
    jetton_data: ref(record('staking_asset_data', { wallet: missableAddress, amount: coins })),
    position_data: ref(
      record('staking_position_data', {
        user_points: coins,
        additional_points: coins,
        start_timestamp: u64,
        end_timestamp: u64,
        period_id: u32,
      }),
    ),
    periods: cell,
  }),
  coffeeStakingDeposit,
  body('coffee_staking_update_rewards', 0x0a9577f0, {
    query_id: u64,
    jetton_wallet: missableAddress,
    jetton_amount: coins,
    duration: u64,
  }),
  body('coffee_staking_rewards_updated', 0x0a9577f0, {
    query_id: u64,
    jetton_wallet: missableAddress,
    duration: u64,
    finish_at: u64,
    rewards_rate: coins,
  }),
  coffeeStakingClaim,
  body('coffee_staking_rewards_claimed', 0xb30c7310, {
    query_id: u64,
    jetton_wallet: missableAddress,
    amount: coins,
    receiver: missableAddress,
  }),
];

export const coffeeBodies = [...exchange, ...events, ...administration, ...staking];
