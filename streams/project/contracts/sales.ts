import {
  nftAuctionStates,
  nftAuctions,
  nftSaleStates,
  nftSales,
  telemintItems,
} from '../../../clickhouse/tables/sales.ts';
import { addressOf, rawAddress } from '../../../src/chain/address.ts';
import { readText } from '../../../src/chain/contracts/content.ts';
import { CellView } from '../../../src/chain/layouts/cell-view.ts';
import { type Asking, answersOf, kind } from './kinds.ts';
import { entries, OtherKind, type Results } from './stack.ts';
import type { Subject } from './subject.ts';

const FIX_PRICE = 0x46495850n;
const AUCTION = 0x415543n;

const SALE = 'get_sale_data';
const SALE_V4 = 'get_fix_price_data_v4';
const AUCTION_V4 = 'get_auction_data_v4';

/** What the newer method leaves, or where that is anything else the older one. */
async function newestOf<A, B>(newer: () => Promise<A>, older: () => Promise<B>): Promise<A | B> {
  try {
    return await newer();
  } catch (error) {
    if (!(error instanceof OtherKind)) throw error;
    return older();
  }
}

export const nftSale = kind(
  'nft_sale',
  nftSales,
  { methods: [SALE, SALE_V4] },
  (subject, ask) =>
    newestOf(
      async () => {
        const results = await ask.call(subject, SALE_V4);
        return {
          ...saleIn(results, 0),
          soldAt: results.u32(10),
          soldQueryId: results.uint(11, 64),
          jettonPrices: jettonPrices(results),
        };
      },
      async () => {
        const results = await ask.call(subject, SALE);
        if (results.big(0) !== FIX_PRICE) throw new OtherKind('no sale with a fixed price');
        return { ...saleIn(results, 1), soldAt: null, soldQueryId: null, jettonPrices: null };
      },
    ),
  { states: nftSaleStates },
);

/** @param from where the values stand that both methods leave */
function saleIn(results: Results, from: number) {
  return {
    isComplete: results.flag(from),
    createdAt: results.u32(from + 1),
    marketplace: results.address(from + 2),
    nftAddress: results.address(from + 3),
    nftOwner: results.addressOrNone(from + 4),
    fullPrice: results.int(from + 5),
    marketplaceFeeAddress: results.address(from + 6),
    marketplaceFee: results.int(from + 7),
    royaltyAddress: results.address(from + 8),
    royaltyAmount: results.int(from + 9),
  };
}

/** Prices by the account id of the jetton's master. */
function jettonPrices(results: Results): string {
  const prices = entries(results.cellOrNull(12), 256, (leaf, key) => [
    rawAddress(addressOf(0, key)),
    leaf.grams().toString(),
  ]);
  return JSON.stringify(Object.fromEntries(prices));
}

export const nftAuction = kind(
  'nft_auction',
  nftAuctions,
  { methods: [SALE, AUCTION_V4] },
  (subject, ask) =>
    newestOf(
      async () => {
        const results = await ask.call(subject, AUCTION_V4);
        for (const place of [0, 20, 21, 24, 25]) results.big(place);
        return {
          ...auctionIn(results),
          jettonWallet: results.addressOrNone(22),
          jettonMaster: results.addressOrNone(23),
        };
      },
      async () => {
        const results = await ask.call(subject, SALE);
        if (results.big(0) !== AUCTION) throw new OtherKind('no auction');
        return { ...auctionIn(results), jettonWallet: null, jettonMaster: null };
      },
    ),
  { states: nftAuctionStates },
);

/** The values that both methods leave. */
function auctionIn(results: Results) {
  return {
    endFlag: results.flag(1),
    endTime: results.u32(2),
    marketplace: results.address(3),
    nftAddress: results.address(4),
    nftOwner: results.addressOrNone(5),
    lastBid: results.int(6),
    lastMember: results.addressOrNone(7),
    minStep: results.uint(8, 64),
    mpFeeAddress: results.address(9),
    mpFeeFactor: results.u32(10),
    mpFeeBase: results.u32(11),
    royaltyFeeAddress: results.address(12),
    royaltyFeeFactor: results.u32(13),
    royaltyFeeBase: results.u32(14),
    maxBid: results.int(15),
    minBid: results.int(16),
    createdAt: results.u32(17),
    lastBidAt: results.u32(18),
    isCanceled: results.flag(19),
  };
}

export const telemintItem = kind(
  'telemint_item',
  telemintItems,
  { methods: ['get_telemint_token_name'] },
  async (subject, ask) => {
    const [name, config, royalty] = await answersOf([
      ask.call(subject, 'get_telemint_token_name'),
      ask.call(subject, 'get_telemint_auction_config'),
      ask.call(subject, 'royalty_params'),
    ]);
    const auction = await auctionOf(subject, ask);
    const tokenName = readText(CellView.from(name.slice(0)));
    if (tokenName === null) throw new OtherKind('its name is no text');
    return {
      tokenName,
      ...auction,
      beneficiaryAddress: config.addressOrEmpty(0),
      initialMinBid: config.int(1),
      maxBid: config.int(2),
      minBidStep: config.int(3),
      minExtendTime: config.u32(4),
      duration: config.u32(5),
      royaltyNumerator: royalty.u32(0),
      royaltyDenominator: royalty.u32(1),
      royaltyDestination: royalty.address(2),
    };
  },
);

const NO_AUCTION = { bidderAddress: null, bid: '0', bidTs: 0, minBid: '0', endTime: 0 };

/** A method that fails, or leaves other types, tells of no auction; one that leaves no address is of no such item. */
async function auctionOf(subject: Subject, ask: Asking) {
  const state = await stateOf(subject, ask);
  return state === null ? NO_AUCTION : { bidderAddress: state.results.addressOrEmpty(0), ...state.numbers };
}

async function stateOf(subject: Subject, ask: Asking) {
  try {
    const results = await ask.call(subject, 'get_telemint_auction_state');
    results.slice(0);
    const numbers = {
      bid: results.int(1),
      bidTs: results.u32(2),
      minBid: results.int(3),
      endTime: results.u32(4),
    };
    return { results, numbers };
  } catch (error) {
    if (error instanceof OtherKind) return null;
    throw error;
  }
}
