/** The devnet's marketplace with its sales and auctions: what they are made with, messages, and what their data holds. */
import { type Address, beginCell, type Cell, comment, contractAddress } from '@ton/core';
import { CODES } from './codes.ts';
import { codeCell } from './content.ts';

export const marketplaceCode: Cell = codeCell(CODES.marketplace);
export const marketplaceData: Cell = beginCell().storeUint(1, 64).endCell();
export const marketplaceAddress: Address = contractAddress(0, { code: marketplaceCode, data: marketplaceData });
export const nftSaleCode: Cell = codeCell(CODES.nftSale);
export const nftAuctionCode: Cell = codeCell(CODES.nftAuction);

export const MARKET_OPS = { cancel: 3, changePrice: 0x6c6c2080, listing: 0x66000101 } as const;

/** Nanotons beside a price: for the item's way and the messages that pay everyone. */
export const BUY_FEE = 100_000_000n;

export interface NftSale {
  item: Address;
  owner: Address;
  /** Nanotons. */
  fullPrice: bigint;
  feeAddress: Address;
  royaltyAddress: Address;
  /** In parts of 100,000. */
  feeShare: number;
  royaltyShare: number;
  /** Unix seconds. */
  createdAt: number;
}

/** Data of a sale that waits for its item. */
export function nftSaleData(sale: NftSale): Cell {
  const terms = beginCell()
    .storeAddress(sale.feeAddress)
    .storeAddress(sale.royaltyAddress)
    .storeUint(sale.feeShare, 17)
    .storeUint(sale.royaltyShare, 17)
    .storeAddress(sale.item)
    .storeUint(sale.createdAt, 32);
  return beginCell()
    .storeBit(false)
    .storeAddress(marketplaceAddress)
    .storeAddress(sale.owner)
    .storeCoins(sale.fullPrice)
    .storeUint(0, 32)
    .storeUint(0, 64)
    .storeRef(terms)
    .storeBit(false)
    .endCell();
}

/** What a sale's data says of it and the item. */
export function readNftSale(data: Cell): Pick<NftSale, 'item' | 'owner' | 'fullPrice'> & { marketplace: Address } {
  const slice = data.beginParse().skip(1);
  const marketplace = slice.loadAddress();
  const owner = slice.loadAddress();
  const fullPrice = slice.loadCoins();
  const terms = slice.loadRef().beginParse();
  terms.loadAddress();
  terms.loadAddress();
  return { marketplace, owner, fullPrice, item: terms.skip(17 + 17).loadAddress() };
}

export interface NftAuction {
  item: Address;
  owner: Address;
  /** Nanotons; a bid of `maxBid` ends the auction. */
  minBid: bigint;
  maxBid: bigint;
  minStep: bigint;
  /** Unix seconds. */
  endTime: number;
  createdAt: number;
  /** Seconds before the end within which a bid puts the end off by as much. */
  stepTime: number;
  feeAddress: Address;
  royaltyAddress: Address;
  /** Percent. */
  fee: number;
  royalty: number;
}

/** Data of an auction that waits for its item. */
export function nftAuctionData(auction: NftAuction): Cell {
  const addresses = beginCell().storeAddress(auction.feeAddress).storeAddress(auction.royaltyAddress);
  const terms = beginCell()
    .storeAddress(marketplaceAddress)
    .storeCoins(auction.minBid)
    .storeCoins(auction.maxBid)
    .storeCoins(auction.minStep)
    .storeUint(auction.stepTime, 32)
    .storeAddress(auction.item)
    .storeUint(auction.createdAt, 32);
  return beginCell()
    .storeBit(false)
    .storeBit(false)
    .storeAddress(null)
    .storeCoins(0)
    .storeUint(0, 32)
    .storeUint(auction.endTime, 32)
    .storeAddress(auction.owner)
    .storeUint(0, 64)
    .storeUint(auction.fee, 32)
    .storeUint(100, 32)
    .storeUint(auction.royalty, 32)
    .storeUint(100, 32)
    .storeRef(addresses)
    .storeRef(terms)
    .storeBit(false)
    .endCell();
}

export interface AuctionState {
  marketplace: Address;
  item: Address;
  owner: Address;
  /** Who made the highest bid, null before the first. */
  lastMember: Address | null;
  /** Nanotons. */
  lastBid: bigint;
  endTime: number;
  minBid: bigint;
  maxBid: bigint;
  minStep: bigint;
}

export function readNftAuction(data: Cell): AuctionState {
  const slice = data.beginParse().skip(2);
  const lastMember = slice.loadMaybeAddress();
  const lastBid = slice.loadCoins();
  slice.skip(32);
  const endTime = slice.loadUint(32);
  const owner = slice.loadAddress();
  slice.loadRef();
  const terms = slice.loadRef().beginParse();
  const marketplace = terms.loadAddress();
  const [minBid, maxBid, minStep] = [terms.loadCoins(), terms.loadCoins(), terms.loadCoins()];
  const item = terms.skip(32).loadAddress();
  return { marketplace, item, owner, lastMember, lastBid, endTime, minBid, maxBid, minStep };
}

/** Forward payload of an item's transfer to the marketplace: the contract that is to sell it. */
export function listing(contract: { code: Cell; data: Cell }): Cell {
  return beginCell().storeUint(MARKET_OPS.listing, 32).storeRef(contract.code).storeRef(contract.data).endCell();
}

/** To be sent to a sale by the item's owner. */
export function cancelSale(queryId: bigint): Cell {
  return beginCell().storeUint(MARKET_OPS.cancel, 32).storeUint(queryId, 64).endCell();
}

/** To be sent to a sale by the item's owner. All in nanotons. */
export function changePrice(queryId: bigint, fullPrice: bigint, fee: bigint, royalty: bigint): Cell {
  return beginCell()
    .storeUint(MARKET_OPS.changePrice, 32)
    .storeUint(queryId, 64)
    .storeCoins(fullPrice)
    .storeCoins(fee)
    .storeCoins(royalty)
    .endCell();
}

/** To be sent to an auction: `finish` by anyone when its time is over, `cancel` by the owner before the first bid. */
export function auctionOrder(order: 'finish' | 'cancel'): Cell {
  return comment(order);
}
