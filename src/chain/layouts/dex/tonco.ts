/** TONCO. */
import { address } from '../addresses.ts';
import { body } from '../layout.ts';
import { amount, bigInt, bigUint, bool, int, u16, u32, u64, u128, u256 } from '../numbers.ts';
import { cell, maybe, maybeCell, record, ref } from '../shapes.ts';

const query = { query_id: u64 };
const price = bigUint(160);
const ticks = { tick_lower: int(24), tick_upper: int(24) };

export const toncoPoolSwap = body('tonco_pool_swap', 0xa7fb58f8, {
  query_id: u64,
  owner_address: address,
  source_wallet: address,
  swap_params: ref(record(null, { amount, sqrtPriceLimitX96: price, minOutAmount: amount })),
  swap_payloads: ref(
    record(null, {
      target_address: address,
      ok_forward_amount: amount,
      ok_forward_payload: maybeCell,
      ret_forward_amount: amount,
      ret_forward_payload: maybeCell,
    }),
  ),
});

export const toncoPoolMint = body('tonco_pool_mint', 0xb2c1b6e3, {
  query_id: u64,
  owner_address: address,
  amount0: amount,
  amount1: amount,
  enough0: amount,
  enough1: amount,
  liquidity: u128,
  ...ticks,
});

export const toncoStartBurn = body('tonco_pool_start_burn', 0x530b5f2c, {
  query_id: u64,
  burned_index: u64,
  liquidity_to_burn: u128,
  ...ticks,
});

const oldFees = record(null, { fee_growth_inside_0_last_x128: u256, fee_growth_inside_1_last_x128: u256 });
const newFees = record(null, { fee_growth_inside_0_current_x128: u256, fee_growth_inside_1_current_x128: u256 });

export const toncoPoolBurn = body('tonco_pool_burn', 0xd73ac09d, {
  query_id: u64,
  recipient: address,
  burned_index: u64,
  liquidity: u128,
  ...ticks,
  liquidity_to_burn: u128,
  old_fee_cell: ref(oldFees),
  new_fee_cell: ref(newFees),
});

export const toncoFundAccount = body('tonco_pool_fund_account', 0x4468de77, {
  query_id: u64,
  owner_address: address,
  amount0: amount,
  amount1: amount,
  enough0: amount,
  enough1: amount,
  liquidity: u128,
  ...ticks,
});

export const toncoFundAccountPayload = body('tonco_pool_fund_account_payload', 0x4468de77, {
  other_jetton_wallet: address,
  amount0: amount,
  amount1: amount,
  liquidity: u128,
  ...ticks,
});

export const toncoPoolInit = body('tonco_pool_init', 0x441c39ed, {
  query_id: u64,
  from_admin: bool,
  has_admin: bool,
  admin_address: address,
  has_controller: bool,
  controller_address: address,
  set_spacing: bool,
  tick_spacing: int(24),
  set_price: bool,
  initial_price_x96: price,
  set_active: bool,
  pool_active: bool,
  protocol_fee: u16,
  lp_fee_base: u16,
  lp_fee_current: u16,
  nftv3_content: cell,
  nftv3item_content: cell,
  minter_cell: maybe(ref(record(null, { jetton0_minter: address, jetton1_minter: address }))),
});

export const toncoCreatePool = body('tonco_router_create_pool', 0x2e3034ef, {
  query_id: u64,
  jetton_wallet0: address,
  jetton_wallet1: address,
  tick_spacing: int(24),
  initial_price_x96: price,
  protocol_fee: u16,
  lp_fee_base: u16,
  lp_fee_current: u16,
  nftv3_content: cell,
  nftv3item_content: cell,
  minter_cell: ref(record(null, { jetton0_minter: address, jetton1_minter: address, controller_addr: address })),
});

export const toncoPositionInit = body('tonco_position_nft_init', 0xd5ecca2a, {
  query_id: u64,
  user_address: address,
  liquidity: u128,
  ...ticks,
  old_fee_cell: ref(
    record(null, {
      fee_growth_inside_0_last_x128: u256,
      fee_growth_inside_1_last_x128: u256,
      nft_index: u64,
      jetton0_amount: amount,
      jetton1_amount: amount,
      tick: int(24),
    }),
  ),
});

export const toncoPositionBurn = body('tonco_position_nft_burn', 0x46ca335a, {
  query_id: u64,
  nft_owner: address,
  liquidity_to_burn: u128,
  ...ticks,
  old_fee_cell: ref(oldFees),
});

export const toncoAddLiquidity = body('tonco_account_add_liquidity', 0x3ebe5431, {
  query_id: u64,
  new_amount0: amount,
  new_amount1: amount,
  new_enough0: amount,
  new_enough1: amount,
  liquidity: u128,
  ...ticks,
});

const payHead = { query_id: u64, reciever0: address, reciever1: address, exit_code: u32, seqno: u64 };
const payCoins = { amount0: amount, jetton0_address: address, amount1: amount, jetton1_address: address };

export const toncoPayTo = body('tonco_router_pay_to_normal', 0xa1daa96d, {
  ...payHead,
  coinsinfo_cell: maybe(
    ref(
      record(null, {
        ...payCoins,
        payload_cell: ref(
          record(null, {
            payload_amount0: amount,
            payload_0: maybeCell,
            payload_amount1: amount,
            payload_1: maybeCell,
          }),
        ),
      }),
    ),
  ),
  indexer_swap_info_cell: maybe(
    ref(
      record(null, {
        liquidity: u128,
        price_sqrt: price,
        tick: int(24),
        fee_growth_global_0x128: bigInt(256),
        fee_growth_global_1x128: bigInt(256),
      }),
    ),
  ),
});

export const toncoPayToBurned = body('tonco_router_pay_to_exit_code_201', 0xa1daa96d, {
  ...payHead,
  coinsinfo_cell: maybe(ref(record(null, payCoins))),
  indexer_burn_info_cell: maybe(
    ref(
      record(null, {
        nft_index: u64,
        liquidity_burned: u128,
        tick_lower: int(24),
        tick_upper: int(24),
        tick_burn: int(24),
      }),
    ),
  ),
});

export const toncoPoolMintAndRefund = body('tonco_pool_mint_and_refund', 0x81702ef8, {
  query_id: u64,
  amount0_funded: amount,
  amount1_funded: amount,
  recipient: address,
  liquidity: u128,
  ...ticks,
});

export const toncoBodies = [
  toncoPoolSwap,
  toncoPoolMint,
  toncoPoolMintAndRefund,
  toncoStartBurn,
  toncoPoolBurn,
  toncoFundAccount,
  toncoFundAccountPayload,
  toncoPoolInit,
  toncoCreatePool,
  toncoPositionInit,
  toncoPositionBurn,
  toncoAddLiquidity,
  body('tonco_pool_lock', 0xb1b0b7e2, query),
  body('tonco_pool_unlock', 0x4e737e4d, query),
  body('tonco_pool_set_fee', 0x6bdcbeb8, { query_id: u64, protocol_fee: u16, lp_fee_base: u16, lp_fee_current: u16 }),
  body('tonco_reset_gas', 0x42a0fb43, query),
  toncoPayTo,
  toncoPayToBurned,
];
