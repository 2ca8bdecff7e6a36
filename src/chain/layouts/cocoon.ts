/** Cocoon: workers, proxies and clients of a market for computing. */
import { address, addressOrNone } from './addresses.ts';
import { body } from './layout.ts';
import { coins, u32, u64, u256, uint } from './numbers.ts';
import { cell, maybeCell, rest } from './shapes.ts';

const query = { query_id: u64 };
const excesses = { query_id: u64, send_excesses_to: addressOrNone };
const refund = { coins, send_excesses_to: address };
const expected = { query_id: u64, expected_my_address: address };
const newTokens = { query_id: u64, new_tokens: u64, expected_my_address: address };
const tokensUsed = { query_id: u64, new_tokens_used: u64, expected_my_address: address };
const fees = { query_id: u64, price_per_token: coins, worker_fee_per_token: coins };

export const cocoonReturnExcesses = body('cocoon_return_excesses_back', 0x2565934c, query);
export const cocoonPayout = body('cocoon_payout', 0xc59a7cd3, query);

export const cocoonWorkerRequest = body('cocoon_worker_proxy_request', 0x4d725d2c, {
  query_id: u64,
  owner_address: addressOrNone,
  state: uint(2),
  tokens: u64,
  payload: maybeCell,
});

export const cocoonClientRequest = body('cocoon_client_proxy_request', 0x65448ff4, {
  query_id: u64,
  owner_address: address,
  state_data: cell,
  payload: maybeCell,
});

export const cocoonRefundGranted = body('cocoon_client_proxy_refund_granted', 0xc68ebc7b, refund);
export const cocoonPayoutPayload = body('cocoon_payout_payload', 0xa040ad28, newTokens);
export const cocoonLastPayoutPayload = body('cocoon_last_payout_payload', 0xf5f26a36, newTokens);
export const cocoonChargePayload = body('cocoon_charge_payload', 0xbb63ff93, tokensUsed);
export const cocoonGrantRefundPayload = body('cocoon_grant_refund_payload', 0xefd711e1, tokensUsed);
export const cocoonRegisterProxy = body('cocoon_register_proxy', 0x927c7cb5, { query_id: u64, proxy_info: rest });
export const cocoonUnregisterProxy = body('cocoon_unregister_proxy', 0x6d49eaf2, { query_id: u64, seqno: u32 });
export const cocoonProxyPayoutRequest = body('cocoon_ext_proxy_payout_request', 0x7610e6eb, excesses);
export const cocoonClientWithdraw = body('cocoon_owner_client_withdraw', 0xda068e78, excesses);
export const cocoonClientRequestRefund = body('cocoon_owner_client_request_refund', 0xfafa6cc1, excesses);

export const cocoonClientTopUp = body('cocoon_ext_client_top_up', 0xf172e6c2, {
  query_id: u64,
  top_up_amount: coins,
  send_excesses_to: addressOrNone,
});

export const cocoonClientIncreaseStake = body('cocoon_owner_client_increase_stake', 0x6a1f6a60, {
  query_id: u64,
  new_stake: coins,
  send_excesses_to: addressOrNone,
});

export const cocoonClientRegister = body('cocoon_owner_client_register', 0xc45f9f3b, {
  query_id: u64,
  nonce: u64,
  send_excesses_to: addressOrNone,
});

export const cocoonClientChangeSecret = body('cocoon_owner_client_change_secret_hash', 0xa9357034, {
  query_id: u64,
  new_secret_hash: u256,
  send_excesses_to: addressOrNone,
});

export const cocoonBodies = [
  cocoonReturnExcesses,
  cocoonPayout,
  cocoonWorkerRequest,
  body('cocoon_worker_proxy_payout_request', 0x08e7d036, {
    worker_part: coins,
    proxy_part: coins,
    send_excesses_to: address,
  }),
  cocoonClientRequest,
  body('cocoon_client_proxy_top_up', 0x5cfc6b87, { top_up_coins: coins, send_excesses_to: address }),
  body('cocoon_client_proxy_register', 0xa35cb580, {}),
  cocoonRefundGranted,
  body('cocoon_client_proxy_refund_force', 0xf4c354c9, refund),
  cocoonPayoutPayload,
  cocoonLastPayoutPayload,
  body('cocoon_add_worker_type', 0xe34b1c60, { query_id: u64, worker_hash: u256 }),
  body('cocoon_del_worker_type', 0x8d94a79a, { query_id: u64, worker_hash: u256 }),
  body('cocoon_add_model_type', 0xc146134d, { query_id: u64, model_hash: u256 }),
  body('cocoon_del_model_type', 0x92b11c18, { query_id: u64, model_hash: u256 }),
  body('cocoon_add_proxy_type', 0x71860e80, { query_id: u64, proxy_hash: u256 }),
  body('cocoon_del_proxy_type', 0x3c41d0b2, { query_id: u64, proxy_hash: u256 }),
  cocoonRegisterProxy,
  cocoonUnregisterProxy,
  body('cocoon_update_proxy', 0x9c7924ba, { query_id: u64, seqno: u32, proxy_addr: rest }),
  body('cocoon_change_fees', 0xc52ed8d4, fees),
  body('cocoon_change_params', 0x022fa189, {
    ...fees,
    proxy_delay_before_close: u32,
    client_delay_before_close: u32,
    min_proxy_stake: coins,
    min_client_stake: coins,
  }),
  body('cocoon_upgrade_contracts', 0xa2370f61, {
    query_id: u64,
    proxy_code: cell,
    worker_code: cell,
    client_code: cell,
  }),
  body('cocoon_upgrade_code', 0x11aefd51, { query_id: u64, new_code: cell }),
  body('cocoon_reset_root', 0x563c1d96, query),
  body('cocoon_upgrade_full', 0x4f7c5789, { query_id: u64, new_data: cell, new_code: cell }),
  body('cocoon_change_owner', 0xc4a1ae54, { query_id: u64, new_owner_address: address }),
  body('cocoon_owner_worker_register', 0x26ed7f65, excesses),
  cocoonProxyPayoutRequest,
  body('cocoon_ext_proxy_increase_stake', 0x9713f187, { query_id: u64, grams: coins, send_excesses_to: address }),
  body('cocoon_owner_proxy_close', 0xb51d5a01, excesses),
  body('cocoon_close_request_payload', 0x636a4391, expected),
  body('cocoon_close_complete_request_payload', 0xe511abc7, expected),
  cocoonClientTopUp,
  body('cocoon_owner_client_change_secret_hash_and_top_up', 0x8473b408, {
    query_id: u64,
    top_up_amount: coins,
    new_secret_hash: u256,
    send_excesses_to: address,
  }),
  cocoonClientRegister,
  cocoonClientChangeSecret,
  cocoonClientIncreaseStake,
  cocoonClientWithdraw,
  cocoonClientRequestRefund,
  cocoonChargePayload,
  cocoonGrantRefundPayload,
];
