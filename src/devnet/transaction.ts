import { type Cell, Slice } from '../chain/builder.ts';
import { eachLeaf } from '../chain/dictionary.ts';
import { readCoins } from './augmentations.ts';

/** What collation needs of a transaction the executor made. */
export interface ExecutedTransaction {
  cell: Cell;
  lt: bigint;
  /** Behind its last out message. */
  endLt: bigint;
  /** Nanotons. */
  fees: bigint;
  /** Out messages by creation lt. */
  out: Cell[];
}

/** `transaction$0111`. Throws DecodeError. */
export function readTransaction(cell: Cell): ExecutedTransaction {
  const slice = new Slice(cell).tag(4, 7, 'Transaction').skip(256);
  const lt = slice.big(64);
  slice.skip(256 + 64 + 32);
  const count = slice.u(15);
  slice.skip(4);
  const messages = slice.open();
  const fees = readCoins(slice);
  messages.maybeRef();
  const out: Cell[] = [];
  eachLeaf(messages.maybeRef(), 15, (leaf) => out.push(leaf.ref()));
  return { cell, lt, endLt: lt + 1n + BigInt(count), fees, out };
}

/** Balance of an `Account` in nanotons, null for `account_none$0`. Throws DecodeError. */
export function accountBalance(account: Cell): bigint | null {
  const slice = new Slice(account);
  if (!slice.bit()) return null;
  // addr_std without anycast
  slice.skip(3 + 8 + 256);
  slice.varUint(3);
  slice.varUint(3);
  const extra = slice.u(3);
  if (extra === 1) slice.skip(256);
  slice.skip(32);
  if (slice.bit()) slice.grams();
  slice.skip(64);
  return readCoins(slice);
}
