import { DecodeError } from '../../src/chain/errors.ts';
import { CellView } from '../../src/chain/layouts/cell-view.ts';
import { commentOf } from '../../src/chain/layouts/common.ts';
import type { Decimal, Hash, Message } from '../../src/chain/model.ts';
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
  const { createdLt, hash, source, destination, createdAt, opcode, bodyHash, value, init } = message;
  const { ihrDisabled, bounce, bounced, fwdFee, ihrFeeOrFlags, importFee } = message;
  const { sender, globalVersion } = facts;
  const norm = message.hashNorm();
  const here = { mcSeqno: transaction.mcSeqno, lt: transaction.lt, txHash: transaction.hash };
  const [sent, received] = index === 0 ? [sender, here] : [here, null];
  return {
    createdLt,
    hash,
    hashNorm: norm?.equals(hash) ? null : norm,
    source,
    destination,
    createdAt,
    opcode,
    bodyHash,
    value: value ?? '0',
    outMcSeqno: sent?.mcSeqno ?? 0,
    outLt: sent?.lt ?? '0',
    outTxHash: sent?.txHash ?? null,
    inMcSeqno: received?.mcSeqno ?? 0,
    inLt: received?.lt ?? '0',
    inTxHash: received?.txHash ?? null,
    globalVersion: Math.min(globalVersion, 255),
    get payload() {
      return serialize(transaction.boc, message.cell, { crc: false });
    },
    traceId: transaction.traceId,
    inNow: received === null ? 0 : transaction.now,
    ihrDisabled,
    bounce,
    bounced,
    fwdFee,
    ihrFeeOrFlags,
    importFee,
    initHash: init?.hash ?? null,
    get comment() {
      return opcode === COMMENT ? commentOf(CellView.parse(message.bodyBoc())) : null;
    },
    message,
    transaction,
    index,
    sender,
  };
}
