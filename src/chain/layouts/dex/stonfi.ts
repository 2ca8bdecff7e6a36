/** STON.fi v1 and v2 (ston-fi/dex-core, ston-fi/dex-core-v2). */
import { address } from '../addresses.ts';
import { body } from '../layout.ts';
import { amount, bool, coins, u16, u32, u64 } from '../numbers.ts';
import { either, maybe, maybeCell, record, ref, unnamed } from '../shapes.ts';

const payTo = record('pay_to_params', {
  amount0_out: amount,
  token0_address: address,
  amount1_out: amount,
  token1_address: address,
});

/** From the router to a pool. The addresses go on with the referrer, where there is one. */
export const stonfiSwap = body('stonfi_swap', 0x25938561, {
  query_id: u64,
  to_address: address,
  sender_address: address,
  jetton_amount: amount,
  min_out: amount,
  has_ref_address: bool,
  addrs: ref(record('swap_addresses', { from_user: address })),
});

export const stonfiSwapPayload = body('stonfi_swap_forward_payload', 0x25938561, {
  token_wallet: address,
  min_out: amount,
  to_address: address,
  referral_address: maybe(address),
});

export const stonfiPaymentRequest = body('stonfi_payment_request', 0xf93bb43f, {
  query_id: u64,
  owner: address,
  exit_code: u32,
  params: either(payTo, ref(payTo)),
});

const swapBody = {
  min_out: amount,
  receiver: address,
  fwd_gas: coins,
  custom_payload: maybeCell,
  refund_fwd_gas: coins,
  refund_payload: maybeCell,
  ref_fee: u16,
  ref_address: address,
};

const route = { token_wallet1: address, refund_address: address, excesses_address: address, tx_deadline: u64 };

export const stonfiSwapV2 = body('stonfi_swap_v2', 0x6664de2a, {
  query_id: u64,
  from_user: address,
  left_amount: amount,
  right_amount: amount,
  dex_payload: unnamed(
    ref(
      record('dex_payload', { transferred_op: u32, ...route, swap_body: unnamed(ref(record('swap_body', swapBody))) }),
    ),
  ),
});

export const stonfiSwapV2Payload = body('stonfi_swap_v2_forward_payload', 0x6664de2a, {
  ...route,
  cross_swap_body: unnamed(ref(record('cross_swap_body', swapBody))),
});

/** A further swap in the payload of one. The decoder has no name for it. */
export const stonfiCrossSwapPayload = body('stonfi_cross_swap_v2', 0x69cf1a5b, {
  ...route,
  cross_swap_body: unnamed(ref(record('cross_swap_body', swapBody))),
});

const provideBody = {
  min_lp_out: amount,
  to_address: address,
  both_positive: bool,
  fwd_amount: coins,
  custom_payload: maybeCell,
};

export const stonfiProvideV2 = body('stonfi_provide_lp_v2', 0x37c096df, {
  query_id: u64,
  from_user: address,
  left_amount: amount,
  right_amount: amount,
  dex_payload: unnamed(
    ref(
      record('dex_payload_provide_lp_v2', {
        transferred_op: u32,
        ...route,
        provide_body: unnamed(ref(record('provide_lp_body_v2', provideBody))),
      }),
    ),
  ),
});

export const stonfiProvideV2Payload = body('stonfi_provide_lp_v2_forward_payload', 0x37c096df, {
  ...route,
  provide_body: unnamed(ref(record('cross_provide_lp_body', provideBody))),
});

export const stonfiCallbackAddLiquidityV2 = body('stonfi_cb_add_liquidity_v2', 0x06ecd527, {
  query_id: u64,
  tot_am0: amount,
  tot_am1: amount,
  user_address: address,
  min_lp_out: amount,
  fwd_amount: coins,
  custom_payload_cs: maybeCell,
  additional: unnamed(
    ref(record('additional_fields', { to_user_address: address, refund_address: address, excess_address: address })),
  ),
});

export const stonfiAddLiquidityV2 = body('stonfi_add_liquidity_v2', 0x50c6a654, {
  query_id: u64,
  new_amount0: amount,
  new_amount1: amount,
  min_lp_out: amount,
  fwd_amount: coins,
  both_positive: bool,
  to_user: address,
  custom_payload_cs: maybeCell,
  additional: unnamed(
    ref(record('additional_fields_add_liquidity_v2', { refund_address: address, excess_address: address })),
  ),
});

const outputs = {
  amount0_out: amount,
  token0_address: address,
  amount1_out: amount,
  token1_address: address,
};

export const stonfiPayToV2 = body('stonfi_pay_to_v2', 0x657b54f5, {
  query_id: u64,
  to_address: address,
  excesses_address: address,
  original_caller: address,
  exit_code: u32,
  custom_payload: maybeCell,
  additional: unnamed(ref(record('additional_info_pay_to_v2', { fwd_ton_amount: coins, ...outputs }))),
});

export const stonfiPayVaultV2 = body('stonfi_pay_vault_v2', 0x63381632, {
  query_id: u64,
  owner: address,
  excesses_address: address,
  additional: unnamed(ref(record('additional_info_pay_vault_v2', outputs))),
});

export const stonfiBurnNotificationV2 = body('stonfi_burn_notification_ext_v2', 0x297437cf, {
  query_id: u64,
  jetton_amount: amount,
  from_address: address,
  response_address: address,
  maybe_custom_payload: maybeCell,
});

export const stonfiSwapOk = body('stonfi_swap_ok_forward_payload', 0xc64370e5, {});
export const stonfiSwapOkReferral = body('stonfi_swap_ok_ref_forward_payload', 0x45078540, {});

export const stonfiBodies = [
  stonfiSwap,
  stonfiSwapPayload,
  stonfiPaymentRequest,
  stonfiSwapV2,
  stonfiSwapV2Payload,
  stonfiProvideV2,
  stonfiProvideV2Payload,
  stonfiCallbackAddLiquidityV2,
  stonfiAddLiquidityV2,
  stonfiPayToV2,
  stonfiPayVaultV2,
  body('stonfi_withdraw_fee_v2', 0x354bcdf4, { query_id: u64 }),
  body('stonfi_deposit_ref_fee_v2', 0x0490f09b, { query_id: u64, jetton_amount: amount, excesses_address: address }),
  body('stonfi_vault_pay_to_v2', 0x2100c922, {
    query_id: u64,
    amount_out: amount,
    token_address: address,
    to_address: address,
  }),
  stonfiBurnNotificationV2,
  body('stonfi_provide_liquidity_forward_payload', 0xfcf9e58f, { token_wallet: address, min_lp_out: amount }),
  stonfiSwapOk,
  stonfiSwapOkReferral,
];
