/** What sale and auction contracts of GetGems were made with, by their code (getgems-io/nft-contracts). */
import { DecodeError } from '../errors.ts';
import { address } from '../layouts/addresses.ts';
import type { CellView } from '../layouts/cell-view.ts';
import type { Codec } from '../layouts/codec.ts';
import { stateInit } from '../layouts/messages.ts';
import { bool, coins, u32, u64, uint } from '../layouts/numbers.ts';
import { record, ref } from '../layouts/shapes.ts';
import type { Address, Decimal } from '../model.ts';
import type { Block } from './block.ts';
import { addressText, messageOf } from './bodies.ts';
import type { RawAddress } from './trace.ts';

export interface SaleTerms {
  fullPrice: Decimal;
  /** Null where the contract has a share instead of an amount. */
  marketplaceFee: Decimal | null;
  royalty: Decimal | null;
  marketplaceFeeAddress: RawAddress | null;
  royaltyAddress: RawAddress | null;
}

const ends = { marketplace: address, nft: address, owner: address, full_price: coins };

export const saleV1 = record('sale_v1', {
  ...ends,
  fees: ref(record(null, { mp_fee: coins, mp_fee_addr: address, royalty_addr: address, royalty: coins })),
});

export const saleV2 = record('sale_v2', {
  is_complete: bool,
  created_at: u32,
  ...ends,
  fees: ref(record(null, { mp_fee_addr: address, mp_fee: coins, royalty_addr: address, royalty: coins })),
});

export const saleV4 = record('sale_v4', {
  is_complete: bool,
  marketplace: address,
  owner: address,
  full_price: coins,
  sold_at: u32,
  query_id: u64,
  fees: ref(
    record(null, { mp_fee_addr: address, royalty_addr: address, fee_percent: uint(17), royalty_percent: uint(17) }),
  ),
});

type SaleLayout = Codec<{
  full_price: Decimal;
  fees: { mp_fee_addr: Address | null; royalty_addr: Address | null; mp_fee?: Decimal; royalty?: Decimal };
}>;

/** By code hash; any other contract is taken for the newest. */
const SALES: ReadonlyMap<string | null, SaleLayout> = new Map<string, SaleLayout>([
  ['2pufziLofEllctIDZSWVebzO+RpyA1fMvowFLvyb4I8=', saleV1],
  ['gnj0xSM95vvtyWmvUZNEp6m//FRIVtuphqlcC8+Fcck=', saleV2],
  ['MgUN+sRPZIZrzIbyzZ4TBf6dyts5WcACI3z7CQLUQyM=', saleV2],
  ['3rU7bFdlwebNI4v0e8XoO6WWvcwEsLhM1Qqx5HSgjzE=', saleV2],
  ['JCIfpXHlQuBVx3vt/b9SfHr0YM/cfzRMRQeHtM+h600=', saleV2],
]);

/** @throws DecodeError when the contract was made with something else */
export function readSaleTerms(deploy: Block, codeHash: string | null): SaleTerms {
  const layout: SaleLayout = SALES.get(codeHash) ?? saleV4;
  const { full_price: fullPrice, fees } = layout.read(initData(deploy).cursor());
  return {
    fullPrice,
    marketplaceFee: fees.mp_fee ?? null,
    royalty: fees.royalty ?? null,
    marketplaceFeeAddress: addressText(fees.mp_fee_addr),
    royaltyAddress: addressText(fees.royalty_addr),
  };
}

export interface AuctionTerms {
  marketplaceFeeFactor: Decimal;
  marketplaceFeeBase: Decimal;
  royaltyFeeBase: Decimal;
  minBid: Decimal;
  maxBid: Decimal;
  marketplaceFeeAddress: RawAddress | null;
  royaltyAddress: RawAddress | null;
}

const factors = { mp_fee_factor: u32, mp_fee_base: u32, royalty_factor: u32, royalty_base: u32 };
const feeAddresses = { mp_fee_addr: address, royalty_addr: address };
const bids = { min_bid: coins, max_bid: coins };

/** Fees as the first auctions have them: each address before its share. */
const earlyFees = ref(
  record(null, {
    mp_fee_addr: address,
    mp_fee_factor: u32,
    mp_fee_base: u32,
    royalty_addr: address,
    royalty_factor: u32,
    royalty_base: u32,
  }),
);

export const auctionV1 = record('auction_v1', { fees: earlyFees, bids: ref(record(null, bids)) });

export const auctionV3r2 = record('auction_v3r2', {
  fees: earlyFees,
  bids: ref(record(null, { sub_gas: u32, mp_addr: address, ...bids })),
});

const state = {
  end: bool,
  canceled: bool,
  last_member: address,
  last_bid: coins,
  last_bid_at: u32,
  end_time: u32,
  nft_owner: address,
  last_query_id: u64,
};

const constants = ref(record(null, { mp_addr: address, ...bids }));

export const auctionV3r3 = record('auction_v3r3', {
  ...state,
  ...factors,
  fees: ref(record(null, feeAddresses)),
  bids: constants,
});

export const auctionV4 = record('auction_v4', {
  ...state,
  fees: ref(record(null, { ...feeAddresses, ...factors })),
  bids: constants,
});

interface Factors {
  mp_fee_factor: number;
  mp_fee_base: number;
  royalty_base: number;
}

type AuctionLayout = Codec<
  Partial<Factors> & {
    fees: Partial<Factors> & { mp_fee_addr: Address | null; royalty_addr: Address | null };
    bids: { min_bid: Decimal; max_bid: Decimal };
  }
>;

/** By code hash; null for one that is not read. Any other contract is taken for v3r3. */
const AUCTIONS: ReadonlyMap<string | null, AuctionLayout | null> = new Map<string, AuctionLayout | null>([
  ['/ACindAgW83MDT/7nKOMw8jBWexg2KpUMkCpLxBZLUA=', auctionV1],
  ['ZmiHL6eXBUQ//UdSPo6eqfdquZ+aC1nSfej4GhwnudQ=', null],
  ['G9nFo5v/t6DzQViLXdkrgTqEK/Ze8UEJOCIAzq+Pct8=', auctionV3r2],
  ['u29ireD+stefqzuK6/CTCvmFU99gCTsgJ/Covxab/Ow=', auctionV3r3],
  ['zlp4U06qps7tja/UhtB262CpsNbb+1Nnb2YmScBomVY=', auctionV4],
]);

/** @throws DecodeError when the contract was made with something else, or its data cannot be read */
export function readAuctionTerms(deploy: Block, codeHash: string | null): AuctionTerms {
  const found = AUCTIONS.get(codeHash);
  if (found === null) throw new DecodeError('data of an auction v2');
  const layout: AuctionLayout = found ?? auctionV3r3;
  const { fees, bids, ...own } = layout.read(initData(deploy).cursor());
  const share = { ...own, ...fees };
  return {
    marketplaceFeeFactor: String(share.mp_fee_factor ?? 0),
    marketplaceFeeBase: String(share.mp_fee_base ?? 0),
    royaltyFeeBase: String(share.royalty_base ?? 0),
    minBid: bids.min_bid,
    maxBid: bids.max_bid,
    marketplaceFeeAddress: addressText(fees.mp_fee_addr),
    royaltyAddress: addressText(fees.royalty_addr),
  };
}

/** The data a message deployed a contract with. */
function initData(deploy: Block): CellView {
  const init = messageOf(deploy).init();
  const data = init === null ? null : stateInit.read(init.cursor()).data;
  if (data === null) throw new DecodeError('no data to deploy');
  return data;
}
