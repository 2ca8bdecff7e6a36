/** NFT items and collections: TEP-62, TEP-66, TEP-85, sales of GetGems. */
import { address, addressOrNone } from './addresses.ts';
import type { Codec } from './codec.ts';
import { body } from './layout.ts';
import { amount, bool, coins, u16, u64, u256 } from './numbers.ts';
import { cell, maybeCell, payload } from './shapes.ts';

/** @param some reads its addresses */
export const nftTransferWith = <A>(some: Codec<A>) =>
  body('nft_transfer', 0x5fcc3d14, {
    query_id: u64,
    new_owner: some,
    response_destination: some,
    custom_payload: maybeCell,
    forward_amount: amount,
    forward_payload: payload,
  });
export const nftTransfer = nftTransferWith(address);

export const nftOwnershipAssigned = body('nft_ownership_assigned', 0x05138d91, {
  query_id: u64,
  prev_owner: address,
  forward_payload: payload,
});

export const getStaticData = body('get_static_data', 0x2fcb26a2, { query_id: u64 });

export const reportStaticData = body('report_static_data', 0x8b771735, {
  query_id: u64,
  index: u256,
  collection: addressOrNone,
});

export const getRoyaltyParams = body('get_royalty_params', 0x693d3950, { query_id: u64 });

export const reportRoyaltyParams = body('report_royalty_params', 0xa8cb00ad, {
  query_id: u64,
  numerator: u16,
  denominator: u16,
  destination: address,
});

const question = { query_id: u64, dest: address, forward_payload: cell, with_content: bool };

export const saleUpdate = body('sale_update_message', 0x6c6c2080, {
  query_id: u64,
  new_full_price: coins,
  new_mp_fee: coins,
  new_royalty_amount: coins,
});

export const nftBodies = [
  nftTransfer,
  nftOwnershipAssigned,
  getStaticData,
  reportStaticData,
  getRoyaltyParams,
  reportRoyaltyParams,
  body('prove_ownership', 0x04ded148, question),
  body('sbt_request_owner', 0xd0c3bfea, question),
  body('ownership_proof', 0x0524c7ae, {
    query_id: u64,
    item_id: u256,
    owner: address,
    data: cell,
    revoked_at: u64,
    content: maybeCell,
  }),
  body('sbt_owner_info', 0x0dd607e3, {
    query_id: u64,
    item_id: u256,
    initiator: address,
    owner: address,
    data: cell,
    revoked_at: u64,
    content: maybeCell,
  }),
  body('sbt_destroy', 0x1f04537a, { query_id: u64 }),
  body('sbt_revoke', 0x6f89f5e3, { query_id: u64 }),
  saleUpdate,
];
