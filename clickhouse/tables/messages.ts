import { DecodeError } from '../../src/chain/errors.ts';
import { CellView } from '../../src/chain/layouts/cell-view.ts';
import { commentOf } from '../../src/chain/layouts/common.ts';
import { plainText } from '../../src/chain/layouts/texts.ts';
import { bodyCursor } from '../../src/chain/message.ts';
import type { Address, Decimal, Hash, Message } from '../../src/chain/model.ts';
import { serialize } from '../../src/chain/serialize.ts';
import {
  addressOrNone,
  bool,
  bytes,
  type Column,
  hash,
  hashOrNone,
  ltOrNone,
  nullable,
  text,
  timeOrNone,
  u8,
  u16,
  u32,
  u64,
  u128,
} from './columns.ts';
import { type RowOf, table } from './table.ts';
import { type TransactionRow, transactions } from './transactions.ts';

const columns = {
  createdLt: ltOrNone,
  hash,
  /** Null where it is the hash itself. */
  hashNorm: hashOrNone,
  source: addressOrNone,
  destination: addressOrNone,
  createdAt: timeOrNone,
  opcode: nullable(u32),
  bodyHash: hash,
  value: u128,
  outMcSeqno: u32,
  outLt: u64,
  outTxHash: hashOrNone,
  inMcSeqno: u32,
  inLt: u64,
  inTxHash: hashOrNone,
  globalVersion: u8,
  /** The message as a bag of its own. */
  payload: bytes,
  traceId: hash,
  /** Time of the transaction that received it. */
  inNow: u32,
  ihrDisabled: nullable(bool),
  bounce: nullable(bool),
  bounced: nullable(bool),
  fwdFee: nullable(u128),
  /** From global version 12 on the slot holds flags. */
  ihrFeeOrFlags: nullable(u128),
  importFee: nullable(u128),
  initHash: hashOrNone,
  /** Of a body that is a plain comment. */
  comment: nullable(text),
};

/** The transaction on one side of a message. */
export interface MessageSide {
  mcSeqno: number;
  lt: Decimal;
  txHash: Hash;
}

const side: Column<MessageSide> = {
  type: 'Tuple(UInt32, UInt64, FixedString(32))',
  write(out, { mcSeqno, lt, txHash }) {
    u32.write(out, mcSeqno);
    u64.write(out, lt);
    hash.write(out, txHash);
  },
  read: (rows) => ({ mcSeqno: u32.read(rows), lt: u64.read(rows), txHash: hash.read(rows) }),
  literal: ({ mcSeqno, lt, txHash }) => `(${[u32.literal(mcSeqno), u64.literal(lt), hash.literal(txHash)].join(', ')})`,
};

/** A row, and what those know who make it or read it in a step. */
export interface MessageRow extends RowOf<typeof columns> {
  message: Message;
  /** The transaction that shows it: the one that received it, or, not received yet, the one that sent it. */
  transaction: TransactionRow;
  /** 0 where it is the in-message of that, else from 1 on by the order of the out-messages. */
  index: number;
  /** The transaction that sent a message that was received, where that is known. */
  sender: MessageSide | null;
}

/**
 * One row a message once merged: written when it is seen leaving, again (with both sides) when it is received. A side
 * not seen has sequence number 0. Messages without `created_lt` and `created_at` (external-in) are greatest.
 */
export const messages = table({
  name: 'messages',
  columns,
  kind: 'newest',
  key: ['createdLt', 'hash'],
  version: 'inMcSeqno',
  steps: ['outMcSeqno', 'inMcSeqno'],
  clock: 'createdLt',
  indexes: [
    {
      name: 'messages_by_hash',
      each: { as: 'key', of: ['hash', 'hashNorm'] },
      key: ['key', 'createdLt', 'hash'],
      also: [],
    },
    {
      name: 'messages_by_source',
      key: ['source', 'createdLt', 'hash'],
      also: ['destination', 'createdAt', 'opcode', 'outMcSeqno', 'inMcSeqno'],
    },
    {
      name: 'messages_by_destination',
      key: ['destination', 'createdLt', 'hash'],
      also: ['source', 'createdAt', 'opcode', 'outMcSeqno', 'inMcSeqno'],
    },
    {
      name: 'messages_by_body',
      key: ['bodyHash', 'createdLt', 'hash'],
      also: ['createdAt', 'opcode', 'outMcSeqno', 'inMcSeqno'],
    },
    {
      name: 'messages_by_time',
      key: ['createdAt', 'hash'],
      also: ['createdLt', 'opcode', 'outMcSeqno', 'inMcSeqno'],
    },
  ],
  inStatus: true,
  // It is in the transaction that shows it, which is one of its sides.
  carried: {
    columns: { transaction: u32, index: u16, globalVersion: u8, sender: nullable(side) },
    pack: ({ transaction, index, globalVersion, sender }: MessageRow) => ({
      transaction: transaction.at,
      index,
      globalVersion,
      sender,
    }),
    unpack(packed, step): MessageRow {
      const transaction = step.of(transactions).at(packed.transaction);
      if (!transaction) throw new DecodeError(`the step has no transaction ${packed.transaction}`, 'messages');
      return messageRow(transaction, packed.index, packed);
    },
  },
});

/** Opcode of plain comments. */
const COMMENT = 0;
const COMMENT_BITS = 32;

/** What a transaction does not tell of its messages. */
export interface MessageFacts {
  /** Of the block that sent it, or that received it where the sender is not known. */
  globalVersion: number;
  sender: MessageSide | null;
}

/**
 * The row of a message that a transaction received (index 0) or sent. Payload and comment are made when they are asked
 * for: most rows of messages that were only sent are replaced before.
 */
export function messageRow(transaction: TransactionRow, index: number, facts: MessageFacts): MessageRow {
  const { inMsg, outMsgs } = transaction.transaction;
  const message = index === 0 ? inMsg : outMsgs[index - 1];
  if (!message)
    throw new DecodeError(`transaction ${transaction.hash.toString('hex')} has no message ${index}`, 'message');
  return new ShownMessage(message, transaction, index, facts);
}

/** A class, not a literal: of one with getters the engine makes the hidden class anew each time, in its runtime. */
class ShownMessage implements MessageRow {
  readonly createdLt: Decimal | null;
  readonly hash: Hash;
  readonly hashNorm: Hash | null;
  readonly source: Address | null;
  readonly destination: Address | null;
  readonly createdAt: number | null;
  readonly opcode: number | null;
  readonly bodyHash: Hash;
  readonly value: Decimal;
  readonly outMcSeqno: number;
  readonly outLt: Decimal;
  readonly outTxHash: Hash | null;
  readonly inMcSeqno: number;
  readonly inLt: Decimal;
  readonly inTxHash: Hash | null;
  readonly globalVersion: number;
  readonly traceId: Hash;
  readonly inNow: number;
  readonly ihrDisabled: boolean | null;
  readonly bounce: boolean | null;
  readonly bounced: boolean | null;
  readonly fwdFee: Decimal | null;
  readonly ihrFeeOrFlags: Decimal | null;
  readonly importFee: Decimal | null;
  readonly initHash: Hash | null;
  readonly message: Message;
  readonly transaction: TransactionRow;
  readonly index: number;
  readonly sender: MessageSide | null;

  constructor(message: Message, transaction: TransactionRow, index: number, { sender, globalVersion }: MessageFacts) {
    const { hash } = message;
    const norm = message.hashNorm();
    const isReceived = index === 0;
    const { mcSeqno, lt, hash: txHash } = transaction;
    this.createdLt = message.createdLt;
    this.hash = hash;
    this.hashNorm = norm?.equals(hash) ? null : norm;
    this.source = message.source;
    this.destination = message.destination;
    this.createdAt = message.createdAt;
    this.opcode = message.opcode;
    this.bodyHash = message.bodyHash;
    this.value = message.value ?? '0';
    this.outMcSeqno = isReceived ? (sender?.mcSeqno ?? 0) : mcSeqno;
    this.outLt = isReceived ? (sender?.lt ?? '0') : lt;
    this.outTxHash = isReceived ? (sender?.txHash ?? null) : txHash;
    this.inMcSeqno = isReceived ? mcSeqno : 0;
    this.inLt = isReceived ? lt : '0';
    this.inTxHash = isReceived ? txHash : null;
    this.globalVersion = Math.min(globalVersion, 255);
    this.traceId = transaction.traceId;
    this.inNow = isReceived ? transaction.now : 0;
    this.ihrDisabled = message.ihrDisabled;
    this.bounce = message.bounce;
    this.bounced = message.bounced;
    this.fwdFee = message.fwdFee;
    this.ihrFeeOrFlags = message.ihrFeeOrFlags;
    this.importFee = message.importFee;
    this.initHash = message.init?.hash ?? null;
    this.message = message;
    this.transaction = transaction;
    this.index = index;
    this.sender = sender;
  }

  get payload(): Buffer {
    return serialize(this.transaction.boc, this.message.cell, { crc: false });
  }

  get comment(): string | null {
    if (this.opcode !== COMMENT) return null;
    const body = bodyCursor(this.message);
    // Opening a bag of its own for a short text was one allocation in twenty.
    if (body === null || body.refsLeft > 0) return commentOf(CellView.parse(this.message.bodyBoc()));
    body.skip(COMMENT_BITS);
    return plainText(body);
  }
}
