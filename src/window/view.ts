import type { Hash } from '../chain/model.ts';
import type { BlockRecord, TransactionRecord } from '../chain/records.ts';
import {
  decodeAccount,
  decodeBlockEntry,
  decodeCode,
  decodeMessageEntry,
  decodePlace,
  decodeStored,
  decodeTops,
  type Place,
  type StoredAccount,
  type StoredMessage,
} from './entries.ts';
import { behindPrefix, numberKey, u32Key } from './keys.ts';
import { decodeWindowState, STATE_KEY, type WindowState } from './state.ts';
import { type Entry, entries, type TableName, type Tables } from './tables.ts';

/** The window at one moment. */
export interface View extends Pick<WindowState, 'first' | 'head' | 'below' | 'globalId'> {
  range(table: TableName, bounds: { low: Buffer; high: Buffer | null; reverse?: boolean }): Iterable<Entry>;
  hasStep(mcSeqno: number): boolean;
  transaction(number: number): TransactionRecord;
  numberOf(hash: Hash): number | null;
  placeOf(accountLtKey: Buffer): Place | null;
  message(key: Buffer): StoredMessage | null;
  block(key: Buffer): BlockRecord | null;
  /** Keys with the step in front of the blocks with this root or file hash, or with this id. */
  blockKeysByHash(hash: Hash): Buffer | null;
  blockKeyById(id: Buffer): Buffer | null;
  blocksOf(mcSeqno: number): BlockRecord[];
  /** Ids of the tops a masterchain block registers. */
  tops(mcSeqno: number): Buffer[];
  account(account: Buffer): StoredAccount | null;
  accountData(account: Buffer): { hash: Hash; boc: Buffer } | null;
  code(hash: Hash): { methods: number[]; boc: Buffer } | null;
  done(): void;
}

/** A snapshot of the tables; null when they are empty, or of another version. */
export function createView(tables: Tables): View | null {
  const transaction = tables.root.useReadTransaction();
  const read = (table: TableName, key: Buffer): Buffer | undefined => tables[table].get(key, { transaction });
  let open = true;
  const done = (): void => {
    if (open) transaction.done();
    open = false;
  };
  const state = decodeWindowState(tables.meta.get(STATE_KEY, { transaction }));
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
    numberOf: (hash) => read('transactionsByHash', hash)?.readUIntBE(0, 6) ?? null,
    placeOf: (key) => decoded(read('transactionsByAccount', key), decodePlace),
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
    accountData: (account) =>
      decoded(read('accountData', account), (bytes) => ({ hash: bytes.subarray(0, 32), boc: bytes.subarray(32) })),
    code: (hash) => decoded(read('codes', hash), decodeCode),
    done,
  };
}

function decoded<T>(bytes: Buffer | undefined, decode: (bytes: Buffer) => T): T | null {
  return bytes === undefined ? null : decode(bytes);
}
