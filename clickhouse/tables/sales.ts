/** Contracts that sell NFTs: fix-price sales and auctions of GetGems, names of Telegram (spec v3 semantics 6.2). */
import { address, addressOrNone, bool, i256, nullable, text, u32, u64 } from './columns.ts';
import { detected, detectedIndexes, statesOf } from './detected.ts';
import { type Row, table } from './table.ts';

/** Those that one seller has, and those of one item. */
const ways = (name: string) => [
  ...detectedIndexes(name),
  {
    name: `${name}_by_owner`,
    each: { as: 'nftOwner', of: ['nftOwner'] },
    key: ['nftOwner', 'address'],
    also: [],
    stays: true,
  },
];

/** Those that one seller has had. */
const pastWays = (name: string) => [
  {
    name: `${name}_by_owner`,
    each: { as: 'nftOwner', of: ['nftOwner'] },
    key: ['nftOwner', 'address'],
    also: [],
    stays: true,
  },
];

export const nftSales = table({
  ...detected('nft_sales'),
  columns: {
    ...detected.columns,
    isComplete: bool,
    createdAt: u32,
    marketplace: addressOrNone,
    nftAddress: address,
    nftOwner: addressOrNone,
    fullPrice: i256,
    marketplaceFeeAddress: addressOrNone,
    marketplaceFee: i256,
    royaltyAddress: addressOrNone,
    royaltyAmount: i256,
    /** Of the contracts that tell them. */
    soldAt: nullable(u32),
    soldQueryId: nullable(u64),
    /** Prices in jettons by the jetton's master, JSON; null where the contract has none. */
    jettonPrices: nullable(text),
  },
  indexes: ways('nft_sales'),
});

export const nftSaleStates = table({
  ...statesOf('nft_sale_states'),
  columns: nftSales.columns,
  indexes: pastWays('nft_sale_states'),
});

export const nftAuctions = table({
  ...detected('nft_auctions'),
  columns: {
    ...detected.columns,
    endFlag: bool,
    endTime: u32,
    marketplace: addressOrNone,
    nftAddress: address,
    nftOwner: addressOrNone,
    lastBid: i256,
    lastMember: addressOrNone,
    minStep: u64,
    mpFeeAddress: addressOrNone,
    mpFeeFactor: u32,
    mpFeeBase: u32,
    royaltyFeeAddress: addressOrNone,
    royaltyFeeFactor: u32,
    royaltyFeeBase: u32,
    maxBid: i256,
    minBid: i256,
    createdAt: u32,
    lastBidAt: u32,
    isCanceled: bool,
    jettonWallet: addressOrNone,
    jettonMaster: addressOrNone,
  },
  indexes: ways('nft_auctions'),
});

export const nftAuctionStates = table({
  ...statesOf('nft_auction_states'),
  columns: nftAuctions.columns,
  indexes: pastWays('nft_auction_states'),
});

/** Names and numbers of Telegram with their auction. */
export const telemintItems = table({
  ...detected('telemint_items'),
  columns: {
    ...detected.columns,
    tokenName: text,
    bidderAddress: addressOrNone,
    bid: i256,
    bidTs: u32,
    minBid: i256,
    endTime: u32,
    beneficiaryAddress: addressOrNone,
    initialMinBid: i256,
    maxBid: i256,
    minBidStep: i256,
    minExtendTime: u32,
    duration: u32,
    royaltyNumerator: u32,
    royaltyDenominator: u32,
    royaltyDestination: addressOrNone,
  },
  indexes: detectedIndexes('telemint_items'),
});

export type TelemintItemRow = Row<typeof telemintItems>;
