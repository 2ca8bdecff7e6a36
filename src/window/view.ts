import type { Hash } from '../chain/model.ts';
import type { BlockRecord, TransactionRecord } from '../chain/records.ts';
import {
  codeHashOf,
  decodeAccount,
  decodeBlockEntry,
  decodeCode,
  decodeMessageEntry,
  decodeMethods,
  decodeStored,
  decodeTops,
  placeNumber,
  type StoredAccount,
  type StoredMessage,
} from './entries.ts';
import { behindPrefix, numberKey, u32Key } from './keys.ts';
import { readWindowState, type WindowState } from './state.ts';
import { createReader, type Entry, entries, type TableName, type Tables } from './tables.ts';

/** The window at one moment. */
export interface View extends Pick<WindowState, 'first' | 'head' | 'below' | 'globalId'> {
  range(table: TableName, bounds: { low: Buffer; high: Buffer | null; reverse?: boolean }): Iterable<Entry>;
  hasStep(mcSeqno: number): boolean;
  transaction(number: number): TransactionRecord;
  /** How it is shown; null where the window keeps no forms. */
  form(number: number): Buffer | null;
  numberOf(hash: Hash): number | null;
  /** The number of the transaction of an account at an lt. */
  numberAt(accountLtKey: Buffer): number | null;
  message(key: Buffer): StoredMessage | null;
  block(key: Buffer): BlockRecord | null;
  /** Keys with the step in front of the blocks with this root or file hash, or with this id. */
  blockKeysByHash(hash: Hash): Buffer | null;
  blockKeyById(id: Buffer): Buffer | null;
  blocksOf(mcSeqno: number): BlockRecord[];
  /** Ids of the tops a masterchain block registers. */
  tops(mcSeqno: number): Buffer[];
  account(account: Buffer): StoredAccount | null;
  /** Hash of the account's code, null without code; undefined for an account that is not here. */
  codeHashOf(account: Buffer): Hash | null | undefined;
  accountData(account: Buffer): { hash: Hash; boc: Buffer } | null;
  code(hash: Hash): { methods: number[]; boc: Buffer } | null;
  methodsOf(hash: Hash): number[] | null;
  done(): void;
}

/** A snapshot of the tables; null when they are empty, or of another version. */
export function createView(tables: Tables): View | null {
  const transaction = tables.root.useReadTransaction();
  const reader = createReader(transaction);
  let open = true;
  const check = (): void => {
    if (!open) throw new Error('the view of the window has ended');
  };
  const read = (table: TableName, key: Buffer): Buffer | undefined => {
    check();
    return reader.get(tables[table], key);
  };
  const peek = (table: TableName, key: Buffer): Buffer | undefined => {
    check();
    return reader.peek(tables[table], key);
  };
  const done = (): void => {
    if (open) transaction.done();
    open = false;
  };
  const state = readWindowState(tables, transaction);
  if (state === null || state === 'unknown') {
    done();
    return null;
  }
  const range: View['range'] = (table, bounds) => entries(tables[table], transaction, bounds);
  const { first, head, below, globalId } = state;
  return {
    first,
    head,
    below,
    globalId,
    range,
    hasStep: (mcSeqno) => read('steps', u32Key(mcSeqno)) !== undefined,
    transaction(number) {
      const stored = read('transactions', numberKey(number));
      if (stored === undefined) throw new Error(`transaction ${number} is missing in the window`);
      return decodeStored(stored);
    },
    form: (number) => (tables.form && read('forms', numberKey(number))) ?? null,
    numberOf: (hash) => peek('transactionsByHash', hash)?.readUIntBE(0, 6) ?? null,
    numberAt: (key) => decoded(peek('transactionsByAccount', key), placeNumber),
    message: (key) => decoded(read('messages', key), (bytes) => decodeMessageEntry(key, bytes)),
    block: (key) => decoded(read('blocks', key), (bytes) => decodeBlockEntry(key, bytes)),
    blockKeysByHash: (hash) => read('blocksByHash', hash) ?? null,
    blockKeyById: (id) => decoded(read('blocksById', id), (step) => Buffer.concat([step, id])),
    blocksOf(mcSeqno) {
      const low = u32Key(mcSeqno);
      const found = range('blocks', { low, high: behindPrefix(low) });
      return Array.from(found, ({ key, value }) => decodeBlockEntry(key, value));
    },
    tops: (mcSeqno) => decoded(read('tops', u32Key(mcSeqno)), decodeTops) ?? [],
    account: (account) => decoded(read('accounts', account), decodeAccount),
    codeHashOf(account) {
      const found = peek('accounts', account);
      return found && codeHashOf(found);
    },
    accountData: (account) =>
      decoded(read('accountData', account), (bytes) => ({ hash: bytes.subarray(0, 32), boc: bytes.subarray(32) })),
    code: (hash) => decoded(read('codes', hash), decodeCode),
    methodsOf: (hash) => decoded(peek('codes', hash), decodeMethods),
    done,
  };
}

function decoded<T>(bytes: Buffer | undefined, decode: (bytes: Buffer) => T): T | null {
  return bytes === undefined ? null : decode(bytes);
}
