import type { Decimal, Hash, Message } from '../../src/chain/model.ts';
import {
  addressOrNone,
  bytes,
  hash,
  hashOrNone,
  ltOrNone,
  nullable,
  timeOrNone,
  u8,
  u32,
  u64,
  u128,
} from './columns.ts';
import { type Row, table } from './table.ts';

/**
 * One row a message once merged: written when it is seen leaving, again (with both sides) when it is received. A side
 * not seen has sequence number 0. Messages without `created_lt` and `created_at` (external-in) are greatest.
 */
export const messages = table({
  name: 'messages',
  columns: {
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
  },
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
});

/** The transaction on one side of a message. */
export interface MessageSide {
  mcSeqno: number;
  lt: Decimal;
  txHash: Hash;
}

/** The two sides of a message; a side not seen is null. */
export interface MessageFacts {
  sent: MessageSide | null;
  received: MessageSide | null;
  /** Of the block that sent it, or that received it where the sender is not known. */
  globalVersion: number;
  payload: () => Buffer;
}

export type MessageRow = Row<typeof messages>;

/** The payload is made when it is asked for: most rows of messages that were only sent are replaced before. */
export function messageRow(message: Message, { sent, received, globalVersion, payload }: MessageFacts): MessageRow {
  const { createdLt, hash, source, destination, createdAt, opcode, bodyHash, value } = message;
  const norm = message.hashNorm();
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
      return payload();
    },
  };
}
