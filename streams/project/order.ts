import { compareDecimal } from '../../src/chain/decimal.ts';
import { hashKey } from '../../src/chain/hash.ts';
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

function place(block: DecodedBlock, blockAt: number): Placed[] {
  const states = new Map(block.states.map((state) => [hashKey(state.account), state]));
  return block.transactions.map((transaction, at) => {
    const state = states.get(hashKey(transaction.account));
    return {
      transaction,
      block,
      blockAt,
      payload: block.payloads[at],
      after: state?.hash.equals(transaction.stateAfter) ? state : null,
    };
  });
}
