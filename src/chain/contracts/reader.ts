/**
 * What contracts of well-known code keep, read straight from the data cell. A reader gives what the contract's own
 * get-method gives, or null: for data of another shape the get-method has the word. Readers never throw.
 */
import type { Cursor } from '../cursor.ts';
import { DecodeError } from '../errors.ts';
import type { CellView } from '../layouts/cell-view.ts';
import type { Codec } from '../layouts/codec.ts';
import type { Address, Decimal, Hash } from '../model.ts';
import type { Content } from './content.ts';

/** `get_wallet_data` of TEP-74. */
export interface JettonWalletState {
  kind: 'jetton_wallet';
  balance: Decimal;
  owner: Address;
  master: Address;
}

/** `get_jetton_data` of TEP-74. */
export interface JettonMasterState {
  kind: 'jetton_master';
  totalSupply: Decimal;
  mintable: boolean;
  admin: Address | null;
  content: Content;
  /** Hash of the code of its wallets. */
  walletCodeHash: Hash;
}

/** `get_nft_data` of TEP-62. */
export interface NftItemState {
  kind: 'nft_item';
  index: Decimal;
  collection: Address | null;
  owner: Address | null;
  /** What the item itself keeps: content of its own, or what the collection's `get_nft_content` takes. */
  content: CellView;
}

/** `get_collection_data` of TEP-62. */
export interface NftCollectionState {
  kind: 'nft_collection';
  nextItemIndex: Decimal;
  content: Content;
  owner: Address | null;
}

export type ContractState = JettonWalletState | JettonMasterState | NftItemState | NftCollectionState;

/** What some codes keep in their data cell. */
export interface ContractLayout<S extends ContractState = ContractState> {
  readonly data: Codec<unknown>;
  /** The state in a data cell, null when it is not of the layout. */
  read(data: CellView): S | null;
}

/**
 * A layout that must use all of the data up.
 *
 * @param state what the fields mean; null when they are none of the contract
 */
export function contractLayout<T, S extends ContractState>(
  data: Codec<T>,
  state: (fields: T) => S | null,
): ContractLayout<S> {
  return {
    data,
    read(view) {
      try {
        const cursor = view.cursor();
        const fields = data.read(cursor);
        return isEmpty(cursor) ? state(fields) : null;
      } catch (error) {
        if (error instanceof DecodeError) return null;
        throw error;
      }
    },
  };
}

function isEmpty(cursor: Cursor): boolean {
  return cursor.bitsLeft === 0 && cursor.refsLeft === 0;
}
