/** Rows of listings that are shown by their forms: read and decoded no further than that. */
import type { Address, BlockId, Decimal, Hash, Message, Transaction } from '../chain/model.ts';
import type { KnownState, MessageRecord, TransactionRecord } from '../chain/records.ts';
import { LazyMessage, LazyTransaction } from '../chain/stored.ts';
import type { Candidate } from './candidate.ts';
import { transactionKind } from './kinds.ts';
import { type MessageRow, transactionOf } from './rows.ts';

/** A transaction by its place and its form; anything else of it is read while the view lasts. */
export function listedTransaction(row: Candidate, form: Buffer): TransactionRecord {
  return new ListedTransaction(row, form);
}

/** A message by its keys alone. */
export function keyedMessage(
  read: () => Message,
  row: MessageRow,
  ends: Pick<MessageRecord, 'inTxHash' | 'outTxHash'>,
): MessageRecord {
  return { message: new ListedMessage(read, row), globalVersion: row.globalVersion, ...ends };
}

/** A message by its keys and the form of a transaction that shows it; the rest is read while the view lasts. */
export function listedMessage(
  read: () => Message,
  row: MessageRow,
  ends: Pick<MessageRecord, 'inTxHash' | 'outTxHash'>,
  transaction: Buffer,
): MessageRecord {
  const message = new ListedMessage(read, row);
  return { message, globalVersion: row.globalVersion, ...ends, form: { transaction, index: row.index } };
}

/** Classes, not factories: no closures are made for each row of a page. */
class ListedTransaction implements TransactionRecord {
  readonly form: Buffer;
  readonly #row: Candidate;
  #record: TransactionRecord | null = null;

  constructor(row: Candidate, form: Buffer) {
    this.form = form;
    this.#row = row;
  }

  get #whole(): TransactionRecord {
    this.#record ??= transactionOf(this.#row.id, this.#row.row);
    return this.#record;
  }

  get transaction(): Transaction {
    return this.#record?.transaction ?? new PlacedTransaction(this.#row, () => this.#whole.transaction);
  }
  get mcSeqno(): number {
    return this.#row.mcSeqno;
  }
  get block(): BlockId {
    return this.#whole.block;
  }
  get traceId(): Hash | null {
    return this.#whole.traceId;
  }
  get externalHash(): Hash | null {
    return this.#whole.externalHash;
  }
  get globalVersion(): number {
    return this.#whole.globalVersion;
  }
  get before(): KnownState | null {
    return this.#whole.before;
  }
  get after(): KnownState | null {
    return this.#whole.after;
  }
}

class PlacedTransaction extends LazyTransaction {
  readonly #row: Candidate;
  readonly #read: () => Transaction;

  constructor(row: Candidate, read: () => Transaction) {
    super();
    this.#row = row;
    this.#read = read;
  }

  protected get whole(): Transaction {
    return this.#read();
  }

  get account(): Address {
    return this.#row.value(transactionKind, 'account');
  }
  get lt(): Decimal {
    return this.#row.value(transactionKind, 'lt');
  }
  get now(): number {
    return this.#row.value(transactionKind, 'now');
  }
}

class ListedMessage extends LazyMessage {
  readonly #read: () => Message;
  readonly #row: MessageRow;

  constructor(read: () => Message, row: MessageRow) {
    super();
    this.#read = read;
    this.#row = row;
  }

  protected get whole(): Message {
    return this.#read();
  }

  get hash(): Hash {
    return this.#row.hash;
  }
  get source(): Address | null {
    return this.#row.source;
  }
  get destination(): Address | null {
    return this.#row.destination;
  }
  override get createdLt(): Decimal | null {
    return this.#row.createdLt;
  }
  override get createdAt(): number | null {
    return this.#row.createdAt;
  }
  override get opcode(): number | null {
    return this.#row.opcode;
  }
  override get bodyHash(): Hash {
    return this.#row.bodyHash;
  }
}
