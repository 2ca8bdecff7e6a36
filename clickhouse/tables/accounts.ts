import type { AccountState } from '../../src/chain/model.ts';
import { encodeState } from '../states.ts';
import { address, arrayOf, bytes, hash, hashOrNone, i8, status, u32, u64, u128 } from './columns.ts';
import { type Row, table } from './table.ts';

/** The newest state of each account. */
export const accounts = table({
  name: 'accounts',
  columns: {
    account: address,
    lt: u64,
    mcSeqno: u32,
    hash,
    lastTransactionHash: hash,
    status,
    balance: u128,
    codeHash: hashOrNone,
    /** The whole of it, packed (clickhouse/states.ts); the columns beside it are for filters and analysis. */
    state: bytes,
  },
  kind: 'newest',
  key: ['account'],
  version: 'lt',
  inStatus: true,
});

export type AccountRow = Row<typeof accounts>;

export function accountRow(state: AccountState, mcSeqno: number): AccountRow {
  const { account, lastTransactionLt, hash, lastTransactionHash, status, balance, codeHash } = state;
  const packed = encodeState(state);
  return {
    account,
    lt: lastTransactionLt,
    mcSeqno,
    hash,
    lastTransactionHash,
    status,
    balance,
    codeHash,
    state: packed,
  };
}

/**
 * Accounts that a node was asked for because contracts name them and the log had never shown them: their state where
 * no transaction tells it.
 */
export const learnedAccounts = table({
  name: 'learned_accounts',
  columns: { account: address, lt: u64, mcSeqno: u32, hash, state: bytes, lastTransactionHash: hash },
  kind: 'fact',
  key: ['account', 'lt'],
  inStatus: true,
  carried: false,
});

/** The newest data of each account that was ever seen in full. */
export const accountData = table({
  name: 'account_data',
  columns: { account: address, lt: u64, mcSeqno: u32, dataHash: hash, boc: bytes },
  kind: 'newest',
  key: ['account'],
  version: 'lt',
  inStatus: true,
});

/** Every change of an account's code. */
export const accountCodes = table({
  name: 'account_codes',
  columns: { account: address, lt: u64, mcSeqno: u32, codeHash: hashOrNone },
  kind: 'fact',
  key: ['account', 'lt'],
  indexes: [{ name: 'account_codes_by_step', key: ['mcSeqno', 'account', 'lt'], also: ['codeHash'] }],
  // The state of the account tells it.
  carried: false,
});

/** Code cells by hash, with the get-method ids found in them, ascending. */
export const codes = table({
  name: 'codes',
  columns: { codeHash: hash, methods: arrayOf(u32), boc: bytes },
  kind: 'fact',
  key: ['codeHash'],
  inStatus: true,
});

/** Accounts in order of balance: a row for each state, taken back by the next. */
export const balances = table({
  name: 'balances',
  columns: { balance: u128, account: address, lt: u64, mcSeqno: u32, sign: i8 },
  kind: 'pairs',
  key: ['balance', 'account', 'lt'],
  version: 'lt',
  sign: 'sign',
  inStatus: true,
  carried: false,
});
