/** Jettons: TEP-74, TEP-89, the reference and stablecoin minters, proxy TON. */
import { address, internalAddress } from './addresses.ts';
import type { Codec } from './codec.ts';
import { body } from './layout.ts';
import { amount, bool, coins, u64, uint } from './numbers.ts';
import { cell, maybe, maybeCell, payload, ref, rest } from './shapes.ts';

/** @param some reads its addresses */
export const jettonTransferWith = <A>(some: Codec<A>) =>
  body('jetton_transfer', 0x0f8a7ea5, {
    query_id: u64,
    amount,
    destination: some,
    response_destination: some,
    custom_payload: maybeCell,
    forward_ton_amount: amount,
    forward_payload: payload,
  });
export const jettonTransfer = jettonTransferWith(address);

const internalTransferHead = {
  query_id: u64,
  amount,
  from: address,
  response_address: address,
  forward_ton_amount: amount,
};

export const jettonInternalTransfer = body('jetton_internal_transfer', 0x178d4519, {
  ...internalTransferHead,
  forward_payload: payload,
});

/** As some wallets send it: the payload is what is left, nothing says where it stands. */
export const jettonInternalTransferWithoutEither = body('jetton_internal_transfer', 0x178d4519, {
  ...internalTransferHead,
  forward_payload: rest,
});

export const jettonNotify = body('jetton_notify', 0x7362d09c, {
  query_id: u64,
  amount,
  sender: address,
  forward_payload: payload,
});

/** @param some reads its address */
export const jettonBurnWith = <A>(some: Codec<A>) =>
  body('jetton_burn', 0x595f07bc, {
    query_id: u64,
    amount,
    response_destination: some,
    custom_payload: maybeCell,
  });
export const jettonBurn = jettonBurnWith(address);

export const jettonBurnNotification = body('jetton_burn_notification', 0x7bdd97de, {
  query_id: u64,
  amount,
  sender: address,
  response_destination: address,
});

/** Of the stablecoin's minter. A reference with the internal transfer follows, which the decoder does not print. */
export const jettonMint = body('jetton_mint', 0x642b7d07, {
  query_id: u64,
  to_address: internalAddress,
  ton_amount: coins,
});

/** Of the reference minter. */
export const minterJettonMint = body('minter_jetton_mint', 0x00000015, {
  query_id: u64,
  to_address: address,
  ton_amount: coins,
  master_msg: cell,
});

export const jettonChangeAdmin = body('jetton_change_admin', 0x6501f354, {
  query_id: u64,
  new_admin_address: address,
});

export const jettonSetStatus = body('jetton_set_status', 0xeed236d3, { query_id: u64, status: uint(4) });

/** TEP-89. The decoder has no name for it. */
export const provideWalletAddress = body('provide_wallet_address', 0x2c76b973, {
  query_id: u64,
  owner_address: address,
  include_address: bool,
});

/** TEP-89. The decoder has no name for it. */
export const takeWalletAddress = body('take_wallet_address', 0xd1735400, {
  query_id: u64,
  wallet_address: address,
  owner_address: maybe(ref(address)),
});

/** Administration of the governed minter, for which the decoder has no names. */
export const minterAdministration = [
  body('jetton_claim_admin', 0xfb88e119, { query_id: u64 }),
  body('jetton_drop_admin', 0x7431f221, { query_id: u64 }),
  body('jetton_change_metadata', 0xcb862902, { query_id: u64, metadata: rest }),
  body('jetton_upgrade', 0x2508d66a, { query_id: u64, new_data: cell, new_code: cell }),
];

export const ptonTonTransfer = body('pton_ton_transfer', 0x01f3835d, {
  query_id: u64,
  ton_amount: coins,
  refund_address: address,
  forward_payload: payload,
});

/** In the order of trial where opcodes are equal. */
export const jettonBodies = [
  jettonTransfer,
  jettonInternalTransfer,
  jettonInternalTransferWithoutEither,
  jettonNotify,
  jettonBurn,
  jettonBurnNotification,
  jettonMint,
  minterJettonMint,
  jettonChangeAdmin,
  jettonSetStatus,
  ptonTonTransfer,
  body('pton_ton_refund', 0xae25d79e, { query_id: u64 }),
  body('pton_reset_gas', 0x29d22935, { query_id: u64 }),
  body('pton_deploy_wallet', 0x4f5f4313, { query_id: u64, owner_address: address, excesses_address: address }),
  body('pton_internal_deploy', 0x6540cf85, { query_id: u64, excesses_address: address }),
];
