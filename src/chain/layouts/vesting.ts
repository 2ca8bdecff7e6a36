/** Vesting wallets (ton-blockchain/vesting-contract). */
import { body } from './layout.ts';
import { relaxedMessage } from './messages.ts';
import { u8, u64 } from './numbers.ts';
import { ref, rest } from './shapes.ts';

export const vestingSendMessage = body('vesting_send_message', 0xa7733acd, {
  query_id: u64,
  send_mode: u8,
  message: ref(relaxedMessage),
});

/** The addresses follow one another, each next one in a reference. */
export const vestingAddWhitelist = body('vesting_add_white_list', 0x7258a69b, {
  query_id: u64,
  addresses_ref_snake: rest,
});

export const vestingMessageSent = body('vesting_send_message_response', 0xf7733acd, { query_id: u64 });
export const vestingWhitelistAdded = body('vesting_add_white_list_response', 0xf258a69b, { query_id: u64 });

export const vestingBodies = [vestingSendMessage, vestingMessageSent, vestingAddWhitelist, vestingWhitelistAdded];
