import type { Block } from './block.ts';
import { type Boc, cellType, levelMask, PRUNED } from './boc.ts';
import { readShownCurrencies, type ShownCurrencies, skipCurrencies } from './currency.ts';
import { Cursor } from './cursor.ts';
import { DecodeError, inside, section } from './errors.ts';
import { hashAt } from './hash.ts';
import { type Allowance, lookupHashmap, walkAllowance, walkHashmap, walkInline } from './hashmap.ts';
import { readInternalAddress } from './message.ts';
import type { AccountState, Address, Hash, Transaction } from './model.ts';
import { readShardIdent, shardContains } from './shard-ident.ts';
import { decodeTransaction } from './transaction.ts';

/** What a block did to one account (`acc_trans#5`). */
export interface AccountBlock {
  account: Address;
  /** `HASH_UPDATE` over the whole block. */
  stateBefore: Hash;
  stateAfter: Hash;
  /** Cells of the transactions by ascending lt. Never empty. */
  transactionCells: number[];
  /** Decodes them. Throws DecodeError. */
  transactions(): Transaction[];
}

/** The accounts with transactions in a block, by ascending account id. Throws DecodeError. */
export function accountBlocks(block: Block): AccountBlock[] {
  const { boc, accountBlocks: root } = block;
  if (root === null) return [];
  const found: AccountBlock[] = [];
  const limit = walkAllowance(boc);
  const leaf = (value: Cursor, key: Buffer): void => {
    skipCurrencies(value);
    found.push(readAccountBlock(value, key, block.header.workchain, limit));
  };
  section('block/extra/account_blocks', () => walkHashmap(boc, root, { keyBits: 256, leaf }, limit));
  return found;
}

/** All transactions of a block, by account id, then lt. Throws DecodeError. */
export function* blockTransactions(
  block: Block,
  touched = accountBlocks(block),
): Generator<Transaction, void, undefined> {
  for (const account of touched) yield* account.transactions();
}

function readAccountBlock(cursor: Cursor, key: Buffer, workchain: number, limit: Allowance): AccountBlock {
  const { boc } = cursor;
  cursor.tag(4, 5, 'AccountBlock');
  const account = cursor.address(workchain);
  if (account.compare(key, 0, 32, 4, 36) !== 0) throw new DecodeError('account block under the key of another account');
  const transactionCells: number[] = [];
  const leaf = (value: Cursor): void => {
    skipCurrencies(value);
    transactionCells.push(value.nextRef());
  };
  if (walkInline(cursor, { keyBits: 64, leaf }, limit)) skipCurrencies(cursor);
  const update = cursor.open();
  update.tag(8, 0x72, 'HASH_UPDATE');
  return {
    account,
    stateBefore: update.hash(),
    stateAfter: update.hash(),
    transactionCells,
    transactions: () => readTransactions(boc, transactionCells, account, workchain),
  };
}

function readTransactions(boc: Boc, cells: number[], account: Address, workchain: number): Transaction[] {
  try {
    return cells.map((cell) => {
      const transaction = decodeTransaction(boc, cell, workchain, account);
      if (transaction.account !== account && !transaction.account.equals(account))
        throw new DecodeError('transaction of another account');
      return transaction;
    });
  } catch (error) {
    throw inside(`block/extra/account_blocks/${account.toString('hex', 4)}`, error);
  }
}

/** Representation hash of `account_none$0`: a state update need not show the place where no account is. */
const NO_ACCOUNT = Buffer.from('90aec8965afabb16ebc3cb9b408ebae71b618d78788bc80d09843593cac98da4', 'hex');

/**
 * The state of every account that has transactions in the block, as the new side of its state update shows it, by
 * ascending account id. An account that is not there any more is `nonexist`. The state hash is taken from
 * `HASH_UPDATE`, not computed. Throws DecodeError, also when the update does not show an account.
 */
export function accountStatesAfter(block: Block, touched = accountBlocks(block)): AccountState[] {
  if (touched.length === 0) return [];
  return section('block/state_update', () => {
    const { boc, stateUpdate } = block;
    // Opened when first needed: where only accounts that are not there were touched, the dictionary is pruned.
    let find: FindAccount | null = null;
    return touched.map((account) => {
      try {
        if (account.stateAfter.equals(NO_ACCOUNT)) return absentState(block, account);
        find ??= openAccounts(boc, boc.refs[boc.refStart[stateUpdate] + 1]);
        return readState(block, account, find(account.account));
      } catch (error) {
        throw inside(`accounts/${account.account.toString('hex', 4)}`, error);
      }
    });
  });
}

/** The leaf of an account: at the extra before its `ShardAccount`. Null when there is none; throws when pruned. */
export type FindAccount = (account: Address) => Cursor | null;

/**
 * The accounts of a shard state (`ShardState`), full or pruned: one dictionary, or two in a split state.
 * Throws DecodeError.
 */
export function openAccounts(boc: Boc, root: number): FindAccount {
  const state = new Cursor(boc, root);
  // split_state#5f327da5 left:^ShardStateUnsplit right:^ShardStateUnsplit
  if (state.u(32) === 0x5f327da5) {
    const halves = [openHalf(state.open()), openHalf(state.open())];
    return (account) => halves.find((half) => shardContains(half.shard, account.subarray(4)))?.find(account) ?? null;
  }
  state.at -= 32;
  return openHalf(state).find;
}

/** `shard_state#9023afe2`: the accounts are behind the second reference. */
function openHalf(state: Cursor): { shard: string; find: FindAccount } {
  const { boc } = state;
  state.tag(32, 0x9023afe2, 'ShardStateUnsplit');
  state.skip(32);
  const { shard } = readShardIdent(state);
  state.nextRef();
  const root = state.open().maybeRef();
  return { shard, find: (account) => (root < 0 ? null : lookupHashmap(boc, root, 256, account.subarray(4))) };
}

function readState(block: Block, touched: AccountBlock, found: Cursor | null): AccountState {
  if (found === null) return absentState(block, touched);
  // The extra of the dictionary: `depth_balance$_ split_depth:(#<= 30) balance:CurrencyCollection`.
  found.skip(5);
  skipCurrencies(found);
  const cell = found.nextRef();
  const lastTransactionHash = found.hash();
  const lastTransactionLt = found.dec(64);
  const account = readAccount(block.boc, cell, touched.account);
  if (account === null) return absentState(block, touched);
  const { code, data } = account;
  const { boc } = block;
  return {
    account: touched.account,
    hash: touched.stateAfter,
    status: account.status,
    balance: account.balance.grams,
    extraCurrencies: account.balance.extra,
    extraPruned: account.balance.pruned,
    frozenHash: account.frozenHash,
    codeHash: code === null ? null : hashAt(boc, code, 0),
    dataHash: data === null ? null : hashAt(boc, data, 0),
    codeCell: code,
    dataCell: data,
    codeComplete: code !== null && levelMask(boc, code) === 0,
    dataComplete: data !== null && levelMask(boc, data) === 0,
    lastTransactionHash,
    lastTransactionLt,
  };
}

function absentState(block: Block, touched: AccountBlock): AccountState {
  const cell = touched.transactionCells[touched.transactionCells.length - 1];
  const last = decodeTransaction(block.boc, cell, block.header.workchain);
  return {
    account: touched.account,
    hash: touched.stateAfter,
    status: 'nonexist',
    balance: '0',
    extraCurrencies: {},
    extraPruned: null,
    frozenHash: null,
    codeHash: null,
    dataHash: null,
    codeCell: null,
    dataCell: null,
    codeComplete: false,
    dataComplete: false,
    lastTransactionHash: last.hash,
    lastTransactionLt: last.lt,
  };
}

/** The parts of an account cell that are kept. */
export interface AccountCell {
  status: 'uninit' | 'active' | 'frozen';
  lastTransLt: string;
  balance: ShownCurrencies;
  frozenHash: Hash | null;
  code: number | null;
  data: number | null;
}

/** Reads an `Account` cell, likely of an address; null for `account_none$0`. Throws DecodeError. */
export function readAccount(boc: Boc, cell: number, likely: Address | null = null): AccountCell | null {
  if (cellType(boc, cell) === PRUNED) throw new DecodeError('account is pruned');
  const cursor = new Cursor(boc, cell);
  if (!cursor.bit()) return null;
  readInternalAddress(cursor, likely);
  // StorageInfo: used cells and bits, then the newer three-bit extra or the older count of public cells.
  cursor.varUint(3);
  cursor.varUint(3);
  const mark = cursor.at;
  const extra = cursor.u(3);
  if (extra !== 1) {
    cursor.skip(extra * 8);
    return readStorage(cursor);
  }
  // 1 is both `storage_extra_info$001` with 256 bits and an older count of public cells in one byte, which no
  // account was ever seen to have: the newer form, unless the rest contradicts it.
  try {
    cursor.skip(256);
    const account = readStorage(cursor);
    if (cursor.bitsLeft === 0) return account;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
  }
  const older = new Cursor(boc, cell);
  older.at = mark + 3 + 8;
  return readStorage(older);
}

/** The rest of StorageInfo (last_paid, due_payment), then `account_storage$_`. */
function readStorage(cursor: Cursor): AccountCell {
  cursor.skip(32);
  if (cursor.bit()) cursor.grams();
  const lastTransLt = cursor.dec(64);
  const balance = readShownCurrencies(cursor);
  const common = { lastTransLt, balance, frozenHash: null, code: null, data: null };
  if (cursor.bit()) return { ...common, status: 'active', ...readCode(cursor) };
  return cursor.bit() ? { ...common, status: 'frozen', frozenHash: cursor.hash() } : { ...common, status: 'uninit' };
}

/** `StateInit` of an active account. */
function readCode(cursor: Cursor): { code: number | null; data: number | null } {
  if (cursor.bit()) cursor.skip(5);
  if (cursor.bit()) cursor.skip(2);
  const code = cursor.maybeRef();
  const data = cursor.maybeRef();
  cursor.maybeRef();
  return { code: code < 0 ? null : code, data: data < 0 ? null : data };
}
