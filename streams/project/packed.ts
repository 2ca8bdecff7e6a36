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

/** A StoredAccount as one text: its lt, hash and state, then what is stored of its data, as far as there is any. */
export type PackedAccount = string;

const MAX_LT_DIGITS = 20;
/** Of the lengths of lt, lt of the data, and state. */
const LENGTHS = 6;
let scratch = Buffer.alloc(4096);

/** Through one Buffer: texts that are joined stay a tree of texts, each an object of its own. */
export function packAccount({ lt, hash, state, storedData }: StoredAccount): PackedAccount {
  const most = LENGTHS + 2 * (MAX_LT_DIGITS + HASH_BYTES) + state.length;
  if (scratch.length < most) scratch = Buffer.alloc(2 * most);
  const out = scratch;
  const dataLt = storedData?.lt ?? '';
  out[0] = lt.length;
  out[1] = dataLt.length;
  out.writeUInt32LE(state.length, 2);
  let at = LENGTHS + out.write(lt, LENGTHS, 'latin1');
  out.set(hash, at);
  out.set(state, at + HASH_BYTES);
  at += HASH_BYTES + state.length;
  if (storedData !== null) {
    at += out.write(dataLt, at, 'latin1');
    out.set(storedData.hash, at);
    at += HASH_BYTES;
  }
  return out.toString('latin1', 0, at);
}

export function unpackAccount(packed: PackedAccount): StoredAccount {
  const bytes = unpackBytes(packed);
  const hashAt = LENGTHS + bytes[0];
  const stateAt = hashAt + HASH_BYTES;
  const dataAt = stateAt + bytes.readUInt32LE(2);
  const dataHashAt = dataAt + bytes[1];
  return {
    lt: bytes.toString('latin1', LENGTHS, hashAt),
    hash: bytes.subarray(hashAt, stateAt),
    state: bytes.subarray(stateAt, dataAt),
    storedData:
      dataAt === bytes.length
        ? null
        : { hash: bytes.subarray(dataHashAt), lt: bytes.toString('latin1', dataAt, dataHashAt) },
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
  scratch.set(traceId);
  scratch.set(outTxHash, HASH_BYTES);
  if (externalHash !== null) scratch.set(externalHash, 2 * HASH_BYTES);
  const hashes = scratch.toString('latin1', 0, (externalHash === null ? 2 : 3) * HASH_BYTES);
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
