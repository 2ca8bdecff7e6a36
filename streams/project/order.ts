import { compareDecimal } from '../../src/chain/decimal.ts';
import type { AccountState, Transaction } from '../../src/chain/model.ts';
import type { DecodedBlock, DecodedStep } from './decode.ts';

/** A transaction with its block and what the block shows of the account. */
export interface Placed {
  transaction: Transaction;
  block: DecodedBlock;
  /** The place of the block among those of the step. */
  blockAt: number;
  /** The transaction as a bag of its own. */
  payload: Buffer;
  /** The state the block shows, when this is the account's last transaction in the block. */
  after: AccountState | null;
}

/** All transactions of a step by lt, then account: a parent is before its child (spec v3 semantics 3.1). */
export function inOrder(step: DecodedStep): Placed[] {
  return step.blocks
    .flatMap(place)
    .sort(
      (a, b) =>
        compareDecimal(a.transaction.lt, b.transaction.lt) || a.transaction.account.compare(b.transaction.account),
    );
}

/** Transactions and states are both by account, and each account with transactions has a state. */
function place(block: DecodedBlock, blockAt: number): Placed[] {
  const { states, transactions, payloads } = block;
  let next = 0;
  return transactions.map((transaction, at) => {
    while (next < states.length && states[next].account.compare(transaction.account) < 0) next++;
    const state = next < states.length ? states[next] : null;
    const isLast = state?.account.equals(transaction.account) && state.hash.equals(transaction.stateAfter);
    return { transaction, block, blockAt, payload: payloads[at], after: isLast ? state : null };
  });
}
