/** Bodies of services that each have few: tgBTC, JVault, subscriptions, scheduling, invoices, storage, and more. */
import { address, internalAddress } from './addresses.ts';
import { dictionary } from './dictionaries.ts';
import { body } from './layout.ts';
import {
  bit,
  bits,
  bits256,
  bits512,
  bool,
  coins,
  grams,
  u8,
  u16,
  u32,
  u64,
  u128,
  u256,
  uint,
  varUint,
} from './numbers.ts';
import { cell, maybe, maybeCell, record, ref, rest, union, variant } from './shapes.ts';
import { snakeText } from './texts.ts';

const query = { query_id: u64 };

export const tgbtcMintEvent = body('tgbtc_mint_event', 0x77a80ef3, {
  amount: coins,
  recipient_address: address,
  bitcoin_txid: u256,
});

export const tgbtcBurnEvent = body('tgbtc_burn_event', 0xca444ce6, {
  amount: coins,
  sender_address: address,
  pegout_address: address,
});

export const tgbtcNewKeyEvent = body('tgbtc_new_key_event', 0x27756729, {
  amount: coins,
  new_internal_pubkey: u256,
  pegout_address: address,
});

export const tgbtcDkgCompletedEvent = body('tgbtc_dkg_completed_event', 0x453443a6, {
  timestamp: u64,
  internal_pubkey: u256,
});

const tgbtc = [tgbtcMintEvent, tgbtcBurnEvent, tgbtcNewKeyEvent, tgbtcDkgCompletedEvent];

/** Addresses, 267 bits each. */
const addresses = dictionary(267, record(null, { bit }));

export const jvaultReceiveJettons = body('jvault_receive_jettons', 0xd68a4ac1, {
  query_id: u64,
  min_deposit: coins,
  max_deposit: coins,
  unstake_commission: u16,
  unstake_fee: coins,
  whitelist: addresses,
  received_jettons: coins,
});

export const jvaultUnstakeJettons = body('jvault_unstake_jettons', 0x499a9262, {
  query_id: u64,
  jettons_to_unstake: coins,
  force_unstake: bool,
});

export const jvaultUnstakeRequest = body('jvault_unstake_request', 0x0168d4b7, {
  query_id: u64,
  jettons_to_unstake: coins,
});

export const jvaultClaimRewards = body('jvault_claim_rewards_msg', 0x78d9f109, {
  query_id: u64,
  jettons_to_claim: addresses,
});

export const jvaultSendClaimedRewards = body('jvault_send_claimed_rewards', 0x44bc1fe3, { rest });
export const jvaultRequestUpdateRewards = body('jvault_request_update_rewards', 0xf5c5baa3, { rest });
export const jvaultUpdateRewards = body('jvault_update_rewards', 0xae9307ce, { rest });
export const jvaultRequestUpdateReferrer = body('jvault_request_update_referrer', 0x55c35b40, { rest });
export const jvaultUpdateReferrer = body('jvault_update_referrer', 0x076ee4e0, { rest });
export const jvaultSetData = body('jvault_set_data', 0x383411ea, { rest });

const jvault = [
  jvaultReceiveJettons,
  jvaultUnstakeJettons,
  jvaultUnstakeRequest,
  jvaultClaimRewards,
  jvaultSendClaimedRewards,
  jvaultRequestUpdateRewards,
  jvaultUpdateRewards,
  jvaultRequestUpdateReferrer,
  jvaultUpdateReferrer,
  jvaultSetData,
];

export const subscriptionPayment = body('subscription_payment', 0x73756273, { rest });

const subscriptions = [
  subscriptionPayment,
  body('subscription_fallback', 0x756e6b77, { rest }),
  body('subscription_deploy', 0xf71783cb, {
    query_id: u64,
    first_charging_date: u32,
    payment_per_period: grams,
    period: u32,
    grace_period: u32,
    caller_fee: grams,
    withdraw_address: internalAddress,
    withdraw_msg_body: cell,
    metadata: cell,
  }),
  body('subscription_reduce_payment', 0x508238ec, { query_id: u64, new_payment: grams }),
];

const cron = [
  body('cron_trigger', 0x2114702d, { reward_address: address, salt: u32 }),
  body('cron_reward', 0x2e04891a, { rest }),
  body('cron_notify', 0xd027efe5, { init_state_hash: u256, init_state_depth: uint(10) }),
  body('cron_init', 0x2e41d3ac, { rest }),
  body('cron_destroyed', 0xbbe27821, { rest }),
  body('w5_dns_renewal_calc_and_topup', 0x56f6110e, {
    first_call_time: u32,
    repeat_every: u32,
    salt: u32,
    reward: coins,
    owner_address: internalAddress,
    renewal_actions_cell: cell,
    topup_amount: coins,
    msg_to_wallet_amount: coins,
  }),
];

const storedBag = { cur_lt: u64, torrent_hash: bits256 };

/** `TorrentInfo` of TON Storage. */
const torrent = record('torrent_info', {
  piece_size: u32,
  file_size: u64,
  root_hash: bits256,
  header_size: u64,
  header_hash: bits256,
  microchunk_hash: maybe(bits256),
  description: rest,
});

const storage = [
  body('deploy_storage_contract', 0xe4748df1, {
    query_id: u64,
    info: ref(torrent),
    merkle_hash: bits256,
    expected_rate: coins,
    expected_max_span: u32,
  }),
  body('update_pubkey', 0x53f34cd6, { query_id: u64, new_pubkey: bits256 }),
  body('update_storage_params', 0x54cbf19b, {
    query_id: u64,
    accept_new_contracts: bool,
    rate_per_mb_day: coins,
    max_span: u32,
    minimal_file_size: u64,
    maximal_file_size: u64,
  }),
  body('offer_storage_contract', 0x107c49ef, query),
  body('accept_storage_contract', 0x7a361688, query),
  body('storage_contract_confirmed', 0xd4caedcd, storedBag),
  body('close_storage_contract', 0x79f937ea, query),
  body('storage_contract_terminated', 0xb6236d63, storedBag),
  body('storage_withdraw', 0x46ed2e94, query),
  body('storage_reward_withdrawal', 0xa91baf56, query),
  body('proof_storage', 0x419d5d4d, { query_id: u64, file_dict_proof: cell }),
];

const certificate = record('certificate', {
  data: record('certificate_data', { valid_until: u64, pubkey: bits256 }),
  signature: bits512,
});

const lifetime = { seqno: u32, valid_until: u64 };

const twoFactorPayload = union(
  'Payload2Fa',
  variant('send_actions', 32, 0xb15f2c8c, { ...lifetime, msg: cell, mode: u8 }),
  variant('remove_extension', 32, 0x9d8084d6, lifetime),
  variant('delegation', 32, 0x23d9c15c, { ...lifetime, new_state_init: cell, forward_amount: coins }),
  variant('cancel_delegation', 32, 0xde82b501, lifetime),
);

const single = [
  body('lock_and_claim', 0x3a86f1a0, { query_id: u64, proof: maybeCell }),
  body('daolama_vault_supply', 0x5c11ada9, { amount: coins }),
  body('gram_submit_proof_of_work', 0x4d696e65, {
    flags: u8,
    expire: u32,
    whom: bits256,
    rdata1: bits256,
    rseed: u128,
    rdata2: bits256,
  }),
  body('invoice_payload', 0x7aa23eb5, {
    id: bits(128),
    url: union('PaymentProviderUrl', variant('none', 8, 0, {}), variant('tonsite', 8, 1, { address: bits256 })),
  }),
  body('tonkeeper_2fa_signed', 0x53684037, {
    ref_with_certificate: ref(certificate),
    ref_seed_signature: ref(record(null, { seed_signature: bits512 })),
    payload: twoFactorPayload,
    certificate_signature: bits512,
  }),
  body('tonkeeper_relayer_fee_forward_payload', 0x878da6e3, { rest }),
  body('nerd_qr_verify', 0xccc2c823, { item_id: u32, signature: bits512 }),
  body('scaled_ui_display_multiplier_changed', 0xac392598, {
    numerator: varUint(5),
    denominator: varUint(5),
    comment: maybe(snakeText),
  }),
];

export const serviceBodies = [...tgbtc, ...jvault, ...subscriptions, ...cron, ...storage, ...single];
