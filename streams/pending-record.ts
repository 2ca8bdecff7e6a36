import { DecodeError } from '../src/chain/errors.ts';
import { type ExternalMessage, readExternalMessage } from '../src/chain/external-message.ts';
import type { Hash } from '../src/chain/model.ts';
import { EnvelopeError } from './envelope.ts';
import type { LogRecord, StoredRecord } from './log.ts';

const VERSION = '1';

/** An external message that a liteserver has taken, sent through a host of ours. */
export interface PendingMessage extends ExternalMessage {
  /** The bag of cells as it was sent. */
  boc: Buffer;
}

export interface StoredPendingMessage extends PendingMessage {
  offset: number;
  /** Unix milliseconds of the append. */
  time: number;
}

/** The log record of a message: key its normalised hash in hex, which names what follows from it; `h` its own hash. */
export function encodePendingRecord({ hash, hashNorm, boc }: PendingMessage): LogRecord {
  return { key: hashNorm.toString('hex'), headers: { v: VERSION, h: hash.toString('hex') }, value: boc };
}

/**
 * The message of a record, its hashes those of the bytes.
 * @throws {EnvelopeError}
 */
export function decodePendingRecord(record: StoredRecord, topic: string): StoredPendingMessage {
  const { headers, key, value: boc, offset, time } = record;
  const fail = (field: string, message: string): never => {
    throw new EnvelopeError(topic, offset, field, message);
  };
  if (headers.v !== VERSION) fail('v', `version ${headers.v ?? '(none)'} is not ${VERSION}`);
  const message = read(boc, fail);
  if (message.hashNorm.toString('hex') !== key) fail('key', 'not the normalised hash of the message');
  if (message.hash.toString('hex') !== headers.h) fail('h', 'not the hash of the message');
  return { ...message, boc, offset, time };
}

const HEX_HASH = /^[0-9a-f]{64}$/;

/**
 * The message's own hash and its normalised one as its record names them, without reading the message.
 * @throws {EnvelopeError}
 */
export function readPendingKeys({ headers, key, offset }: StoredRecord, topic: string): [hash: Hash, hashNorm: Hash] {
  if (headers.v !== VERSION)
    throw new EnvelopeError(topic, offset, 'v', `version ${headers.v ?? '(none)'} is not ${VERSION}`);
  for (const [field, hex] of [
    ['h', headers.h],
    ['key', key],
  ] as const) {
    if (!HEX_HASH.test(hex ?? '')) throw new EnvelopeError(topic, offset, field, 'not a hash in hex');
  }
  return [Buffer.from(headers.h, 'hex'), Buffer.from(key, 'hex')];
}

function read(boc: Buffer, fail: (field: string, message: string) => never): ExternalMessage {
  try {
    return readExternalMessage(boc);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return fail('value', error.message);
  }
}
