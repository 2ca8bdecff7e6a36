/** The elector, nominator pools, liquid staking. */
import { address } from './addresses.ts';
import { body } from './layout.ts';
import { amount, bits256, bits512, bool, coins, grams, i64, int, u8, u16, u32, u64, u256, uint } from './numbers.ts';
import { cell, maybe, maybeCell, record, ref, rest, unnamed } from './shapes.ts';

const query = { query_id: u64 };

export const electorNewStake = body('elector_new_stake', 0x4e73744b, {
  query_id: u64,
  validator_pubkey: bits256,
  stake_at: u32,
  max_factor: u32,
  adnl_addr: bits256,
  signature: ref(bits512),
});

export const electorNewStakeConfirmation = body('elector_new_stake_confirmation', 0xf374484c, query);
export const electorRecoverStake = body('elector_recover_stake_request', 0x47657424, query);
export const electorRecoverStakeResponse = body('elector_recover_stake_response', 0xf96f7324, query);

export const liquidStakingDistribution = body('tonstake_start_distribution', 0x1140a64f, query);

/** Of the elector and of single nominators and liquid staking, for which the decoder has no names. */
export const unnamedStaking = [
  body('elector_return_stake', 0xee6f454c, { query_id: u64, reason: u32 }),
  body('single_nominator_withdraw', 0x00001000, { query_id: u64, amount: coins }),
  body('single_nominator_change_validator', 0x00001001, { query_id: u64, validator: address }),
  liquidStakingDistribution,
];

const elector = [electorNewStake, electorNewStakeConfirmation, electorRecoverStake, electorRecoverStakeResponse];

const signedQuery = { query_id: i64 };

const whales = [
  body('whales_nominators_withdraw', 0xda803efd, { query_id: i64, gas: grams, amount: grams }),
  body('whales_nominators_deposit', 0x7bcd1fef, { query_id: i64, gas: grams }),
  body('whales_nominators_force_kick', 0x1596920c, signedQuery),
  body('whales_nominators_stake_withdraw_delayed', 0x74bb3427, signedQuery),
  body('whales_nominators_stake_withdraw_completed', 0x23d421e1, signedQuery),
  body('whales_nominators_send_stake', 0xa2065f2c, {
    query_id: u64,
    gas_limit: grams,
    stake: grams,
    validator_pubkey: bits256,
    stake_at: u32,
    max_factor: u32,
    adnl_addr: bits256,
    signature: ref(bits512),
  }),
  body('whales_nominators_withdraw_unowned', 0x251d6a98, { query_id: u64, gas_limit: grams }),
  body('whales_nominators_withdraw_unowned_response', 0x1d1715bf, query),
  body('whales_nominators_accept_stake', 0x99a811fb, { query_id: u64, members: rest }),
  body('whales_nominators_accept_withdraws', 0xa19fd934, { query_id: u64, members: rest }),
];

const controllerData = record('data', {
  controller_id: u32,
  validator: address,
  pool: address,
  governor: address,
  roles: unnamed(ref(record(null, { approver: address, halter: address }))),
});

export const liquidStakingDeposit = body('tonstake_pool_deposit', 0x47d54391, { query_id: u64, referral: rest });

export const liquidStakingMint = body('tonstake_payout_mint_jettons', 0x1674b0a0, {
  query_id: u64,
  destination: address,
  amount: coins,
  notification: coins,
  forward: coins,
});

export const liquidStakingWithdraw = body('tonstake_pool_withdraw', 0x319b0cdc, {
  query_id: u64,
  jetton_amount: coins,
  from_address: address,
  response_address: address,
});

export const liquidStakingWithdrawal = body('tonstake_pool_withdrawal', 0x0a77535c, query);
export const payoutNftBurn = body('tonstake_nft_burn', 0xf127fe4e, query);

export const payoutNftBurnNotification = body('tonstake_nft_burn_notification', 0xed58b0b2, {
  query_id: u64,
  amount: coins,
  owner: address,
  index: u64,
});

export const payoutNftInit = body('tonstake_nft_init', 0x132f9a45, {
  query_id: u64,
  owner: address,
  amount: coins,
  prev: address,
  next: address,
});

export const payoutNftPayout = body('tonstake_nft_payout', 0xdb3b8abd, query);

/** ton-blockchain/liquid-staking-contract. */
const liquid = [
  body('tonstake_controller_recover_stake', 0xeb373a05, query),
  body('tonstake_controller_update_validator_hash', 0xf0fd2250, query),
  body('tonstake_controller_withdraw_validator', 0x8efed779, { query_id: u64, value: coins }),
  body('tonstake_controller_validator_withdrawal', 0x30026327, { query_id: u64, amount: coins }),
  body('tonstake_controller_new_stake', 0xe0505d0e, {
    query_id: u64,
    value: coins,
    validator_pubkey: u256,
    stake_at: u32,
    max_factor: u32,
    adnl_addr: u256,
    signature: ref(bits512),
  }),
  body('tonstake_controller_send_request_loan', 0x6335b11a, {
    query_id: u64,
    min_loan: coins,
    max_loan: coins,
    max_interst: uint(24),
  }),
  body('tonstake_controller_return_unused_loan', 0xed7378a6, query),
  body('tonstake_controller_return_available_funds', 0x55c26cd5, query),
  body('tonstake_pool_request_loan', 0xe642c965, {
    query_id: u64,
    min_loan: coins,
    max_loan: coins,
    max_interest: uint(24),
    controller_data: ref(controllerData),
  }),
  body('tonstake_pool_loan_repayment', 0xdfdca27b, query),
  liquidStakingDeposit,
  body('tonstake_pool_touch', 0x4bc7c2df, query),
  body('tonstake_pool_set_governance_fee', 0x2aaa96a0, { query_id: u64, governance_fee: u16 }),
  liquidStakingWithdraw,
  liquidStakingWithdrawal,
  body('tonstake_pool_set_roles', 0x5e517f36, {
    query_id: u64,
    governor: maybe(address),
    interest_manager: maybe(address),
    halter: maybe(address),
  }),
  body('tonstake_pool_set_deposit_settings', 0x9bf5561c, {
    query_id: u64,
    optimistic_deposit_withdrawals: bool,
    deposits_open: bool,
  }),
  body('tonstake_pool_deploy_controller', 0xb27edcad, { controller_id: u32, query_id: u64 }),
  body('tonstake_pool_prepare_governance_migration', 0x9971881c, {
    query_id: u64,
    governor_update_after: uint(48),
  }),
  body('tonstake_controller_pool_send_message', 0x270695fb, { query_id: u64, mode: u8, msg: cell }),
  body('tonstake_controller_pool_upgrade', 0x96e7f528, {
    query_id: u64,
    data: maybeCell,
    code: maybeCell,
    after_upgrade: maybeCell,
  }),
  body('tonstake_controller_pool_set_sudoer', 0x79e7c016, { query_id: u64, sudoer: address }),
  body('tonstake_controller_pool_unhalt', 0x7247e7a5, query),
  body('tonstake_controller_pool_halt', 0x139a1b4e, query),
  body('tonstake_imanager_set_interest', 0xc9f04485, { query_id: u64, interest_rate: u16 }),
  body('tonstake_imanager_operation_fee', 0x54d37487, query),
  body('tonstake_imanager_request_notification', 0xb1ebae06, {
    query_id: u64,
    min_loan: coins,
    max_loan: coins,
    max_interest: u16,
  }),
  body('tonstake_imanager_stats', 0xc1344900, {
    query_id: u64,
    borrowed: coins,
    expected: coins,
    returned: coins,
    profit_sign: int(1),
    profit: coins,
    total_balance: coins,
  }),
  payoutNftBurn,
  payoutNftBurnNotification,
  payoutNftInit,
  payoutNftPayout,
  liquidStakingMint,
];

const bemo = [
  body('bemo_stake', 0x4253c4d5, { query_id: u64, forward_ton_amount: amount, forward_payload: maybeCell }),
  body('bemo_unstake', 0x492ab1b3, {
    index: u64,
    owner: address,
    ton_amount: amount,
    jetton_amount: amount,
    forward_payload: maybeCell,
  }),
  body('bemo_deploy_unstake_request', 0x10a1ce75, {
    query_id: u64,
    owner_address: address,
    withdraw_ton_amount: amount,
    withdraw_jetton_amount: amount,
    forward_payload: maybeCell,
    lockup_timestamp: u32,
  }),
  body('bemo_unstake_notification', 0x90c80a07, { query_id: u64, forward_payload: maybeCell }),
  body('bemo_return_unstake_request', 0x38633538, { lockup_timestamp: u32 }),
];

const hipoMinted = { query_id: u64, tokens: amount, coins: amount, owner: address, round_since: u32 };

const hipo = [
  body('hipo_finance_deposit_coins', 0x3d3761a6, {
    query_id: u64,
    owner: address,
    coins: amount,
    ownership_assigned_amount: amount,
    referrer: address,
  }),
  body('hipo_finance_proxy_tokens_minted', 0x5be57626, hipoMinted),
  body('hipo_finance_tokens_minted', 0x5445efee, hipoMinted),
];

export const stakingBodies = [...elector, ...whales, ...liquid, ...bemo, ...hipo];
