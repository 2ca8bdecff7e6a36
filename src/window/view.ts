import type { Transaction } from 'lmdb';
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
import { type Entry, entries, Reader, type TableName, type Tables } from './tables.ts';

/** The window at one moment. */
export interface View extends Pick<WindowState, 'first' | 'head' | 'below' | 'globalId'> {
  /** The same object as long as the window is the same. */
  readonly state: WindowState;
  range(table: TableName, bounds: { low: Buffer; high: Buffer | null; reverse?: boolean }): Iterable<Entry>;
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
  // The one that lmdb has may be a turn of the event loop old: another process may have told of a newer head meanwhile.
  tables.root.resetReadTxn();
  const transaction = tables.root.useReadTransaction();
  const state = readWindowState(tables, transaction);
  if (state !== null && state !== 'unknown') return new Snapshot(tables, transaction, state);
  transaction.done();
  return null;
}

/** A class, not a factory: every request makes one. */
class Snapshot implements View {
  readonly #tables: Tables;
  readonly #transaction: Transaction;
  readonly state: WindowState;
  readonly #reader: Reader;
  #open = true;

  constructor(tables: Tables, transaction: Transaction, state: WindowState) {
    this.#tables = tables;
    this.#transaction = transaction;
    this.state = state;
    this.#reader = new Reader(transaction);
  }

  get first(): number {
    return this.state.first;
  }
  get head(): number {
    return this.state.head;
  }
  get below() {
    return this.state.below;
  }
  get globalId(): number {
    return this.state.globalId;
  }

  done(): void {
    if (this.#open) this.#transaction.done();
    this.#open = false;
  }

  #check(): void {
    if (!this.#open) throw new Error('the view of the window has ended');
  }
  #read(table: TableName, key: Buffer): Buffer | undefined {
    this.#check();
    return this.#reader.get(this.#tables[table], key);
  }
  #peek(table: TableName, key: Buffer): Buffer | undefined {
    this.#check();
    return this.#reader.peek(this.#tables[table], key);
  }

  range(table: TableName, bounds: { low: Buffer; high: Buffer | null; reverse?: boolean }): Iterable<Entry> {
    return entries(this.#tables[table], this.#transaction, bounds);
  }
  transaction(number: number): TransactionRecord {
    const stored = this.#read('transactions', numberKey(number));
    if (stored === undefined) throw new Error(`transaction ${number} is missing in the window`);
    return decodeStored(stored);
  }
  form(number: number): Buffer | null {
    return this.#tables.form === null ? null : (this.#read('forms', numberKey(number)) ?? null);
  }
  numberOf(hash: Hash): number | null {
    return decoded(this.#peek('transactionsByHash', hash), placeNumber);
  }
  numberAt(accountLtKey: Buffer): number | null {
    return decoded(this.#peek('transactionsByAccount', accountLtKey), placeNumber);
  }
  message(key: Buffer): StoredMessage | null {
    const found = this.#read('messages', key);
    return found === undefined ? null : decodeMessageEntry(key, found);
  }
  block(key: Buffer): BlockRecord | null {
    const found = this.#read('blocks', key);
    return found === undefined ? null : decodeBlockEntry(key, found);
  }
  blockKeysByHash(hash: Hash): Buffer | null {
    return this.#read('blocksByHash', hash) ?? null;
  }
  blockKeyById(id: Buffer): Buffer | null {
    const step = this.#read('blocksById', id);
    return step === undefined ? null : Buffer.concat([step, id]);
  }
  blocksOf(mcSeqno: number): BlockRecord[] {
    const low = u32Key(mcSeqno);
    const found = this.range('blocks', { low, high: behindPrefix(low) });
    return Array.from(found, ({ key, value }) => decodeBlockEntry(key, value));
  }
  tops(mcSeqno: number): Buffer[] {
    return decoded(this.#read('tops', u32Key(mcSeqno)), decodeTops) ?? [];
  }
  account(account: Buffer): StoredAccount | null {
    return decoded(this.#read('accounts', account), decodeAccount);
  }
  codeHashOf(account: Buffer): Hash | null | undefined {
    const found = this.#peek('accounts', account);
    return found && codeHashOf(found);
  }
  accountData(account: Buffer): { hash: Hash; boc: Buffer } | null {
    const found = this.#read('accountData', account);
    return found === undefined ? null : { hash: found.subarray(0, 32), boc: found.subarray(32) };
  }
  code(hash: Hash): { methods: number[]; boc: Buffer } | null {
    return decoded(this.#read('codes', hash), decodeCode);
  }
  methodsOf(hash: Hash): number[] | null {
    return decoded(this.#peek('codes', hash), decodeMethods);
  }
}

function decoded<T>(bytes: Buffer | undefined, decode: (bytes: Buffer) => T): T | null {
  return bytes === undefined ? null : decode(bytes);
}
