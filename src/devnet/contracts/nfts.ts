/** The devnet's NFT collection: state, messages (TEP-62, TEP-66) and what its data holds. */
import { type Address, beginCell, type Cell, contractAddress } from '@ton/core';
import { CODES } from './codes.ts';
import { codeCell } from './content.ts';

export const NFT_OPS = {
  deploy: 1,
  transfer: 0x5fcc3d14,
  ownershipAssigned: 0x05138d91,
  excesses: 0xd53276db,
  getStaticData: 0x2fcb26a2,
  reportStaticData: 0x8b771735,
  getRoyaltyParams: 0x693d3950,
  reportRoyaltyParams: 0xa8cb00ad,
} as const;

export const nftCollectionCode: Cell = codeCell(CODES.nftCollection);
export const nftItemCode: Cell = codeCell(CODES.nftItem);

export interface NftCollectionState {
  owner: Address;
  nextIndex: bigint;
  content: Cell;
  /** Text before the own text of items that keep their content off chain. */
  commonContent: Cell;
  royalty: { numerator: number; denominator: number; destination: Address };
}

export function nftCollectionData(state: NftCollectionState): Cell {
  const { numerator, denominator, destination } = state.royalty;
  const royalty = beginCell().storeUint(numerator, 16).storeUint(denominator, 16).storeAddress(destination);
  return beginCell()
    .storeAddress(state.owner)
    .storeUint(state.nextIndex, 64)
    .storeRef(beginCell().storeRef(state.content).storeRef(state.commonContent))
    .storeRef(nftItemCode)
    .storeRef(royalty)
    .endCell();
}

/** The part of a collection's data that changes. */
export function readNftCollection(data: Cell): Pick<NftCollectionState, 'owner' | 'nextIndex'> {
  const slice = data.beginParse();
  return { owner: slice.loadAddress(), nextIndex: slice.loadUintBig(64) };
}

/** Where a collection with these first data is. */
export function nftCollectionAddress(state: Omit<NftCollectionState, 'nextIndex'>): Address {
  return contractAddress(0, { code: nftCollectionCode, data: nftCollectionData({ ...state, nextIndex: 0n }) });
}

function identity(index: bigint, collection: Address): ReturnType<typeof beginCell> {
  return beginCell().storeUint(index, 64).storeAddress(collection);
}

/** The same as the collection's get_nft_address_by_index. */
export function nftItemAddress(index: bigint, collection: Address): Address {
  return contractAddress(0, { code: nftItemCode, data: identity(index, collection).endCell() });
}

export interface NftItemState {
  index: bigint;
  collection: Address;
  owner: Address;
  content: Cell;
}

export function nftItemData({ index, collection, owner, content }: NftItemState): Cell {
  return identity(index, collection).storeAddress(owner).storeRef(content).endCell();
}

/** Null for an item that its collection has not made yet. */
export function readNftItem(data: Cell): NftItemState | null {
  if (data.refs.length === 0) return null;
  const slice = data.beginParse();
  return {
    index: slice.loadUintBig(64),
    collection: slice.loadAddress(),
    owner: slice.loadAddress(),
    content: slice.loadRef(),
  };
}

export interface NftTransfer {
  queryId: bigint;
  newOwner: Address;
  /** Gets the coins that are left over. */
  responseDestination: Address | null;
  /** Nanotons that reach the new owner with the notification; 0 sends none. */
  forwardAmount: bigint;
  forwardPayload: Cell | null;
}

/** To be sent to the item by its owner. */
export function nftTransfer(transfer: NftTransfer): Cell {
  return beginCell()
    .storeUint(NFT_OPS.transfer, 32)
    .storeUint(transfer.queryId, 64)
    .storeAddress(transfer.newOwner)
    .storeAddress(transfer.responseDestination)
    .storeMaybeRef(null)
    .storeCoins(transfer.forwardAmount)
    .storeMaybeRef(transfer.forwardPayload)
    .endCell();
}

export interface NftMint {
  queryId: bigint;
  /** The collection's next index. */
  index: bigint;
  owner: Address;
  content: Cell;
  /** Nanotons for the item; the message to the collection carries more than that. */
  amount: bigint;
}

/** To be sent to the collection by its owner. */
export function nftMint(mint: NftMint): Cell {
  return beginCell()
    .storeUint(NFT_OPS.deploy, 32)
    .storeUint(mint.queryId, 64)
    .storeUint(mint.index, 64)
    .storeCoins(mint.amount)
    .storeRef(beginCell().storeAddress(mint.owner).storeRef(mint.content))
    .endCell();
}

/** A query to an item or collection that has no fields but the query id. */
export function nftQuery(op: 'getStaticData' | 'getRoyaltyParams', queryId: bigint): Cell {
  return beginCell().storeUint(NFT_OPS[op], 32).storeUint(queryId, 64).endCell();
}
