import { NO_LT } from '../../clickhouse/queries/messages.ts';
import type { Message } from '../chain/model.ts';
import type { StoredMessage } from './entries.ts';
import { messageKey, NO_HASH, u32Key } from './keys.ts';
import type { TableName } from './tables.ts';

export function messageKeyOf({ createdLt, hash }: Pick<Message, 'createdLt' | 'hash'>): Buffer {
  return messageKey(createdLt ?? NO_LT, hash);
}

/** The keys a message is found by besides its own, each with the message's own key at its end or in it. */
export function messageIndexKeys(message: StoredMessage): [TableName, Buffer][] {
  const own = messageKey(message.createdLt, message.hash);
  const keys: [TableName, Buffer][] = [
    ['messagesByHash', Buffer.concat([message.hash, own])],
    ['messagesBySource', Buffer.concat([message.source, own])],
    ['messagesByDestination', Buffer.concat([message.destination, own])],
    ['messagesByBody', Buffer.concat([message.bodyHash, own])],
    ['messagesByTime', Buffer.concat([u32Key(message.createdAt), message.hash, own.subarray(0, 8)])],
  ];
  if (!message.hashNorm.equals(NO_HASH)) keys.push(['messagesByHash', Buffer.concat([message.hashNorm, own])]);
  return keys;
}

/** Of a key of `messagesByTime`, the message's own. */
export function ownKeyByTime(key: Buffer): Buffer {
  return Buffer.concat([key.subarray(36, 44), key.subarray(4, 36)]);
}

/** Of a key of the other indexes, the message's own, which is at its end. */
export function ownKeyAtEnd(key: Buffer): Buffer {
  return key.subarray(key.length - 40);
}
