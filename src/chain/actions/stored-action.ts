import type { ActionRecord } from '../records.ts';
import type { Action } from './action.ts';
import { contentOf } from './content.ts';

/** What is stored of an action by itself; the rest follows from its trace. */
export interface StoredAction
  extends Pick<
    ActionRecord,
    'actionId' | 'startLt' | 'endLt' | 'startUtime' | 'endUtime' | 'type' | 'success' | 'transactions' | 'content'
  > {
  /** Types of the actions that it is a part of, innermost first. */
  ancestors: string[];
}

const HASH_BYTES = 32;

export function storedAction(action: Action): StoredAction {
  const { startLt, endLt, startUtime, endUtime, type, success, ancestors, details, accounts } = action;
  return {
    actionId: storedId(action),
    startLt,
    endLt,
    startUtime,
    endUtime,
    type,
    success,
    ancestors: [...ancestors],
    transactions: hashesOf(action),
    content: contentOf(details, accounts),
  };
}

export const storedId = ({ id }: Pick<Action, 'id'>): Buffer => Buffer.from(id, 'base64');

function hashesOf({ transactions }: Action): Buffer {
  const hashes = Buffer.allocUnsafe(transactions.length * HASH_BYTES);
  let at = 0;
  for (const hash of transactions) at += hashes.write(hash, at, 'base64');
  return hashes.subarray(0, at);
}
