/** Smaller exchanges: Moon, Tegro, Megaton; launch pads: Blum, GasPump. */
import { address, internalAddress } from '../addresses.ts';
import { body } from '../layout.ts';
import { amount, bool, coins, u8, u16, u64, u256, uint } from '../numbers.ts';
import { cell, maybe, maybeCell, record, ref, rest, unnamed } from '../shapes.ts';

const query = { query_id: u64 };

const moonNext = maybe(ref(record('next_payload', { recipient: address, payload: maybeCell })));

const moonSwapParams = record('swap_params', {
  min_out: amount,
  deadline: u64,
  excess: maybe(address),
  referral: maybe(address),
  next_fulfill: moonNext,
  next_reject: moonNext,
});

const moonOrder = record('order_data', { rate: u256, lock: uint(2), vesting_time: u64 });
const moonFill = { recipient: address, recipient_payload: maybeCell, reject_address: address };

const moon = [
  body('moon_swap', 0xb37a900b, { query_id: u64, amount, swap_params: moonSwapParams }),
  body('moon_swap_forward_payload', 0xb37a900b, { swap_params: moonSwapParams }),
  body('moon_swap_succeed', 0xcb7f38d6, { rest }),
  body('moon_swap_failed', 0xc47c1f57, { rest }),
  body('moon_deposit_liquidity', 0xb31db781, { query_id: u64, min_lp_out: amount }),
  body('moon_deposit_liquidity_forward_payload', 0xb31db781, { min_lp_out: amount }),
  body('moon_boost_pool', 0x96aa1586, query),
  body('moon_boost_pool_forward_payload', 0x96aa1586, { rest }),
  body('moon_create_order', 0xda067c19, { query_id: u64, asset2_id: address, order_data: moonOrder }),
  body('moon_create_order_forward_payload', 0xda067c19, {
    asset1_id: address,
    asset2_id: address,
    order_data: moonOrder,
  }),
  body('moon_deploy_order', 0x983432e2, { query_id: u64, order_fee: u8, order_data: moonOrder, pipes: cell }),
  body('moon_fill_order', 0x99b49842, { query_id: u64, ...moonFill }),
  body('moon_fill_order_forward_payload', 0x99b49842, moonFill),
  body('moon_order_payout', 0x96612e37, query),
  body('moon_vesting_payout', 0xb4fc3916, query),
  body('moon_cancel_order', 0x1e8d79c4, query),
  body('moon_order_cancelled', 0x49f48ee9, query),
];

const tegroSwap = {
  extract: bool,
  max_in: amount,
  min_out: amount,
  destination: address,
  error_destination: address,
};

const tegro = [
  body('tegro_swap_ton', 0x600c00fd, {
    query_id: u64,
    ...tegroSwap,
    max_in: coins,
    min_out: coins,
    ref: maybe(ref(address)),
  }),
  body('tegro_add_liquidity_forward_payload', 0x287e167a, { amount_a: amount, abount_b: amount }),
  body('tegro_jetton_swap_forward_payload', 0x01fb7a25, { ...tegroSwap, payload: maybeCell }),
];

const megaton = [
  body('megaton_wton_mint', 0x77a33521, { query_id: u64, amount: coins }),
  body('megaton_update_mining_params', 0x56a8e920, {
    pool_addr: internalAddress,
    last_mined: u256,
    last_index: u256,
    params: unnamed(ref(record(null, { last_mined: u256, last_index: u256 }))),
  }),
];

/** The opcode of a jetton notification, which is tried before. */
export const megatonSwap = body('megaton_swap', 0x7362d09c, {
  account_addr: internalAddress,
  in_token_addr: internalAddress,
  in_amount: coins,
  out: unnamed(ref(record(null, { out_token_addr: internalAddress, out_amount: coins }))),
});

const blumTrade = { supply_delta: coins, new_supply: coins, collected_ton_liq: coins, refferal: rest };

const launchPads = [
  body('blum_memepad_buy', 0xaf750d34, { query_id: u64, min_recieve: coins, receiver: address, refferal: rest }),
  body('blum_memepad_sell', 0x742b36d8, { query_id: u64, amount: coins, min_recieve: coins, refferal: rest }),
  body('blum_memepad_unlock_wallet', 0xf0fd50bb, query),
  body('blum_memepad_buy_log', 0xceac8af4, { buyer_address: address, tons_consumed: coins, ...blumTrade }),
  body('blum_memepad_sell_log', 0xef2e2def, { seller_address: address, ton_value: coins, ...blumTrade }),
  body('blum_memepad_send_liq_log', 0x30c7219b, { ton_liq_amount: coins, jetton_liq_amount: coins }),
  body('gas_pump_buy_log', 0x67617302, {
    buyer_address: address,
    input_ton_amount: coins,
    ton_amount: coins,
    jetton_amount: coins,
    fee_ton_amount: coins,
    bonding_curve_overflow: bool,
  }),
  body('gas_pump_sell_log', 0x67617303, {
    seller_address: address,
    ton_amount: coins,
    jetton_amount: coins,
    fee_ton_amount: coins,
  }),
  body('gas_pump_send_to_pool_log', 0x67617305, { ton_amount: coins, jetton_amount: coins, fee_ton_amount: coins }),
  body('gas_pump_change_trade_state_log', 0x67617306, { old_trade_state: u16, new_trade_state: u16 }),
];

export const otherExchangeBodies = [...moon, ...tegro, ...megaton, megatonSwap, ...launchPads];
