/** The state of one account: as a node has it, and the newest as the operations show it that come from v2. */
import type { Address } from '../../chain/model.ts';
import { NodeError } from '../../node/chain-node.ts';
import { NoNetworkError } from '../../node/liteservers.ts';
import { type AccountState, NO_TRANSACTION } from '../../state/account.ts';
import type { Asked } from './route.ts';

/** `nonexist` of the contract is an account that was, and is no more; others that do not exist are `uninit`. */
export type NewestState = Pick<AccountState, 'status' | 'balance' | 'codeHash' | 'code' | 'data' | 'frozenHash'> & {
  lastTransaction: AccountState['lastTransaction'];
};

/** As a node has it, at a masterchain seqno or its newest one. @throws {NodeError} @throws {NoNetworkError} */
export async function nodeState(
  account: Address,
  { states, context }: Pick<Asked, 'states' | 'context'>,
  at?: number,
): Promise<AccountState> {
  return states.account(account, await states.step(at, context), { cells: true }, context);
}

/** As it is indexed; a liteserver is asked for what is not, and where none has it code and data are left out. */
export async function indexedState(
  account: Address,
  asked: Pick<Asked, 'source' | 'states' | 'context'>,
): Promise<NewestState> {
  const [record] = await asked.source.accountStates([account], [], 'all', asked.context);
  if (record === undefined) {
    // What the index has never seen may still be there: only without a network nothing more can be known of it.
    const state: NewestState = (await orNull(nodeState(account, asked), isOffline)) ?? UNKNOWN;
    return state.status === 'nonexist' ? { ...state, status: 'uninit' } : state;
  }
  const { codeHash, dataHash, codeBoc, dataBoc } = record;
  const lastTransaction = { lt: record.lastTransactionLt, hash: record.lastTransactionHash };
  const whole = (codeHash === null || codeBoc !== null) && (dataHash === null || dataBoc !== null);
  const state = whole ? null : await orNull(nodeState(account, asked));
  return state ?? { ...record, code: codeBoc, data: dataBoc, lastTransaction };
}

const UNKNOWN: NewestState = {
  status: 'uninit',
  balance: '0',
  codeHash: null,
  code: null,
  data: null,
  frozenHash: null,
  lastTransaction: NO_TRANSACTION,
};

const isOffline = (error: unknown): boolean => error instanceof NoNetworkError;

/** There is no network to ask, or nobody there has it any more. */
const isGone = (error: unknown): boolean =>
  isOffline(error) || (error instanceof NodeError && error.code === 'not_found');

/** Null where it failed so; other errors go on. */
export async function orNull<T>(asking: Promise<T>, so = isGone): Promise<T | null> {
  try {
    return await asking;
  } catch (error) {
    if (so(error)) return null;
    throw error;
  }
}
