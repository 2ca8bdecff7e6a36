/** Usernames and numbers of Telegram (TelegramMessenger/telemint). */
import type { Builder } from '../builder.ts';
import { address, internalAddress } from './addresses.ts';
import type { Codec } from './codec.ts';
import { body } from './layout.ts';
import { bitHex, bits512, grams, i64, u8, u16, u32 } from './numbers.ts';
import { cell, maybe, record, ref } from './shapes.ts';

/** A length and so many bytes. */
const shortText: Codec<Buffer> = {
  read: (cursor) => cursor.bytes(cursor.u(8)),
  write: (builder: Builder, value) => builder.u(value.length, 8).bytes(value),
  print(cursor) {
    const length = cursor.u(8);
    return `{"@type":"telemint_text","len":"${length}","text":"${bitHex(cursor, length * 8)}"}`;
  },
  sample: (chance) => chance.bytes(chance.below(12)),
};

const tokenInfo = record('telemint_token_info', { name: shortText, domain: shortText });

const auctionConfig = record('teleitem_auction_config', {
  beneficiary_address: internalAddress,
  initial_min_bid: grams,
  max_bid: grams,
  min_bid_step: u8,
  min_extend_time: u32,
  duration: u32,
});

const royaltyParams = record('nft_royalty_params', { numerator: u16, denominator: u16, destination: address });

const unsignedDeploy = {
  subwallet_id: u32,
  valid_since: u32,
  valid_till: u32,
  token_name: shortText,
  content: cell,
  auction_config: ref(auctionConfig),
  royalty_params: maybe(ref(royaltyParams)),
};

const restrictions = record('telemint_restrictions', {
  force_sender_address: maybe(internalAddress),
  rewrite_sender_address: maybe(internalAddress),
});

export const teleitemBidInfo = body('teleitem_bid_info', 0x38127de1, { bid: grams, bid_ts: u32 });
export const teleitemReturnBid = body('teleitem_return_bid', 0xa43227e1, { query_id: i64 });
export const teleitemOk = body('teleitem_ok', 0xa37a0983, { query_id: i64 });
export const teleitemStartAuction = body('teleitem_msg_start_auction', 0x487a8e81, {
  query_id: i64,
  auction_config: ref(auctionConfig),
});
export const teleitemCancelAuction = body('teleitem_msg_cancel_auction', 0x371638ae, { query_id: i64 });

export const teleitemDeploy = body('teleitem_msg_deploy', 0x299a3e15, {
  sender_address: internalAddress,
  bid: grams,
  token_info: ref(tokenInfo),
  nft_content: cell,
  auction_config: ref(auctionConfig),
  royalty_params: ref(royaltyParams),
});

export const telemintDeploy = body('telemint_msg_deploy', 0x4637289a, {
  sig: bits512,
  msg: record('telemint_unsigned_deploy', unsignedDeploy),
});

export const telemintDeployV2 = body('telemint_msg_deploy_v2', 0x4637289b, {
  sig: bits512,
  msg: record('telemint_unsigned_deploy_v2', { ...unsignedDeploy, restrictions: maybe(ref(restrictions)) }),
});

export const telegramBodies = [
  teleitemBidInfo,
  teleitemReturnBid,
  teleitemOk,
  teleitemStartAuction,
  teleitemCancelAuction,
  teleitemDeploy,
  telemintDeploy,
  telemintDeployV2,
];
