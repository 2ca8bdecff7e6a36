/** Bids and the ends of auctions: GetGems' contracts, items that hold their own (telemint, .ton names). */

import { rawAddress } from '../address.ts';
import { DecodeError } from '../errors.ts';
import { placedAddress } from '../layouts/addresses.ts';
import type { CellView } from '../layouts/cell-view.ts';
import { outbidNotification } from '../layouts/dns.ts';
import { body } from '../layouts/layout.ts';
import { amount, u32, u64, uint } from '../layouts/numbers.ts';
import { cell, record } from '../layouts/shapes.ts';
import {
  teleitemCancelAuction as cancelBody,
  teleitemStartAuction as startBody,
  teleitemOk,
} from '../layouts/telegram.ts';
import type { Decimal } from '../model.ts';
import type { Block } from './block.ts';
import { destinationOf, messageOf, readBody, sentValue, sourceOf } from './bodies.ts';
import { isTonName } from './dns.ts';
import { declare, type Reading } from './kind.ts';
import type { KnownContracts, KnownNftItem } from './known.ts';
import { ENDINGS, type Item, itemDetails, itemOf, nftTransfer } from './nfts.ts';
import type { Match, Pattern } from './pattern.ts';
import { auctionDetails, nftPurchase, returnedItem } from './sales.ts';
import { deploys, tonTransfer } from './ton.ts';
import type { RawAddress } from './trace.ts';

const FINISH_OPS = [0x20c9eb18, 0xb95616b6];
const CANCEL_OP = 0x5616c572;
const CANCEL = 'cancel';
const OUTBID_TEXT = 'Your bid has been outbid by another user';

/** Usernames and numbers of Telegram. */
function isTeleitem({ uri }: KnownNftItem): boolean {
  return uri?.includes('https://nft.fragment.com') ?? false;
}

interface Bid {
  item: Item;
  amount: Decimal;
  bidder: RawAddress;
  auction: RawAddress;
  /** Whether a contract beside the item holds the auction. */
  isContract: boolean;
}

export const auctionBid = declare<Bid>({
  block: 'auction_bid',
  groups: ['v1', 'nft'],
  leaf: true,
  matchers: [
    {
      rank: 38,
      pattern: {
        block: tonTransfer.block,
        where(block) {
          const text = tonTransfer.of(block)?.comment().text ?? null;
          return !deploys(block.node) && text !== CANCEL && !ENDINGS.has(text);
        },
      },
      read: readBid,
    },
  ],
  details: ({ item, amount, bidder, auction }) => ({ amount, bidder, auction, ...itemDetails(item) }),
  accounts: ({ item, bidder, auction }) => ({ source: bidder, destination: auction, more: [item.address] }),
});

function readBid({ head }: Match, known: KnownContracts): Reading<Bid> | null {
  const auction = destinationOf(head);
  const contract = known.nftAuction(auction);
  const address = contract?.nft ?? auction;
  const record = known.nftItem(address);
  if (contract === undefined && (record === undefined || !holdsAuction(head, record))) return null;
  const item = record === undefined ? { address, collection: null, index: null } : itemOf(address, record);
  return {
    data: { item, amount: sentValue(head), bidder: sourceOf(head), auction, isContract: contract !== undefined },
    failed: head.failed,
  };
}

/** The first bid for a .ton name cannot be told from any other transfer to it. */
function holdsAuction({ next }: Block, item: KnownNftItem): boolean {
  return isTeleitem(item) || (isTonName(item) && next.some(({ opcode }) => opcode === outbidNotification.opcode));
}

interface Outbid {
  item: Item;
  auction: RawAddress;
  /** Who gets the money back. */
  bidder: RawAddress;
  newBidder: RawAddress;
  amount: Decimal;
}

export const auctionOutbid = declare<Outbid>({
  block: 'auction_outbid',
  groups: ['v3', 'nft.v3'],
  leaf: false,
  matchers: [
    {
      rank: 39,
      pattern: { block: auctionBid.block },
      read({ head }) {
        const bid = auctionBid.of(head);
        if (bid === null) return null;
        const returned = head.next.filter((block) => isReturn(block, bid));
        if (returned.length !== 1) return null;
        const [block] = returned;
        return {
          data: {
            item: bid.item,
            auction: bid.auction,
            bidder: destinationOf(block),
            newBidder: bid.bidder,
            amount: sentValue(block),
          },
          blocks: returned,
        };
      },
    },
  ],
  details: ({ item, auction, bidder, newBidder, amount }) => ({
    auction_address: auction,
    bidder,
    new_bidder: newBidder,
    nft_item: item.address,
    nft_collection: item.collection,
    amount,
  }),
  accounts: ({ item, auction, bidder, newBidder }) => ({
    source: auction,
    source2: newBidder,
    destination: bidder,
    more: [item.address],
  }),
});

/** Whether a message gives back the bid before. */
function isReturn(block: Block, { isContract }: Bid): boolean {
  if (!isContract) return block.opcode === outbidNotification.opcode;
  return tonTransfer.of(block)?.comment().text?.includes(OUTBID_TEXT) ?? false;
}

interface Ended {
  item: Item;
  owner: RawAddress | null;
  auction: RawAddress;
  marketplace: RawAddress | null;
}

const endedDetails = ({ item, owner, auction, marketplace }: Ended) => ({
  owner,
  nft_item: item.address,
  nft_collection: item.collection,
  auction_address: auction,
  marketplace_address: marketplace,
  marketplace: null,
});

const endedAccounts = ({ item, owner, auction }: Ended) => ({
  source: owner,
  destination: auction,
  more: [item.address],
});

const isText = (block: Block, texts: ReadonlySet<string | null>): boolean => {
  const transfer = tonTransfer.of(block);
  return transfer !== null && texts.has(transfer.comment().text);
};

/** A call or a comment that ends an auction, before what then became of the item. */
function ending(ops: readonly number[], texts: ReadonlySet<string | null>, child: Pattern): Pattern {
  return {
    any: [
      { op: ops, child },
      { block: tonTransfer.block, where: (block) => isText(block, texts), child },
    ],
  };
}

/** The item went where the auction's end sent it. Only what ended the auction becomes part of the action. */
function readEnded(found: Match, known: KnownContracts): Reading<Ended> | null {
  const auction = destinationOf(found.head);
  const record = known.nftAuction(auction);
  const returned = returnedItem(found, record?.nft);
  if (record === undefined || returned === null) return null;
  const { item, newOwner: owner } = returned;
  return { data: { item, owner, auction, marketplace: record.marketplace }, blocks: [found.head] };
}

export const nftFinishAuction = declare<Ended>({
  block: 'nft_finish_auction',
  groups: ['v3', 'nft.v3'],
  leaf: false,
  matchers: [
    {
      rank: 41,
      pattern: ending(FINISH_OPS, ENDINGS, { block: nftPurchase.block, as: 'purchase' }),
      read(found, known) {
        const purchase = nftPurchase.of(found.first('purchase'));
        const auction = destinationOf(found.head);
        if (purchase === null || known.nftAuction(auction)?.nft !== purchase.item.address) return null;
        const { item, newOwner: owner } = purchase;
        return { data: { item, owner, auction, marketplace: null }, blocks: [found.head] };
      },
    },
    { rank: 42, pattern: ending(FINISH_OPS, ENDINGS, { block: nftTransfer.block, as: 'returned' }), read: readEnded },
  ],
  details: endedDetails,
  accounts: endedAccounts,
});

export const nftCancelAuction = declare<Ended>({
  block: 'nft_cancel_auction',
  groups: ['v3', 'nft.v3'],
  leaf: false,
  matchers: [
    {
      rank: 42,
      pattern: ending([CANCEL_OP], new Set([CANCEL]), { block: nftTransfer.block, as: 'returned' }),
      read: readEnded,
    },
  ],
  details: endedDetails,
  accounts: endedAccounts,
});

/** A call to an item of Telegram. */
function teleitemCall(op: number): Pattern {
  return {
    op,
    where({ node }, known) {
      const record = known.nftItem(node.transaction.account);
      return record !== undefined && isTeleitem(record);
    },
    child: { op: teleitemOk.opcode, optional: true },
  };
}

function calledItem(head: Block, known: KnownContracts): Item | null {
  const address = destinationOf(head);
  const record = known.nftItem(address);
  return record === undefined ? null : itemOf(address, record);
}

const startHead = body(startBody.name, startBody.opcode, { query_id: u64, config: cell });
const configFields = record(null, {
  beneficiary: placedAddress,
  min_bid: amount,
  max_bid: amount,
  min_bid_step: uint(8),
  min_extend_time: u32,
  duration: u32,
});

/** Terms of another layout, which items refuse, are none. */
function readConfig(config: CellView) {
  try {
    return configFields.read(config.cursor());
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

export const teleitemStartAuction = declare<Parameters<typeof auctionDetails>[0]>({
  block: 'teleitem_start_auction',
  groups: ['v3', 'nft.v3'],
  leaf: false,
  matchers: [
    {
      rank: 30,
      pattern: teleitemCall(startBody.opcode),
      read({ head }, known) {
        const item = calledItem(head, known);
        if (item === null) return null;
        const config = readConfig(readBody(head, startHead).config);
        const beneficiary = config?.beneficiary ?? 'addr_none';
        if (beneficiary === 'addr_extern') return null;
        const terms = {
          marketplaceFeeFactor: '0',
          marketplaceFeeBase: '0',
          royaltyFeeBase: '0',
          minBid: config?.min_bid ?? '0',
          maxBid: config?.max_bid ?? '0',
          marketplaceFeeAddress: beneficiary === 'addr_none' ? null : rawAddress(beneficiary),
          royaltyAddress: null,
        };
        return {
          data: { item, owner: messageOf(head).source, lister: null, contract: item.address, terms },
          failed: head.node.transaction.aborted,
        };
      },
    },
  ],
  details: auctionDetails,
  accounts: ({ owner, contract }) => ({ source: owner, destination: contract }),
});

export const teleitemCancelAuction = declare<Ended>({
  block: 'teleitem_cancel_auction',
  groups: ['v3', 'nft.v3'],
  leaf: false,
  matchers: [
    {
      rank: 31,
      pattern: teleitemCall(cancelBody.opcode),
      read({ head }, known) {
        const item = calledItem(head, known);
        if (item === null) return null;
        return {
          data: { item, owner: messageOf(head).source, auction: item.address, marketplace: null },
          failed: head.node.transaction.aborted,
        };
      },
    },
  ],
  details: endedDetails,
  accounts: endedAccounts,
});

export const kinds = [
  auctionBid,
  auctionOutbid,
  nftFinishAuction,
  nftCancelAuction,
  teleitemStartAuction,
  teleitemCancelAuction,
];
