/** Accounts as cells (`ShardAccount`, `Account`: crypto/block/block.tlb), in as much detail as running them needs. */
import { addressOf } from '../chain/address.ts';
import { Builder, type Cell, Slice } from '../chain/builder.ts';
import { eachLeaf } from '../chain/dictionary.ts';
import { DecodeError } from '../chain/errors.ts';
import type { Address, Decimal, ExtraCurrencies, Hash } from '../chain/model.ts';

/** `StorageInfo`. */
export interface StorageInfo {
  usedCells: bigint;
  usedBits: bigint;
  /** Unix seconds up to which storage is paid; 0 for an account that pays none. */
  lastPaid: number;
  /** Nanotons. */
  due: bigint;
}

export type AccountStatus =
  | { type: 'uninit' }
  | { type: 'frozen'; stateHash: Hash }
  | { type: 'active'; code: Cell | null; data: Cell | null };

export interface Account {
  address: Address;
  storage: StorageInfo;
  balance: Decimal;
  extraCurrencies: ExtraCurrencies;
  status: AccountStatus;
}

/** Reads an `Account`; null for `account_none$0`. Throws DecodeError, also for an address with anycast. */
export function readAccount(cell: Cell): Account | null {
  const slice = new Slice(cell);
  if (!slice.bit()) return null;
  slice.tag(3, 4, 'addr_std without anycast');
  const address = addressOf(slice.i(8), slice.bytes(32));
  const storage = readStorage(slice);
  slice.skip(64);
  const balance = slice.grams().toString();
  const extraCurrencies = readExtra(slice.maybeRef());
  return { address, storage, balance, extraCurrencies, status: readStatus(slice) };
}

function readStorage(slice: Slice): StorageInfo {
  const usedCells = slice.varUint(3);
  const usedBits = slice.varUint(3);
  const extra = slice.u(3);
  if (extra > 1) throw new DecodeError(`tag ${extra} is not StorageExtraInfo`);
  if (extra === 1) slice.skip(256);
  const lastPaid = slice.u(32);
  return { usedCells, usedBits, lastPaid, due: slice.bit() ? slice.grams() : 0n };
}

function readExtra(dictionary: Cell | null): ExtraCurrencies {
  const currencies: ExtraCurrencies = {};
  eachLeaf(dictionary, 32, (leaf, key) => {
    currencies[key.readUInt32BE().toString()] = leaf.varUint(5).toString();
  });
  return currencies;
}

function readStatus(slice: Slice): AccountStatus {
  if (!slice.bit()) return slice.bit() ? { type: 'frozen', stateHash: slice.bytes(32) } : { type: 'uninit' };
  if (slice.bit()) slice.skip(5);
  if (slice.bit()) slice.skip(2);
  return { type: 'active', code: slice.maybeRef(), data: slice.maybeRef() };
}

/** What an active account without code or data has in their place. */
export const EMPTY = new Builder().cell();
