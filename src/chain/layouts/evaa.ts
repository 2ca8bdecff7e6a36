/** EVAA lending and the Pyth price feeds it asks (evaafi/contracts). */
import { address, internalAddress } from './addresses.ts';
import type { Codec } from './codec.ts';
import { dictionary } from './dictionaries.ts';
import { body } from './layout.ts';
import { bits512, coins, i64, int, u8, u16, u32, u64, u256 } from './numbers.ts';
import { cell, lazy, maybe, maybeCell, record, ref, rest, union, unnamed, variant } from './shapes.ts';

const query = { query_id: u64 };

/** Opcodes that actions are told by. Most are of several bodies, which differ by what follows. */
export const evaaOps = {
  supplyMaster: 0x00000001,
  supplyUser: 0x00000011,
  supplySuccess: 0x0000011a,
  supplyFail: 0x0000011f,
  withdrawMaster: 0x00000002,
  withdrawUser: 0x00000021,
  withdrawCollateralized: 0x00000211,
  withdrawSuccess: 0x0000211a,
  withdrawFail: 0x0000211f,
  withdrawLocked: 0x000021e6,
  withdrawNotCollateralized: 0x000021e7,
  withdrawMissingPrices: 0x000021e8,
  withdrawCrashed: 0x000021ec,
  withdrawNoFunds: 0x00211fe8,
  liquidateMaster: 0x00000003,
  liquidateUser: 0x00000031,
  liquidateSatisfied: 0x00000311,
  liquidateUnsatisfied: 0x0000031f,
  liquidateSuccess: 0x0000311a,
  liquidateReport: 0x0000311d,
  liquidateFail: 0x0000311f,
} as const;

/** Types without a constructor's name print their one field. */
const rate = record(null, { sb_rate: u64 });
const principal = record(null, { principal: i64 });
const balance = record(null, { balance: u64 });
const assetId = record(null, { asset_id: u256 });
const amount = record(null, { amount: u64 });
const trackingIndex = record(null, { tracking_index: u64 });

/** All ones or all zeros. */
const flag = union('BoolExtended', variant('bool_true', 2, 3, {}), variant('bool_false', 2, 0, {}));

interface PriceAssets {
  id: string;
  price: string;
  next_asset: PriceAssets | null;
}

const priceAssets: Codec<PriceAssets> = record('price_assets', {
  id: u256,
  price: coins,
  next_asset: maybe(ref(lazy(() => priceAssets))),
});

interface OraclesData {
  oracle_id: number;
  next_oracles_data: OraclesData | null;
}

const oraclesData: Codec<OraclesData> = record('price_oracles_data', {
  oracle_id: u32,
  proof: cell,
  signature: bits512,
  next_oracles_data: maybe(ref(lazy(() => oraclesData))),
});

const pricesPacked = record('prices_packed', { assets: ref(priceAssets), oracles_data: ref(oraclesData) });

const assetConfig = record(null, {
  jw_address_hash: record(null, { address_hash: u256 }),
  decimals: u8,
  params: ref(
    record(null, {
      collateral_factor: u16,
      liquidation_threshold: u16,
      liquidation_bonus: u16,
      base_borrow_rate: u64,
      borrow_rate_slope_low: u64,
      borrow_rate_slope_high: u64,
      supply_rate_slope_low: u64,
      supply_rate_slope_high: u64,
      target_utilization: u64,
      origination_fee: u64,
      dust_value: u64,
      max_total_supply: u64,
      reserve_factor: u16,
      liquidation_reserve_factor: u16,
      min_principal_for_rewards: u64,
      base_tracking_supply_speed: u64,
      base_tracking_borrow_speed: u64,
    }),
  ),
});

const assetDynamics = record(null, {
  s_rate: rate,
  b_rate: rate,
  total_supply_principal: principal,
  total_borrow_principal: principal,
  last_accrual: record(null, { timestamp: u32 }),
  token_balance: balance,
  tracking_supply_index: trackingIndex,
  tracking_borrow_index: trackingIndex,
  awaited_supply: balance,
});

const configs = record(null, { asset_configs: dictionary(256, assetConfig) });
const dynamics = record(null, { asset_dynamics: dictionary(256, assetDynamics) });
const collections = { asset_config_collection: configs, asset_dynamics_collection: dynamics };

const masterConfig = record('master_config', {
  asset_config_collection: configs,
  if_active: int(8),
  admin: internalAddress,
  oracles_info: record('oracles_info', { total_oracles: u16, threshold: u16, oracles: cell }),
  tokens_keys: maybeCell,
  maybe_supervisor_address_cell: rest,
});

const masterStorage = record('storage', {
  meta: cell,
  upgrade_config: ref(
    record('upgrade_config', {
      master_code_version: coins,
      user_code_version: coins,
      timeout: u32,
      update_time: u64,
      freeze_time: u64,
      user_code: cell,
      blank_code: cell,
      new_master_code: maybeCell,
      new_user_code: maybeCell,
    }),
  ),
  master_config: ref(masterConfig),
  asset_dynamics_collection: dynamics,
});

const supplyHead = {
  query_id: u64,
  include_user_code: flag,
  supply_amount: amount,
  recipient_address: internalAddress,
};

/** Three versions: a forwarded amount, options, options left out. */
const supplyMaster = [
  body('evaa_supply_master', evaaOps.supplyMaster, {
    ...supplyHead,
    forward_ton_amount: amount,
    custom_response_payload: cell,
  }),
  body('evaa_supply_master', evaaOps.supplyMaster, {
    ...supplyHead,
    custom_response_payload: cell,
    supply_master_optional: record('sm_opt_data', {
      subaccount_id: int(16),
      return_repay_remainings_flag: flag,
      custom_payload_recipient: internalAddress,
      custom_payload_saturation_flag: flag,
    }),
  }),
  body('evaa_supply_master', evaaOps.supplyMaster, {
    ...supplyHead,
    custom_response_payload: cell,
    supply_master_optional: rest,
  }),
];

const supplyUserHead = {
  query_id: u64,
  asset_id: assetId,
  supply_amount_current: amount,
  s_rate: rate,
  b_rate: rate,
  dust: u64,
  max_token_amount: u64,
  total_supply: principal,
  total_borrow: principal,
  tracking_supply_index: trackingIndex,
  tracking_borrow_index: trackingIndex,
};

const supplySuccessHead = {
  query_id: u64,
  owner_address: internalAddress,
  asset_id: assetId,
  amount_supplied: amount,
  user_new_principal: principal,
  repay_amount_principal: principal,
};

const supplyFailHead = {
  query_id: u64,
  owner_address: internalAddress,
  asset_id: assetId,
  amount,
  forward_ton_amount: amount,
  custom_response_payload: cell,
};

/** Of several forms the one that asks for most comes first. */
const supply = [
  body('evaa_supply_user', evaaOps.supplyUser, {
    ...supplyUserHead,
    custom_response_payload: cell,
    options: unnamed(
      ref(
        record(null, {
          subaccount_id: int(16),
          return_repay_remainings_flag: flag,
          custom_payload_recipient: internalAddress,
          custom_payload_saturation_flag: flag,
          initial_sender: internalAddress,
        }),
      ),
    ),
  }),
  body('evaa_supply_user', evaaOps.supplyUser, {
    ...supplyUserHead,
    forward_ton_amount: amount,
    custom_response_payload: cell,
  }),
  body('evaa_supply_success', evaaOps.supplySuccess, {
    ...supplySuccessHead,
    supply_amount_principal: principal,
    custom_response_payload: cell,
    subaccount_id: int(16),
    return_repay_remainings_flag: flag,
    recipient: unnamed(ref(record(null, { custom_payload_recipient: address }))),
    custom_payload_saturation_flag: flag,
  }),
  body('evaa_supply_success', evaaOps.supplySuccess, {
    ...supplySuccessHead,
    supply_amount_principal: principal,
    custom_response_payload: cell,
  }),
  body('evaa_supply_success', evaaOps.supplySuccess, { ...supplySuccessHead, custom_response_payload: rest }),
  body('evaa_supply_fail', evaaOps.supplyFail, {
    ...supplyFailHead,
    subaccount_id: int(16),
    return_repay_remainings_flag: flag,
    sender: unnamed(ref(record(null, { initial_sender: internalAddress }))),
  }),
  body('evaa_supply_fail', evaaOps.supplyFail, supplyFailHead),
  body('evaa_supply_excess_with_data', 0x000011ae, { query_id: u64, custom_response_payload: cell }),
  body('evaa_supply_excess', 0x000011ae, query),
  body('evaa_supply_fail_with_data', 0x00011ae1, { query_id: u64, custom_response_payload: cell }),
];

const withdrawnHead = {
  query_id: u64,
  owner_address: internalAddress,
  asset_id: assetId,
  withdraw_amount_current: amount,
  user_new_principal: principal,
  borrow_amount_principal: principal,
};

const withdraw = [
  body('evaa_withdraw_master', evaaOps.withdrawMaster, {
    query_id: u64,
    asset_id: assetId,
    amount,
    recipient_addr: internalAddress,
    include_user_code: flag,
    forward_ton_amount: amount,
    custom_response_payload: cell,
    prices_with_signature_packed: ref(pricesPacked),
  }),
  body('evaa_withdraw_user', evaaOps.withdrawUser, {
    query_id: u64,
    asset_id: assetId,
    withdraw_amount_current: amount,
    s_rate: rate,
    b_rate: rate,
    recipient_address: internalAddress,
    details: unnamed(
      ref(
        record(null, {
          ...collections,
          prices_packed: ref(pricesPacked),
          forward_ton_amount: amount,
          custom_response_payload: cell,
        }),
      ),
    ),
  }),
  body('evaa_withdraw_collateralized', evaaOps.withdrawCollateralized, {
    ...withdrawnHead,
    reclaim_amount_principal: principal,
    details: unnamed(
      ref(
        record(null, {
          recipient_address: internalAddress,
          forward_ton_amount: amount,
          custom_response_payload: cell,
        }),
      ),
    ),
  }),
  body('evaa_withdraw_collateralized', evaaOps.withdrawCollateralized, {
    ...withdrawnHead,
    reclaim_amount_principal_optional: rest,
  }),
  body('evaa_withdraw_success', evaaOps.withdrawSuccess, {
    query_id: u64,
    asset_id: assetId,
    principal_amount: principal,
    tracking_supply_index: trackingIndex,
    tracking_borrow_index: trackingIndex,
  }),
  body('evaa_withdraw_success_excess_with_data', evaaOps.withdrawSuccess, {
    query_id: u64,
    custom_response_payload: cell,
  }),
  body('evaa_withdraw_success_excess_with_data', evaaOps.withdrawSuccess, {
    query_id: u64,
    custom_response_payload: rest,
  }),
  body('evaa_withdraw_fail', evaaOps.withdrawFail, { query_id: u64, asset_id: assetId, principal_amount: principal }),
  body('evaa_withdraw_locked_excess', evaaOps.withdrawLocked, query),
  body('evaa_withdraw_not_collateralized_excess', evaaOps.withdrawNotCollateralized, query),
  body('evaa_withdraw_no_funds_excess', evaaOps.withdrawNoFunds, query),
  body('evaa_withdraw_missing_prices_excess', evaaOps.withdrawMissingPrices, query),
  body('evaa_withdraw_execution_crashed', evaaOps.withdrawCrashed, query),
];

const liquidationError = union(
  'LiquidationError',
  variant('user_withdraw_in_progress', 32, 0x31f0, {}),
  variant('not_liquidatable', 32, 0x31f2, {}),
  variant('liquidation_prices_missing', 32, 0x31f7, {}),
  variant('min_collateral_not_satisfied', 32, 0x31f3, { collateral_amount: amount }),
  variant('user_not_enough_collateral', 32, 0x31f4, { collateral_present: amount }),
  variant('user_liquidating_too_much', 32, 0x31f5, { max_not_too_much: amount }),
  variant('liqudation_execution_crashed', 32, 0x31fe, {}),
);

const liquidateHead = {
  query_id: u64,
  borrower_address: internalAddress,
  liquidator_address: address,
  collateral_asset_id: assetId,
  min_collateral_amount: amount,
  include_user_code: flag,
  liquidate_incoming_amount: amount,
  forward: unnamed(ref(record(null, { forward_ton_amount: amount, custom_response_payload: cell }))),
};

const liquidate = [
  body('evaa_liquidate_master', evaaOps.liquidateMaster, {
    ...liquidateHead,
    prices_with_signature_packed: ref(pricesPacked),
  }),
  body('evaa_liquidate_master', evaaOps.liquidateMaster, liquidateHead),
  body('evaa_liquidate_user', evaaOps.liquidateUser, {
    query_id: u64,
    ...collections,
    details: unnamed(
      ref(
        record(null, {
          prices_packed: ref(pricesPacked),
          collateral_asset_id: assetId,
          min_collateral_amount: amount,
          liquidator_address: internalAddress,
          transferred_asset_id: assetId,
          transfered_amount: amount,
          forward_ton_amount: coins,
          custom_response_payload: cell,
        }),
      ),
    ),
  }),
  body('evaa_liquidate_unsatisfied', evaaOps.liquidateUnsatisfied, {
    query_id: u64,
    owner_address: internalAddress,
    liquidator_address: internalAddress,
    transferred_asset_id: assetId,
    details: unnamed(
      ref(
        record(null, {
          transferred_amount: amount,
          collateral_asset_id: assetId,
          min_collateral_amount: amount,
          forward_ton_amount: coins,
          custom_response_payload: cell,
          error: liquidationError,
        }),
      ),
    ),
  }),
  body('evaa_liquidate_satisfied', evaaOps.liquidateSatisfied, {
    query_id: u64,
    owner_address: internalAddress,
    liquidator_address: internalAddress,
    transferred_asset_id: assetId,
    details: unnamed(
      ref(
        record(null, {
          delta_loan_principal: principal,
          liquidatable_amount: amount,
          protocol_gift: amount,
          new_user_loan_principal: principal,
          collateral_asset_id: assetId,
          delta_collateral_principal: principal,
          collateral_reward: amount,
          min_collateral_amount: amount,
          new_user_collateral_principal: principal,
          forward_ton_amount: coins,
          custom_response_payload: cell,
        }),
      ),
    ),
  }),
  body('evaa_liquidate_success', evaaOps.liquidateSuccess, {
    query_id: u64,
    transferred_asset_id: assetId,
    delta_loan_principal: principal,
    loan_tracking_supply_index: trackingIndex,
    loan_tracking_borrow_index: trackingIndex,
    collateral_asset_id: assetId,
    delta_collateral_principal: principal,
    collateral_tracking_supply_index: trackingIndex,
    collateral_tracking_borrow_index: trackingIndex,
  }),
  body('evaa_liquidate_fail', evaaOps.liquidateFail, {
    query_id: u64,
    transferred_asset_id: assetId,
    delta_loan_principal: principal,
    collateral_asset_id: assetId,
    delta_collateral_principal: principal,
  }),
  body('evaa_liquidate_success_report', evaaOps.liquidateReport, {
    transferred_asset_id: assetId,
    transferred_amount: amount,
    collateral_asset_id: assetId,
    collateral_reward: amount,
    custom_response_payload: cell,
  }),
];

const supplied = { supply_amount: amount };
const suppliedUser = { supplied: unnamed(record('sw_supply', supplied)), supply_asset_id: assetId };
const withdrawal = {
  withdraw_amount: amount,
  withdraw_asset_id: assetId,
  recipient_address_of_withdraw: internalAddress,
};
const swWithdraw = record('sw_withdraw', withdrawal);

const swGeneral = record('sw_general', {
  include_user_code: flag,
  ton_amount_for_repay_remainings: amount,
  custom_response_payload: cell,
  swm_opt_rest: rest,
});

const swGeneralUser = record('sw_general_user', {
  ton_amount_for_repay_remainings: amount,
  custom_response_payload: cell,
  options: unnamed(
    record('swm_ext_data', {
      subaccount_id: int(16),
      return_repay_remainings_flag: flag,
      custom_payload_saturation_flag: flag,
    }),
  ),
});

const swJettonParams = record('supply_withdraw_master_jetton_params', {
  supply_data: ref(record('sw_supply_empty', {})),
  withdraw_data: ref(swWithdraw),
  general_data: ref(swGeneral),
});

const swParams = record('supply_withdraw_master_params', {
  supply_data: ref(record('sw_supply', supplied)),
  withdraw_data: ref(swWithdraw),
  general_data: ref(swGeneral),
});

const supplyAsset = { supply_asset_id: assetId, supply_principal_amount: amount };
const withdrawAsset = { withdraw_asset_id: assetId, withdraw_principal_amount: amount };

const supplyWithdraw = [
  body('evaa_supply_withdraw_master_without_prices', 0x00000401, { query_id: u64, params: unnamed(swParams) }),
  body('evaa_supply_withdraw_master_without_prices', 0x00000401, { params: unnamed(swJettonParams) }),
  body('evaa_supply_withdraw_master_jetton', 0x00000042, { params: unnamed(swJettonParams) }),
  body('evaa_supply_withdraw_user', 0x00000041, {
    query_id: u64,
    supply_data: ref(record('sw_supply_user', suppliedUser)),
    withdraw_data: ref(record('sw_withdraw_user', { withdraw: unnamed(swWithdraw), prices_packed: cell })),
    general_data: ref(record(null, { ...collections, general: unnamed(swGeneralUser) })),
  }),
  body('evaa_supply_withdraw_satisfied', 0x00000411, {
    query_id: u64,
    supply_data: ref(
      record(null, {
        owner_address: internalAddress,
        supply: unnamed(record('sw_supply_user', suppliedUser)),
        supply_new_principal: principal,
        repay_amount_principal: principal,
        supply_amount_principal: principal,
      }),
    ),
    withdraw_data: ref(
      record(null, {
        withdraw: unnamed(swWithdraw),
        withdraw_new_principal: principal,
        borrow_amount_principal: principal,
        reclaim_amount_principal: principal,
      }),
    ),
    general_data: ref(swGeneralUser),
  }),
  body('evaa_supply_withdraw_unsatisfied', 0x0000041f, {
    query_id: u64,
    supply_data: ref(
      record(null, { owner_address: internalAddress, supply: unnamed(record('sw_supply_user', suppliedUser)) }),
    ),
    withdraw_data: ref(record('sw_withdraw_empty', {})),
    general_data: ref(
      record(null, {
        ton_amount_for_repay_remainings: amount,
        custom_response_payload: cell,
        subaccount_id: int(16),
      }),
    ),
  }),
  body('evaa_supply_withdraw_fail', 0x0000411f, {
    query_id: u64,
    supply_data: ref(record(null, supplyAsset)),
    withdraw_data: ref(record(null, withdrawAsset)),
    general_data: ref(record(null, { subaccount_id: int(16) })),
  }),
  body('evaa_supply_withdraw_success', 0x0000411a, {
    query_id: u64,
    supply_data: ref(record(null, supplyAsset)),
    withdraw_data: ref(record(null, withdrawAsset)),
    general_data: ref(record(null, { ...collections, subaccount_id: int(16) })),
  }),
];

const administration = [
  body('evaa_user_execute_action', 0x107e0000, { extra: rest }),
  body('evaa_revert_call', 0x0000000f, { query_id: u64, owner_address: internalAddress, revert_body: cell }),
  body('evaa_idle_master', 0x00000008, { query_id: u64, target_address: internalAddress }),
  body('evaa_idle_user', 0x00000081, { query_id: u64, tokens_keys: maybeCell, originator_address: internalAddress }),
  body('evaa_idle_excess', 0x0000081e, query),
  body('evaa_do_data_checks', 0x0000d001, query),
  body('evaa_get_store_request', 0x00009998, { query_id: u64, body_data: cell }),
  body('evaa_get_store_response', 0x00009999, { query_id: u64, body_data: cell, storage: masterStorage }),
  body('evaa_add_to_reserve', 0x00000a99, { rest }),
  body('evaa_init_master', 0x000000a1, {
    query_id: u64,
    new_asset_config_collection: ref(configs),
    packed_data: ref(record(null, { new_asset_dynamics_collection: ref(dynamics), tokens_keys: cell })),
  }),
  body('evaa_claim_asset_reserves', 0x000000a2, {
    query_id: u64,
    target_address: internalAddress,
    asset_id: assetId,
    amount_to_claim: amount,
  }),
  body('evaa_disable_contract_for_upgrade', 0x000000e8, query),
  body('evaa_init_upgrade', 0x000000c1, { query_id: u64, new_master_code: maybeCell, new_user_code: maybeCell }),
  body('evaa_submit_upgrade', 0x000000c2, query),
  body('evaa_cancel_upgrade', 0x000000c3, query),
  body('evaa_update_config', 0x000000e4, { query_id: u64, new_meta: cell, new_config: ref(masterConfig) }),
  body('evaa_add_new_token', 0x00000a32, {
    query_id: u64,
    asset_key: assetId,
    new_asset_config: ref(assetConfig),
    new_asset_dynamics: ref(assetDynamics),
  }),
  body('evaa_force_enable', 0x000000e1, query),
  body('evaa_force_disable_contract', 0x000000e9, query),
  body('evaa_debug_principals_edit_user', 0x00000d21, { query_id: u64, new_principals: dictionary(256, principal) }),
];

const pyth = [
  body('pyth_update_guardian_set', 0x00000001, {
    update: unnamed(
      ref(record(null, { version: u8, guardian_set_index: u32, signatures_length: u8, rest_signatures: rest })),
    ),
  }),
  body('pyth_parse_price_feed_updates', 0x00000005, {
    update_data: cell,
    price_ids: cell,
    min_publish_time: u64,
    max_publish_time: u64,
    target_address: address,
    custom_payload: cell,
  }),
  body('pyth_parse_unique_price_feed_updates', 0x00000006, {
    update_data: cell,
    price_ids: cell,
    publish_time: u64,
    max_staleness: u64,
    target_address: address,
    custom_payload: cell,
  }),
  body('pyth_parse_unique_price_feed_updates', 0x00000006, {
    number_of_price_feeds: u8,
    price_feeds: cell,
    sender_address: address,
    custom_payload: rest,
  }),
  body('pyth_response_success', 0x00010001, { result: cell, original_custom_payload: cell }),
  body('pyth_response_error', 0x00010002, { error_code: u32, original_op_code: u32, original_custom_payload: cell }),
];

/** The feeds first: they share the smallest opcode. */
export const evaaBodies = [
  ...pyth,
  ...supplyMaster,
  ...supply,
  ...withdraw,
  ...liquidate,
  ...supplyWithdraw,
  ...administration,
];
