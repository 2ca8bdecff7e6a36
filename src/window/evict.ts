import type { Message } from '../chain/model.ts';
import {
  decodeAccount,
  decodeBlockEntry,
  decodeMessageEntry,
  decodeStep,
  decodeStored,
  type StoredMessage,
  type StoredStep,
} from './entries.ts';
import { accountLtKey, behindPrefix, blockIdKey, ltAccountKey, numberKey, timeKey, u32Key } from './keys.ts';
import { messageIndexKeys, messageKeyOf } from './message-keys.ts';
import type { WindowState } from './state.ts';
import type { Tables } from './tables.ts';

/**
 * Takes out the oldest step. Inside a write transaction; the window must hold more than one step. What a later step
 * has changed since (an account, a message that was received) stays with that step.
 */
export function evictOldest(tables: Tables, state: WindowState): WindowState {
  const mcSeqno = state.first;
  const stored = tables.steps.get(u32Key(mcSeqno));
  if (stored === undefined) throw new Error(`step ${mcSeqno} is missing in the window`);
  const step = decodeStep(stored);
  removeTransactions(tables, mcSeqno, step);
  removeBlocks(tables, mcSeqno);
  removeAccounts(tables, mcSeqno, step);
  tables.steps.removeSync(u32Key(mcSeqno));
  const [first] = tables.steps.getKeys({ start: u32Key(mcSeqno), limit: 1 });
  if (first === undefined) throw new Error(`the window has no step behind ${mcSeqno}`);
  const { lt, utime } = state.below ?? { lt: 0n, utime: 0 };
  return {
    ...state,
    first: first.readUInt32BE(0),
    bytes: Math.max(0, state.bytes - step.bytes),
    below: { lt: step.maxLt > lt ? step.maxLt : lt, utime: Math.max(utime, step.maxUtime) },
  };
}

function removeTransactions(tables: Tables, mcSeqno: number, step: StoredStep): void {
  for (let number = step.firstNumber; number < step.firstNumber + step.count; number++) {
    const stored = tables.transactions.get(numberKey(number));
    if (stored === undefined) throw new Error(`transaction ${number} of step ${mcSeqno} is missing in the window`);
    const { transaction } = decodeStored(stored);
    const { account, lt, now, hash, inMsg, outMsgs } = transaction;
    tables.transactions.removeSync(numberKey(number));
    if (tables.form) tables.forms.removeSync(numberKey(number));
    tables.transactionsByAccount.removeSync(accountLtKey(account, lt));
    tables.transactionsByLt.removeSync(ltAccountKey(lt, account));
    tables.transactionsByTime.removeSync(timeKey(now, lt, account));
    tables.transactionsByHash.removeSync(hash);
    if (inMsg) removeMessage(tables, inMsg, ({ received }) => received.mcSeqno === mcSeqno);
    for (const message of outMsgs) {
      removeMessage(tables, message, ({ sent, received }) => received.mcSeqno === 0 && sent.mcSeqno === mcSeqno);
    }
  }
}

function removeMessage(tables: Tables, message: Message, goes: (stored: StoredMessage) => boolean): void {
  const key = messageKeyOf(message);
  const value = tables.messages.get(key);
  if (value === undefined) return;
  const stored = decodeMessageEntry(key, value);
  if (!goes(stored)) return;
  for (const [table, indexKey] of messageIndexKeys(stored)) tables[table].removeSync(indexKey);
  tables.messages.removeSync(key);
}

function removeBlocks(tables: Tables, mcSeqno: number): void {
  const prefix = u32Key(mcSeqno);
  const end = behindPrefix(prefix);
  for (const { key, value } of [...tables.blocks.getRange({ start: prefix, ...(end ? { end } : {}) })]) {
    const { header } = decodeBlockEntry(key, value);
    const id = blockIdKey(header);
    tables.blocksById.removeSync(id);
    tables.blocksByTime.removeSync(Buffer.concat([u32Key(header.genUtime), id]));
    tables.blocksByHash.removeSync(header.rootHash);
    tables.blocksByHash.removeSync(header.fileHash);
    tables.blocks.removeSync(key);
  }
  tables.tops.removeSync(prefix);
}

function removeAccounts(tables: Tables, mcSeqno: number, step: StoredStep): void {
  for (const account of step.accounts) {
    const stored = tables.accounts.get(account);
    if (stored === undefined || decodeAccount(stored).mcSeqno !== mcSeqno) continue;
    tables.accounts.removeSync(account);
    tables.accountData.removeSync(account);
  }
}
