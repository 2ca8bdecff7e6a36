import { readAccount } from '../../src/chain/accounts.ts';
import { type Boc, openBoc } from '../../src/chain/boc.ts';
import { cellHash } from '../../src/chain/hash.ts';
import type { AccountState, Hash } from '../../src/chain/model.ts';
import type { StoredCell } from '../cell-record.ts';
import { orNull, storedForm, wholeCells } from './cells.ts';

interface Cells {
  hash: Hash;
  /** In its stored form. */
  boc: Buffer;
}

/** An account that a node was asked for as a whole. */
export interface LearnedAccount {
  state: AccountState;
  code: Cells | null;
  data: Cells | null;
}

/** Reads a record of kind `account`; null for what is no account, or none that can be read. */
export function readLearned({ account, lt, transaction, hash, boc }: StoredCell): LearnedAccount | null {
  if (account === null || lt === null || transaction === null) return null;
  return orNull(() => {
    const bag = openBoc(boc);
    const found = readAccount(bag, bag.roots[0]);
    if (found === null) return null;
    const code = cellsOf(bag, found.code);
    if (found.code !== null && code === null) return null;
    const data = cellsOf(bag, found.data);
    const { status, balance, frozenHash, code: codeCell, data: dataCell } = found;
    const state: AccountState = {
      account,
      hash,
      status,
      balance: balance.grams,
      extraCurrencies: balance.extra,
      extraPruned: balance.pruned,
      frozenHash,
      codeHash: code?.hash ?? null,
      dataHash: data?.hash ?? null,
      codeCell,
      dataCell,
      codeComplete: code !== null,
      dataComplete: data !== null,
      lastTransactionHash: transaction,
      lastTransactionLt: lt,
    };
    return { state, code, data };
  });
}

function cellsOf(bag: Boc, cell: number | null): Cells | null {
  const whole = cell === null ? null : wholeCells(bag, cell);
  const boc = whole === null ? null : storedForm(whole);
  return cell === null || boc === null ? null : { hash: Buffer.from(cellHash(bag, cell)), boc };
}
