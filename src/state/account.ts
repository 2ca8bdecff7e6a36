/** The state of an account as of a masterchain step. */
import { type AccountCell, readAccount as readCell } from '../chain/accounts.ts';
import { type Boc, openBoc } from '../chain/boc.ts';
import { DecodeError } from '../chain/errors.ts';
import { cellHash } from '../chain/hash.ts';
import { CellView } from '../chain/layouts/cell-view.ts';
import { completeCells } from '../chain/merge.ts';
import type { AccountStatus, Address, Decimal, ExtraCurrencies, Hash } from '../chain/model.ts';
import type { KnownState } from '../chain/records.ts';
import type { ProvenAccount } from '../node/lite-proofs.ts';

/** What an account has: the words of {@link KnownState}, and the cells themselves. */
export interface AccountState extends KnownState {
  account: Address;
  status: AccountStatus;
  balance: Decimal;
  extraCurrencies: ExtraCurrencies;
  /** Of the `Account` cell. */
  hash: Hash;
  /** Bags of cells; null without code or data, and where they were not asked for. */
  code: Buffer | null;
  data: Buffer | null;
  /** Zeros for an account that does not exist. */
  lastTransaction: { lt: Decimal; hash: Hash };
  /** Unix seconds: when the shard block was made that holds the account as of the step. */
  genUtime: number;
}

export const NO_TRANSACTION = { lt: '0', hash: Buffer.alloc(32) } as const;

/** Hash of `account_none$0`. */
const NO_ACCOUNT_HASH = Buffer.from('90aec8965afabb16ebc3cb9b408ebae71b618d78788bc80d09843593cac98da4', 'hex');

export function absent(account: Address, genUtime: number): AccountState {
  return {
    account,
    ...NO_STATE,
    hash: NO_ACCOUNT_HASH,
    code: null,
    data: null,
    lastTransaction: NO_TRANSACTION,
    genUtime,
  };
}

/** Reads what a liteserver has shown. @throws {DecodeError} */
export function stateOfProof(account: Address, proven: ProvenAccount): AccountState {
  const { boc, genUtime, lastTransactionHash: hash, lastTransactionLt: lt } = proven;
  if (boc === null) return absent(account, genUtime);
  const bag = openBoc(boc);
  const cell = readCell(bag, bag.roots[0]);
  if (cell === null) return { ...absent(account, genUtime), lastTransaction: { lt, hash } };
  const { code, data } = cell;
  return {
    account,
    ...wordsOf(bag, cell),
    hash: Buffer.from(cellHash(bag, bag.roots[0])),
    code: code === null ? null : completeCells(bag, code),
    data: data === null ? null : completeCells(bag, data),
    lastTransaction: { lt, hash },
    genUtime,
  };
}

const NO_STATE: KnownState = {
  status: 'nonexist',
  balance: '0',
  extraCurrencies: {},
  frozenHash: null,
  codeHash: null,
  dataHash: null,
};

/** What an `Account` cell says. @throws {DecodeError} */
export function knownState(bag: Boc, account: number): KnownState {
  const cell = readCell(bag, account);
  return cell === null ? NO_STATE : wordsOf(bag, cell);
}

function wordsOf(bag: Boc, { status, balance, frozenHash, code, data }: AccountCell): KnownState {
  return {
    status,
    balance: balance.grams,
    extraCurrencies: balance.extra,
    frozenHash: frozenHash === null ? null : Buffer.from(frozenHash),
    codeHash: hashOf(bag, code),
    dataHash: hashOf(bag, data),
  };
}

function hashOf(bag: Boc, cell: number | null): Hash | null {
  return cell === null ? null : Buffer.from(cellHash(bag, cell));
}

/** Hash of the cell without bits and references. */
const EMPTY_CODE = Buffer.from('96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7', 'hex');

/**
 * As tonlib tells it, by the code: an account that does not exist, or is active without any, reads as one that is not
 * initialised.
 */
export function shownStatus({
  status,
  codeHash,
}: Pick<AccountState, 'status' | 'codeHash'>): 'active' | 'frozen' | 'uninitialized' {
  if (status === 'frozen') return status;
  return codeHash === null || codeHash.equals(EMPTY_CODE) ? 'uninitialized' : 'active';
}

/** The root of a bag of cells; null for none, and for one that cannot be read. */
export function cellView(boc: Buffer | null): CellView | null {
  try {
    return boc === null ? null : CellView.parse(boc);
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}
