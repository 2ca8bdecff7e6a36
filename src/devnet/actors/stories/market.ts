/** Items that are listed at the marketplace, at a fixed price or for bids, and go from one merchant to another. */
import { type Address, type Cell, toNano } from '@ton/core';
import {
  auctionOrder,
  BUY_FEE,
  cancelSale,
  changePrice,
  listing,
  marketplaceAddress,
  marketplaceCode,
  marketplaceData,
  nftAuctionCode,
  nftAuctionData,
  nftSaleCode,
  nftSaleData,
  readNftAuction,
  readNftSale,
} from '../../contracts/market.ts';
import { nftItemAddress, nftTransfer, readNftItem } from '../../contracts/nfts.ts';
import type { Cast } from '../cast.ts';
import type { Scene } from '../deeds.ts';
import type { Ledger, Moment } from '../ledger.ts';
import type { OutMessage, Wallet } from '../wallets.ts';
import { type Act, type Story, secondsOf, walletAt } from './story.ts';

/** Attached to an item that is listed: its way there, the contract that sells it, and its way on. */
const LISTING_VALUE = toNano('0.3');
const LISTING_FORWARD = toNano('0.2');
/** Attached to what ends a sale or an auction. */
const END_VALUE = toNano('0.1');
const SMALLEST_PRICE = toNano('0.5');
const GREATEST_PRICE = toNano('2');
/** Seconds that an auction takes. */
const AUCTION_TIME_S = 60;

const opening: OutMessage = {
  to: marketplaceAddress,
  value: toNano('0.2'),
  bounce: false,
  init: { code: marketplaceCode, data: marketplaceData },
};

/** Where an item is: with a merchant, with the contract that sells it, or on its way (null). */
type Whereabouts = { owner: Wallet } | { contract: Address; data: Cell } | null;

async function findItem(ledger: Ledger, item: Address, merchants: readonly Wallet[]): Promise<Whereabouts> {
  const account = await ledger.account(item);
  const state = account?.data ? readNftItem(account.data) : null;
  if (state === null) return null;
  const owner = walletAt(merchants, state.owner);
  if (owner !== undefined) return { owner };
  const contract = await ledger.account(state.owner);
  return contract?.data && !state.owner.equals(marketplaceAddress)
    ? { contract: state.owner, data: contract.data }
    : null;
}

function list({ random }: Scene, by: Wallet, item: Address, contract: { code: Cell; data: Cell }): Act {
  const body = nftTransfer({
    queryId: random.bits64(),
    newOwner: marketplaceAddress,
    responseDestination: by.address,
    forwardAmount: LISTING_FORWARD,
    forwardPayload: listing(contract),
  });
  return { by, messages: [{ to: item, value: LISTING_VALUE, bounce: true, body }] };
}

function call(by: Wallet, to: Address, value: bigint, body?: Cell): Act {
  return { by, messages: [{ to, value, bounce: true, ...(body ? { body } : {}) }] };
}

/** The merchants' items are the collection's first ones that nobody else has. */
function itemOf({ collection, market }: Cast, which: number): Address {
  return nftItemAddress(market.firstItem + BigInt(which), collection.address);
}

async function opened(scene: Scene, by: Wallet): Promise<Act | null> {
  const marketplace = await scene.ledger.account(marketplaceAddress);
  return marketplace?.status === 'active' ? null : { by, messages: [opening] };
}

const SALE_TURNS = ['change', 'buy', 'cancel', 'buy'] as const;

/** Put on sale, and there bought, offered for another price or taken back. */
export function createSales(cast: Cast): Story {
  const merchants = cast.market.merchants;
  const item = itemOf(cast, 0);
  let turn = 0;

  function offer(scene: Scene, by: Wallet, now: Moment): Act {
    const sale = {
      item,
      owner: by.address,
      fullPrice: scene.random.between(SMALLEST_PRICE, GREATEST_PRICE),
      feeAddress: marketplaceAddress,
      royaltyAddress: cast.artist.address,
      feeShare: 5_000,
      royaltyShare: 5_000,
      createdAt: secondsOf(now),
    };
    return list(scene, by, item, { code: nftSaleCode, data: nftSaleData(sale) });
  }

  async function next(scene: Scene, now: Moment): Promise<Act | null> {
    const place = await findItem(scene.ledger, item, merchants);
    if (place === null) return null;
    if ('owner' in place) return (await opened(scene, place.owner)) ?? offer(scene, place.owner, now);
    const { owner, fullPrice } = readNftSale(place.data);
    const seller = walletAt(merchants, owner) ?? merchants[0];
    const buyer = merchants.find((one) => one !== seller) ?? merchants[0];
    const queryId = scene.random.bits64();
    switch (SALE_TURNS[turn++ % SALE_TURNS.length]) {
      case 'cancel':
        return call(seller, place.contract, END_VALUE, cancelSale(queryId));
      case 'change': {
        const price = scene.random.between(SMALLEST_PRICE, GREATEST_PRICE);
        return call(seller, place.contract, END_VALUE, changePrice(queryId, price, price / 20n, price / 20n));
      }
      case 'buy':
        return call(buyer, place.contract, fullPrice + BUY_FEE);
    }
  }

  return { next };
}

/** How auctions end, one after another. */
const AUCTION_ENDS = ['cancel', 'time', 'most'] as const;

/** Put up for bids, which outbid each other, until the time is over or somebody bids the most. */
export function createAuctions(cast: Cast): Story {
  const merchants = cast.market.bidders;
  const item = itemOf(cast, 1);
  let offers = 0;

  function offer(scene: Scene, by: Wallet, now: Moment): Act {
    offers++;
    const minBid = scene.random.between(SMALLEST_PRICE, GREATEST_PRICE);
    const auction = {
      item,
      owner: by.address,
      minBid,
      maxBid: minBid * 3n,
      minStep: minBid / 10n,
      createdAt: secondsOf(now),
      endTime: secondsOf(now) + AUCTION_TIME_S,
      stepTime: 10,
      feeAddress: marketplaceAddress,
      royaltyAddress: cast.artist.address,
      fee: 5,
      royalty: 5,
    };
    return list(scene, by, item, { code: nftAuctionCode, data: nftAuctionData(auction) });
  }

  async function next(scene: Scene, now: Moment): Promise<Act | null> {
    const place = await findItem(scene.ledger, item, merchants);
    if (place === null) return null;
    if ('owner' in place) return (await opened(scene, place.owner)) ?? offer(scene, place.owner, now);
    const { contract, data } = place;
    const { owner, lastMember, lastBid, endTime, minBid, maxBid, minStep } = readNftAuction(data);
    const seller = walletAt(merchants, owner) ?? merchants[0];
    if (secondsOf(now) > endTime) return call(seller, contract, END_VALUE, auctionOrder('finish'));
    const ending = AUCTION_ENDS[offers % AUCTION_ENDS.length];
    if (lastMember === null && ending === 'cancel') return call(seller, contract, END_VALUE, auctionOrder('cancel'));
    const bidder = merchants.find((one) => one !== seller && !(lastMember?.equals(one.address) ?? false)) ?? seller;
    if (lastMember !== null && ending === 'most') return call(bidder, contract, maxBid + BUY_FEE);
    return call(bidder, contract, lastMember === null ? minBid : lastBid + minStep);
  }

  return { next };
}
