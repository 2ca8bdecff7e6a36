import type { Decimal, Hash } from '../../src/chain/model.ts';

/*
 * How long-lived things are kept in memory: as Latin-1 text, a byte a character, in the engine's own heap. A small
 * Buffer costs some 200 bytes beside its content and keeps the 8 KiB block alive that Node cut it from: half a
 * million transactions projected with Buffers in the caches held 1.7 GB (`npm run bench:project`).
 */

const HASH_BYTES = 32;

/** The newest state of an account as the projector remembers it. */
export interface StoredAccount {
  lt: Decimal;
  hash: Hash;
  /** Packed KnownState. */
  state: Buffer;
  /** What table `account_data` holds of the account: the data's hash and its row's lt; null when it holds none. */
  storedData: { hash: Hash; lt: Decimal } | null;
}

/** What is remembered of a message that was sent and not yet received. */
export interface OpenMessage {
  traceId: Hash;
  /** Hash of the in-message of the trace's root; null when the root has none. */
  externalHash: Hash | null;
  outTxHash: Hash;
  outLt: string;
  outMcSeqno: number;
  globalVersion: number;
}

/** A StoredAccount: state hash and packed state, then the hash of the stored data and its lt. */
export interface PackedAccount {
  readonly lt: Decimal;
  readonly state: string;
  readonly data: string | null;
  readonly dataLt: Decimal | null;
}

export function packAccount({ lt, hash, state, storedData }: StoredAccount): PackedAccount {
  return {
    lt,
    state: packBytes(hash) + packBytes(state),
    data: storedData && packBytes(storedData.hash),
    dataLt: storedData?.lt ?? null,
  };
}

export function unpackAccount({ lt, state, data, dataLt }: PackedAccount): StoredAccount {
  const bytes = unpackBytes(state);
  return {
    lt,
    hash: bytes.subarray(0, HASH_BYTES),
    state: bytes.subarray(HASH_BYTES),
    storedData: data === null || dataLt === null ? null : { hash: unpackBytes(data), lt: dataLt },
  };
}

/** An OpenMessage: hashes of trace, sender's transaction and, where there is one, external message. */
export interface PackedMessage {
  readonly hashes: string;
  readonly outLt: Decimal;
  readonly outMcSeqno: number;
  readonly globalVersion: number;
}

export function packMessage(message: OpenMessage): PackedMessage {
  const { traceId, outTxHash, externalHash, outLt, outMcSeqno, globalVersion } = message;
  const hashes = packBytes(traceId) + packBytes(outTxHash) + (externalHash === null ? '' : packBytes(externalHash));
  return { hashes, outLt, outMcSeqno, globalVersion };
}

export function unpackMessage({ hashes, outLt, outMcSeqno, globalVersion }: PackedMessage): OpenMessage {
  const bytes = unpackBytes(hashes);
  const hash = (n: number): Buffer => bytes.subarray(n * HASH_BYTES, (n + 1) * HASH_BYTES);
  const externalHash = bytes.length > 2 * HASH_BYTES ? hash(2) : null;
  return { traceId: hash(0), outTxHash: hash(1), externalHash, outLt, outMcSeqno, globalVersion };
}

export const packBytes = (bytes: Buffer): string => bytes.toString('latin1');

export const unpackBytes = (text: string): Buffer => Buffer.from(text, 'latin1');
