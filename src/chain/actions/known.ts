import type { CellView } from '../layouts/cell-view.ts';
import type { Decimal } from '../model.ts';
import type { RawAddress } from './trace.ts';

export interface KnownJettonWallet {
  owner: RawAddress;
  /** The master. */
  jetton: RawAddress;
}

export interface KnownNftItem {
  /** Up to 256 bits; null when the item tells none. */
  index: Decimal | null;
  collection: RawAddress | null;
  /** `content.uri`, null when the content has none. */
  uri: string | null;
  /** Base64, null when it is not known. */
  codeHash: string | null;
}

export interface KnownSale {
  nft: RawAddress;
  owner: RawAddress | null;
  marketplace: RawAddress | null;
  fullPrice: Decimal;
  codeHash: string | null;
}

export interface KnownAuction {
  nft: RawAddress;
  owner: RawAddress | null;
  marketplace: RawAddress | null;
  lastBid: Decimal;
  codeHash: string | null;
}

/** An asset of a pool: the jetton master, or null for TON. */
export type Asset = RawAddress | null;

/**
 * What is known of contracts besides the trace, as of the end of the step that completed it. Answers are there at
 * once: whoever classifies has loaded them before. Rows outlive their contracts: an auction that destroys itself in the
 * trace is still known.
 */
export interface KnownContracts {
  jettonWallet(address: RawAddress): KnownJettonWallet | undefined;
  nftItem(address: RawAddress): KnownNftItem | undefined;
  nftSale(address: RawAddress): KnownSale | undefined;
  nftAuction(address: RawAddress): KnownAuction | undefined;
  multisigOrder(address: RawAddress): { signers: readonly RawAddress[] } | undefined;
  dedustPool(address: RawAddress): { assets: readonly [Asset, Asset] } | undefined;
  isNominatorPool(address: RawAddress): boolean;
  /** The account's data; asked for by the few types that read a contract's storage. */
  data(address: RawAddress): CellView | undefined;
}
