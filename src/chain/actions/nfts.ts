/** NFT items: TEP-62, and the items of Telegram's usernames and numbers, which change hands by themselves. */

import type { Cursor } from '../cursor.ts';
import { compareDecimal } from '../decimal.ts';
import { DecodeError } from '../errors.ts';
import { addressOrNone } from '../layouts/addresses.ts';
import type { CellView } from '../layouts/cell-view.ts';
import { auctionFillUp } from '../layouts/dns.ts';
import { body } from '../layouts/layout.ts';
import { getStaticData, nftOwnershipAssigned, reportStaticData, nftTransfer as transferBody } from '../layouts/nfts.ts';
import { amount, u64 } from '../layouts/numbers.ts';
import { maybeCell, payload } from '../layouts/shapes.ts';
import { teleitemBidInfo, teleitemDeploy } from '../layouts/telegram.ts';
import type { Decimal } from '../model.ts';
import type { Block } from './block.ts';
import { addressText, bagText, destinationOf, messageOf, readBody, sentValue, sourceOf } from './bodies.ts';
import { type Comment, itemComment } from './comment.ts';
import type { Details } from './details.ts';
import { declare, given, type Reading } from './kind.ts';
import type { KnownContracts, KnownNftItem } from './known.ts';
import { EXCESSES, type Match } from './pattern.ts';
import { callContract, deploys, tonTransfer } from './ton.ts';
import type { RawAddress } from './trace.ts';

/** What every action of an item prints of it. */
export interface Item {
  address: RawAddress;
  collection: RawAddress | null;
  index: Decimal | null;
}

export function itemOf(address: RawAddress, { collection, index }: KnownNftItem): Item {
  return { address, collection, index };
}

export function itemDetails({ address, collection, index }: Item) {
  return { nft_collection: collection, nft_item: address, nft_item_index: index };
}

export interface NftMint {
  item: Item;
  /** Who sent the message: normally the collection. */
  owner: RawAddress | null;
}

export const nftMint = declare<NftMint>({
  block: 'nft_mint',
  groups: ['v1', 'nft'],
  leaf: true,
  matchers: [
    {
      rank: 1,
      pattern: { block: ['ton_transfer', 'call_contract'], where: ({ node }) => deploys(node) },
      read({ head }, known) {
        const { account } = head.node.transaction;
        const record = known.nftItem(account);
        return record === undefined
          ? null
          : { data: { item: itemOf(account, record), owner: messageOf(head).source }, failed: false };
      },
    },
  ],
  details: ({ item, owner }) => ({ owner: given(owner), ...itemDetails(item) }),
  accounts: ({ item, owner }) => ({ source: owner, destination: item.address }),
});

/** How an item was paid for. */
export interface Sale {
  price: Decimal;
  /** The seller; null where the item itself held the auction. */
  seller: RawAddress | null;
  marketplace: RawAddress | null;
}

export interface Payout {
  amount: Decimal;
  address: RawAddress | null;
}

export interface NftTransfer {
  item: Item;
  oldOwner: RawAddress | null;
  newOwner: RawAddress;
  /** Null when the item did not change hands for money. */
  sale: Sale | null;
  payout: Payout | null;
  royalty: Payout | null;
  queryId: Decimal;
  responseDestination: RawAddress | null;
  customPayload: CellView | null;
  forwardPayload: CellView | null;
  forwardAmount: Decimal | null;
  /** Whether the item was asked to move; else it told of it by itself. */
  wasAsked: boolean;
}

export const nftTransfer = declare<NftTransfer>({
  block: 'nft_transfer',
  groups: ['v1', 'nft'],
  leaf: true,
  matchers: [
    {
      rank: 26,
      pattern: {
        op: transferBody.opcode,
        child: { any: [{ op: nftOwnershipAssigned.opcode, as: 'assigned' }, { op: EXCESSES }], optional: true },
      },
      read: readTransfer,
    },
    { rank: 27, pattern: { op: nftOwnershipAssigned.opcode }, read: readAssignment },
  ],
  details: (transfer) => transferDetails(transfer, null),
  accounts: ({ oldOwner, newOwner }) => ({ source: oldOwner, destination: newOwner }),
});

/** @param payoutComment of a purchase whose payout was found */
export function transferDetails(transfer: NftTransfer, payoutComment: Comment | null): Details {
  const { sale, payout, royalty, customPayload, forwardPayload } = transfer;
  const comment = forwardPayload === null ? null : itemComment(forwardPayload);
  return {
    ...itemDetails(transfer.item),
    old_owner: given(transfer.oldOwner),
    new_owner: transfer.newOwner,
    is_purchase: sale !== null,
    price: sale?.price,
    query_id: transfer.queryId,
    response_destination: transfer.responseDestination,
    custom_payload: customPayload === null ? null : bagText(customPayload, { crc: true }),
    forward_payload: forwardPayload === null ? null : bagText(forwardPayload, { crc: true }),
    forward_amount: transfer.forwardAmount,
    comment: comment?.text ?? null,
    is_encrypted_comment: comment?.encrypted ?? null,
    // The name of a marketplace is the operator's to tell.
    marketplace: null,
    real_old_owner: sale?.seller ?? null,
    marketplace_address: sale?.marketplace ?? null,
    payout_amount: payout?.amount ?? null,
    payout_address: payout?.address ?? null,
    payout_comment: payoutComment?.text ?? null,
    payout_comment_encrypted: payoutComment?.encrypted ?? null,
    // Encrypted bytes are told in base64.
    payout_comment_encoded: payoutComment === null ? null : payoutComment.encrypted && payoutComment.text !== null,
    royalty_amount: royalty?.amount ?? null,
    royalty_address: royalty?.address ?? null,
  };
}

/**
 * The fields before the payload: some senders leave that out, and items take it for none. External addresses are
 * refused, as by the reference.
 */
const transferHead = body('nft_transfer', transferBody.opcode, {
  query_id: u64,
  new_owner: addressOrNone,
  response_destination: addressOrNone,
  custom_payload: maybeCell,
  forward_amount: amount,
});

/** The same of what items tell their new owner: they pass the sender's payload on, or its absence. */
const assignedHead = body('nft_ownership_assigned', nftOwnershipAssigned.opcode, {
  query_id: u64,
  prev_owner: addressOrNone,
});

/** The payload at the end of a body, null when the body ends before it. */
function payloadLeft(cursor: Cursor): CellView | null {
  return cursor.bitsLeft === 0 ? null : payload.read(cursor).cell;
}

function readTransfer(found: Match, known: KnownContracts): Reading<NftTransfer> | null {
  const { head } = found;
  const item = destinationOf(head);
  const record = known.nftItem(item);
  if (record === undefined) return null;
  const cursor = messageOf(head).body().cursor();
  const request = transferHead.read(cursor);
  const forwardPayload = payloadLeft(cursor);
  const newOwner = addressText(request.new_owner);
  // Items have an owner: the reference takes no move to nobody for one.
  if (newOwner === null) return null;
  const assigned = found.first('assigned');
  const sale = saleOf(head.prev, item, newOwner, known);
  const blocks = found.all();
  if (sale !== null && head.prev !== null && isPayment(head.prev)) blocks.add(head.prev);
  return {
    data: {
      item: itemOf(item, record),
      oldOwner: assigned === null ? sourceOf(head) : addressText(readBody(assigned, assignedHead).prev_owner),
      newOwner,
      sale,
      payout: null,
      royalty: null,
      queryId: request.query_id,
      responseDestination: addressText(request.response_destination),
      customPayload: request.custom_payload,
      forwardPayload,
      forwardAmount: request.forward_amount,
      wasAsked: true,
    },
    failed: head.failed,
    blocks,
  };
}

/** What the contract that had the item move was: a sale that the new owner paid, or an auction. */
function saleOf(prev: Block | null, item: RawAddress, buyer: RawAddress, known: KnownContracts): Sale | null {
  if (prev === null || prev.nodes.length === 0) return null;
  const { account } = prev.node.transaction;
  const paid = tonTransfer.of(prev);
  const sale = paid !== null && paid.message.source === buyer ? known.nftSale(account) : undefined;
  const auction = sale === undefined ? known.nftAuction(account) : undefined;
  const record = sale ?? auction;
  if (record === undefined || record.nft !== item || record.owner === buyer) return null;
  const price = sale?.fullPrice ?? auction?.lastBid ?? '0';
  return { price, seller: record.owner, marketplace: record.marketplace };
}

/** A comment that has an auction end is no payment. */
export const ENDINGS: ReadonlySet<string | null> = new Set(['finish', 'stop']);

/** Whether the block before a purchase is part of it: the payment, or the external message that ended an auction. */
function isPayment(block: Block): boolean {
  const transfer = tonTransfer.of(block);
  return transfer === null ? isExternalIn(block) : !ENDINGS.has(transfer.comment().text);
}

/** What an external message did by itself, such as to deploy an item, is told apart. */
function isExternalIn(block: Block): boolean {
  return callContract.of(block)?.source === null;
}

/** What an item tells its new owner: a payload that cannot be read is none. */
function toldWith(cursor: Cursor) {
  try {
    const forwardPayload = payloadLeft(cursor);
    return { forwardPayload, bid: forwardPayload === null ? null : teleitemBidInfo.in(forwardPayload) };
  } catch (error) {
    if (error instanceof DecodeError) return { forwardPayload: null, bid: null };
    throw error;
  }
}

function readAssignment(found: Match, known: KnownContracts): Reading<NftTransfer> | null {
  const { head } = found;
  const item = sourceOf(head);
  const record = known.nftItem(item);
  if (record === undefined) return null;
  const cursor = messageOf(head).body().cursor();
  const { query_id: queryId, prev_owner } = assignedHead.read(cursor);
  const { forwardPayload, bid } = toldWith(cursor);
  const { prev } = head;
  const blocks = new Set([head]);
  let payouts: Payout[] = [];
  // What had the item move is part of it only where the item held an auction.
  if (bid !== null && prev !== null && (tonTransfer.of(prev) !== null || isExternalIn(prev))) {
    const fillUps = prev.next.filter(({ opcode }) => opcode === auctionFillUp.opcode);
    fillUps.sort((a, b) => compareDecimal(a.minLt, b.minLt));
    payouts = fillUps.map((block) => ({ amount: sentValue(block), address: destinationOf(block) }));
    for (const block of [prev, ...fillUps]) blocks.add(block);
  }
  const hasRoyalty = payouts.length > 1;
  return {
    data: {
      item: itemOf(item, record),
      oldOwner: addressText(prev_owner),
      newOwner: destinationOf(head),
      sale: bid === null || wasDeployed(prev) ? null : { price: bid.bid, seller: null, marketplace: null },
      payout: payouts[hasRoyalty ? 1 : 0] ?? null,
      royalty: hasRoyalty ? payouts[0] : null,
      queryId,
      responseDestination: null,
      customPayload: null,
      forwardPayload,
      forwardAmount: null,
      wasAsked: false,
    },
    blocks,
  };
}

function wasDeployed(block: Block | null): boolean {
  return block !== null && (nftMint.of(block) !== null || block.opcode === teleitemDeploy.opcode);
}

export interface NftDiscovery {
  item: Item;
  source: RawAddress;
}

/** An item was asked for its index and collection. */
export const nftDiscovery = declare<NftDiscovery>({
  block: 'nft_discovery',
  groups: ['v2'],
  leaf: false,
  matchers: [
    {
      rank: 32,
      pattern: { op: getStaticData.opcode, child: { op: reportStaticData.opcode, as: 'answer' } },
      read(found) {
        const answer = found.first('answer');
        if (answer === null) return null;
        const { index, collection } = readBody(answer, reportStaticData);
        const item = { address: destinationOf(found.head), collection: addressText(collection), index };
        return { data: { item, source: sourceOf(found.head) }, blocks: [found.head, answer] };
      },
    },
  ],
  details: ({ item, source }) => ({ source, ...itemDetails(item) }),
  accounts: ({ source }) => ({ source }),
});

export const kinds = [nftMint, nftTransfer, nftDiscovery];
