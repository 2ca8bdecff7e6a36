/** What contracts wait for and the log has never shown: named by the projector, asked by whoever has liteservers. */
import { LRUCache } from 'lru-cache';
import { atMost } from '../src/at-most.ts';
import { parseAddress, rawAddress } from '../src/chain/address.ts';
import type { Address, Hash } from '../src/chain/model.ts';
import { EnvelopeError } from './envelope.ts';
import type { EventLog, LogRecord, StoredRecord } from './log.ts';

const VERSION = '1';
const HASH = /^[0-9a-f]{64}$/;

/** An account, or a code by its hash. */
export interface Missing {
  /** The account; of a code one that has it, null where none is known. */
  account: Address | null;
  /** Of a code, or of what stands behind a library cell; null where the account itself is missing. */
  hash: Hash | null;
}

/** The log record of something missing: key the hash in hex, or the raw address. */
export function encodeMissing({ account, hash }: Missing): LogRecord {
  const headers: Record<string, string> = { v: VERSION };
  if (hash !== null && account !== null) headers.account = rawAddress(account);
  return { key: keyOf({ account, hash }), headers, value: Buffer.alloc(0) };
}

/** @throws {EnvelopeError} */
export function decodeMissing({ key, headers, offset }: StoredRecord, topic: string): Missing {
  const fail = (field: string, message: string): never => {
    throw new EnvelopeError(topic, offset, field, message);
  };
  if (headers.v !== VERSION) fail('v', `version ${headers.v ?? '(none)'} is not ${VERSION}`);
  const address = (field: string, text: string): Address =>
    parseAddress(text) ?? fail(field, `${text} is not an address`);
  if (!HASH.test(key)) return { account: address('key', key), hash: null };
  const { account } = headers;
  return { account: account === undefined ? null : address('account', account), hash: Buffer.from(key, 'hex') };
}

function keyOf({ account, hash }: Missing): string {
  if (hash !== null) return hash.toString('hex');
  if (account === null) throw new Error('something missing is an account or a hash');
  return rawAddress(account);
}

export interface MissingWriter {
  /** Remembers it for the next flush, unless it was named within the hour. */
  name(missing: Missing): void;
  /** Resolves when all that was named is on the topic. @throws {LogError} */
  flush(): Promise<void>;
}

/** Names remembered between two flushes; more are left out, and named again when their contract changes. */
const MOST_WAITING = 100_000;
const KNOWN = 200_000;
const KNOWN_MS = 3_600_000;
/** The topic keeps no more, whatever their age. */
const MOST_RECORDS = 65_536;
const RECORDS_PER_APPEND = 1_000;
const TRIM_EVERY = 4_096;

/** @param onEvent told of each name that goes to the topic, and of each that is left out */
export function createMissingWriter(
  log: EventLog,
  topic: string,
  onEvent: (event: 'named' | 'dropped') => void,
): MissingWriter {
  const known = new LRUCache<string, true>({ ...atMost(KNOWN), ttl: KNOWN_MS });
  const waiting = new Map<string, Missing>();
  let sinceTrim = TRIM_EVERY;

  async function append(some: readonly (readonly [string, Missing])[]): Promise<void> {
    const { last } = await log.append(
      topic,
      some.map(([, missing]) => encodeMissing(missing)),
    );
    for (const [key] of some) {
      known.set(key, true);
      waiting.delete(key);
      onEvent('named');
    }
    sinceTrim += some.length;
    if (sinceTrim < TRIM_EVERY) return;
    sinceTrim = 0;
    await log.trim(topic, Math.max(0, last + 1 - MOST_RECORDS));
  }

  return {
    name(missing) {
      const key = keyOf(missing);
      if (known.has(key) || waiting.has(key)) return;
      if (waiting.size >= MOST_WAITING) onEvent('dropped');
      else waiting.set(key, missing);
    },
    async flush() {
      if (waiting.size === 0) return;
      await log.ensureTopic(topic);
      const all = [...waiting];
      for (let i = 0; i < all.length; i += RECORDS_PER_APPEND) await append(all.slice(i, i + RECORDS_PER_APPEND));
    },
  };
}
