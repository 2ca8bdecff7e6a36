/** Documents that the content of tokens names (TEP-64), as they were fetched: events of a topic of their own. */
import { z } from 'zod';
import { uriHash } from '../src/chain/contracts/content.ts';
import type { Hash } from '../src/chain/model.ts';
import { EnvelopeError } from './envelope.ts';
import type { LogRecord, StoredRecord } from './log.ts';

const VERSION = '1';
/** More are not told apart. */
const MOST_FAILURES = 255;

export interface Document {
  uri: string;
  /** Its members; null where there is no such document: nobody has it, or it is none. */
  content: Readonly<Record<string, unknown>> | null;
  /** Unix seconds. */
  fetchedAt: number;
  /** Attempts since it was there last; `content` is what was there then. */
  failures: number;
}

export interface StoredDocument extends Document {
  uriHash: Hash;
  offset: number;
}

const value = z.object({ uri: z.string(), content: z.record(z.string(), z.unknown()).nullable() });

/** The log record of a document: key the hash of its URI in hex, value JSON. */
export function encodeDocument({ uri, content, fetchedAt, failures }: Document): LogRecord {
  const headers: Record<string, string> = { v: VERSION, at: String(fetchedAt) };
  if (failures > 0) headers.failures = String(Math.min(failures, MOST_FAILURES));
  return { key: uriHash(uri).toString('hex'), headers, value: Buffer.from(JSON.stringify({ uri, content })) };
}

/** @throws {EnvelopeError} */
export function decodeDocument({ key, headers, value: bytes, offset }: StoredRecord, topic: string): StoredDocument {
  const fail = (field: string, message: string): never => {
    throw new EnvelopeError(topic, offset, field, message);
  };
  if (headers.v !== VERSION) fail('v', `version ${headers.v ?? '(none)'} is not ${VERSION}`);
  if (!/^\d{1,10}$/.test(headers.at ?? '')) fail('at', `${headers.at ?? '(none)'} is no time`);
  const { failures = '0' } = headers;
  if (!/^\d{1,3}$/.test(failures) || Number(failures) > MOST_FAILURES) fail('failures', `${failures} is no such count`);
  let read: z.output<typeof value>;
  try {
    read = value.parse(JSON.parse(bytes.toString('utf8')));
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof z.ZodError)) throw error;
    return fail('value', error.message);
  }
  const named = uriHash(read.uri);
  if (named.toString('hex') !== key) fail('key', 'not the hash of the URI');
  return { ...read, uriHash: named, fetchedAt: Number(headers.at), failures: Number(failures), offset };
}
