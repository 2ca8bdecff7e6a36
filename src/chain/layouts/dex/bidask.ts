/** Bidask. */
import { address } from '../addresses.ts';
import { dictionary } from '../dictionaries.ts';
import { body } from '../layout.ts';
import { bool, coins, int, u16, u32, u64, u256, uint } from '../numbers.ts';
import { either, maybe, maybeCell, record, ref, rest } from '../shapes.ts';

const bins = dictionary(32, int(32));
const slippage = either(coins, u256);
const outcomes = { reject_payload: maybeCell, forward_payload: maybeCell };

const swapHead = {
  query_id: u64,
  to_address: address,
  order: bool,
  is_x: bool,
  amount_in: coins,
  amount_out: coins,
  exact_out: coins,
  slippage,
};

const internalSwap = { ...swapHead, ref_cell: maybeCell, additional_data: maybeCell, ...outcomes };

const first = [
  body('bidask_swap', 0xf2ef6c1b, {
    query_id: u64,
    native_amount: coins,
    to_address: address,
    slippage,
    exact_out: coins,
    ref_address: address,
    additional_data: maybeCell,
    ...outcomes,
  }),
  body('bidask_swap_forward_payload', 0xf2ef6c1b, {
    to_address: address,
    slippage,
    exact_out: coins,
    ref_address: address,
    additional_data: maybeCell,
    ...outcomes,
  }),
  body('bidask_swap_success', 0x520e4831, {
    query_id: u64,
    new_current_bin: int(32),
    new_sqrt_price: u256,
    order: bool,
    amount_x: coins,
    amount_y: coins,
    is_x: bool,
    user_address: address,
    ref_cell: maybeCell,
    additional_data: maybeCell,
    ...outcomes,
  }),
  body('bidask_internal_swap', 0x66210c65, internalSwap),
  body('bidask_internal_continue_swap', 0x59699475, internalSwap),
  body('bidask_native_transfer_notification', 0x6edd65f0, {
    query_id: u64,
    native_amount: coins,
    forward_payload: maybeCell,
  }),
];

const provideHead = {
  query_id: u64,
  ref_1: maybeCell,
  ref_2: maybeCell,
  ref_3: maybeCell,
  amount_x: coins,
  amount_y: coins,
  to_address: address,
};

const liquidity = [
  body('bidask_provide', 0x96feef7b, { query_id: u64, deposit_type: uint(4), liquidity_dict: bins, ...outcomes }),
  body('bidask_provide_forward_payload', 0x96feef7b, { deposit_type: uint(4), liquidity_dict: bins, ...outcomes }),
  body('bidask_provide_both_forward_payload', 0x3ea0bafc, {
    ton_amount: coins,
    deposit_type: uint(4),
    liquidity_dict: bins,
    ...outcomes,
  }),
  body('bidask_provide_refund', 0x02422cbe, {
    query_id: u64,
    first_range_bin: int(32),
    x_excess: coins,
    y_excess: coins,
    user_address: address,
    reject_payload: maybeCell,
    order: bool,
  }),
  body('bidask_internal_provide', 0xd1b02ea5, {
    ...provideHead,
    dex_payload: ref(record(null, { first_bin: int(32), liquidity_dict: bins, current_bin: int(32), remaining: rest })),
  }),
  body('bidask_internal_provide', 0xd1b02ea5, { ...provideHead, dex_payload: rest }),
  body('bidask_internal_continue_provide', 0x0c09445a, {
    query_id: u64,
    amount_x: coins,
    amount_y: coins,
    excess_x: coins,
    excess_y: coins,
    user_address: address,
    first_bin: int(32),
    number_of_bins: u32,
    liquidity_dict: bins,
    lp_tokens: bins,
    ...outcomes,
    order: bool,
  }),
  body('bidask_save_liquidity_info', 0x214ad1d2, {
    query_id: u64,
    amount_x: coins,
    amount_y: coins,
    deposit_type: uint(3),
    liquidity_dict: bins,
    ...outcomes,
  }),
  body('bidask_adding_liquidity_notify', 0xaf31d23f, {
    query_id: u64,
    user_address: address,
    amount_x: coins,
    amount_y: coins,
    deposit_type: uint(3),
    liquidity_dict: bins,
    ...outcomes,
  }),
  body('bidask_liquidity_added_notify', 0x0dc8bb28, { query_id: u64, forward_payload: maybeCell }),
  body('bidask_multitoken_mint', 0x250ad226, {
    query_id: u64,
    ref_1: maybeCell,
    ref_2: maybeCell,
    liquidity_dict: bins,
    number_of_bins: u32,
    forward_payload: maybeCell,
  }),
  body('bidask_burn', 0x73403c43, { query_id: u64, tokens_to_burn: bins, forward_payload: maybeCell }),
  body('bidask_burn_all', 0xebd6ec83, { query_id: u64, forward_payload: maybeCell }),
  body('bidask_burn_payout', 0x42062d62, {
    query_id: u64,
    first_range_bin: int(32),
    amount_x: coins,
    amount_y: coins,
    user_address: address,
    forward_payload: maybeCell,
  }),
  body('bidask_internal_burn', 0x16e09400, {
    query_id: u64,
    owner_address: address,
    amount_x: coins,
    amount_y: coins,
    first_bin: int(32),
    tokens_to_burn: bins,
    forward_payload: maybeCell,
  }),
];

const additional = maybe(ref(record('additional_data', { from_address: address, ref_address: address })));
const distributed = { distributed_x_amount: coins, distributed_y_amount: coins };
const fallback = {
  query_id: u64,
  first_range_bin: int(32),
  order: bool,
  user_address: address,
  is_x: bool,
  amount_in: coins,
};

/** Forms with more fields before those with fewer. */
const second = [
  body('bidask_internal_swap_v2', 0x87d36990, {
    ...swapHead,
    farming_cell: maybe(ref(record('farming_data', distributed))),
    additional_data: additional,
    ...outcomes,
  }),
  body('bidask_swap_v2', 0x87d36990, {
    query_id: u64,
    native_amount: coins,
    to_address: address,
    slippage,
    exact_out: coins,
    additional_data: additional,
    ...outcomes,
  }),
  body('bidask_swap_v2_forward_payload', 0x87d36990, {
    to_address: address,
    slippage,
    exact_out: coins,
    additional_data: additional,
    ...outcomes,
  }),
  body('bidask_swap_success_v2', 0xd3a25890, {
    query_id: u64,
    new_current_bin: int(32),
    new_sqrt_price: u256,
    order: bool,
    amount_x: coins,
    amount_y: coins,
    is_x: bool,
    user_address: address,
    dynamic_fee: u16,
    additional_data: additional,
    ...outcomes,
  }),
  body('bidask_internal_continue_swap_v2', 0x5a6a036f, {
    ...swapHead,
    swap_additional_data: maybe(
      ref(record('swap_additional', { previous_time: u64, start_price: u256, actual_fee: u16, ...distributed })),
    ),
    additional_data: additional,
    ...outcomes,
  }),
  body('bidask_swap_fallback_v2', 0x1bba3896, {
    ...fallback,
    ...distributed,
    additional_data: additional,
    reject_payload: maybeCell,
  }),
  body('bidask_swap_fallback', 0x1bba3896, { ...fallback, additional_data: maybeCell, reject_payload: maybeCell }),
];

export const bidaskBodies = [...first, ...liquidity, ...second];
