import type { AccountStatus, ExtraCurrencies } from '../src/chain/model.ts';
import type { KnownState } from '../src/chain/records.ts';

/**
 * The `states` column of a transaction: what is known of its account before and after, packed.
 *
 * One byte says which sides follow (1 before, 2 after). A side is: a byte of status and presence flags, the balance as
 * length and decimal text (text because that is how it is printed), the hashes present, and the extra currencies as a
 * count and pairs of texts; a flag tells those that a node was asked for.
 */
/** By their numbers in the Enum8 columns. */
export const ACCOUNT_STATUSES: readonly AccountStatus[] = ['nonexist', 'uninit', 'active', 'frozen'];
const BEFORE = 1;
const AFTER = 2;
const FROZEN = 4;
const CODE = 8;
const DATA = 16;
const EXTRA = 32;
const LEARNED = 64;

/** What makes such a column of a state on its own, as that after. */
export const AFTER_ALONE = Buffer.from([AFTER]);

/** Number of an account status in the Enum8 columns. */
export function statusNumber(status: AccountStatus): number {
  return ACCOUNT_STATUSES.indexOf(status);
}

export function statusName(number: number): AccountStatus {
  const status = ACCOUNT_STATUSES[number];
  if (status === undefined) throw new Error(`account status ${number} is not known`);
  return status;
}

export function encodeStates(before: KnownState | null, after: KnownState | null): Buffer {
  const out = Buffer.allocUnsafe(1 + (before ? sizeOf(before) : 0) + (after ? sizeOf(after) : 0));
  out[0] = (before ? BEFORE : 0) | (after ? AFTER : 0);
  let at = 1;
  if (before) at = writeState(out, at, before);
  if (after) at = writeState(out, at, after);
  return out;
}

/** The same of a side before that is packed already, as {@link encodeState} did. */
export function joinStates(before: Buffer | null, after: KnownState | null): Buffer {
  const afterAt = 1 + (before?.length ?? 0);
  const out = Buffer.allocUnsafe(afterAt + (after ? sizeOf(after) : 0));
  out[0] = (before ? BEFORE : 0) | (after ? AFTER : 0);
  if (before) out.set(before, 1);
  if (after) writeState(out, afterAt, after);
  return out;
}

export function decodeStates(bytes: Buffer): { before: KnownState | null; after: KnownState | null } {
  const reader = { bytes, at: 1 };
  const sides = bytes[0];
  const before = sides & BEFORE ? readState(reader) : null;
  const after = sides & AFTER ? readState(reader) : null;
  return { before, after };
}

/** Whether the side before is among what is known. */
export function knowsBefore(states: Buffer): boolean {
  return (states[0] & BEFORE) !== 0;
}

/** Whether the side after is among what is known. */
export function knowsAfter(states: Buffer): boolean {
  return (states[0] & AFTER) !== 0;
}

/** One state on its own, as the projector's cache keeps it. */
export function encodeState(state: KnownState): Buffer {
  const out = Buffer.allocUnsafe(sizeOf(state));
  writeState(out, 0, state);
  return out;
}

export function decodeState(bytes: Buffer): KnownState {
  return readState({ bytes, at: 0 });
}

const NO_EXTRA: [string, string][] = [];

function extraOf({ extraCurrencies }: KnownState): [string, string][] {
  for (const _ in extraCurrencies) return Object.entries(extraCurrencies);
  return NO_EXTRA;
}

function sizeOf(state: KnownState): number {
  let size = 2 + state.balance.length;
  if (state.frozenHash) size += 32;
  if (state.codeHash) size += 32;
  if (state.dataHash) size += 32;
  const extra = extraOf(state);
  if (extra.length > 0) size += 2 + extra.reduce((sum, [id, amount]) => sum + 2 + id.length + amount.length, 0);
  return size;
}

function writeState(out: Buffer, start: number, state: KnownState): number {
  const extra = extraOf(state);
  out[start] =
    statusNumber(state.status) |
    (state.frozenHash ? FROZEN : 0) |
    (state.codeHash ? CODE : 0) |
    (state.dataHash ? DATA : 0) |
    (extra.length > 0 ? EXTRA : 0) |
    (state.learnedExtra ? LEARNED : 0);
  let at = writeText(out, start + 1, state.balance);
  if (state.frozenHash) at = writeHash(out, at, state.frozenHash);
  if (state.codeHash) at = writeHash(out, at, state.codeHash);
  if (state.dataHash) at = writeHash(out, at, state.dataHash);
  if (extra.length > 0) {
    at = out.writeUInt16LE(extra.length, at);
    for (const [id, amount] of extra) at = writeText(out, writeText(out, at, id), amount);
  }
  return at;
}

function writeHash(out: Buffer, at: number, hash: Buffer): number {
  out.set(hash, at);
  return at + hash.length;
}

function writeText(out: Buffer, at: number, text: string): number {
  out[at] = text.length;
  return at + 1 + out.write(text, at + 1, 'latin1');
}

interface Reader {
  bytes: Buffer;
  at: number;
}

function readState(reader: Reader): KnownState {
  const flags = reader.bytes[reader.at++];
  const balance = readText(reader);
  const frozenHash = flags & FROZEN ? readHash(reader) : null;
  const codeHash = flags & CODE ? readHash(reader) : null;
  const dataHash = flags & DATA ? readHash(reader) : null;
  const extraCurrencies: ExtraCurrencies = {};
  if (flags & EXTRA) {
    const count = reader.bytes.readUInt16LE(reader.at);
    reader.at += 2;
    for (let i = 0; i < count; i++) {
      const id = readText(reader);
      extraCurrencies[id] = readText(reader);
    }
  }
  const state = { status: statusName(flags & 3), balance, frozenHash, codeHash, dataHash, extraCurrencies };
  return flags & LEARNED ? { ...state, learnedExtra: extraCurrencies } : state;
}

function readText(reader: Reader): string {
  const end = reader.at + 1 + reader.bytes[reader.at];
  const text = reader.bytes.toString('latin1', reader.at + 1, end);
  reader.at = end;
  return text;
}

function readHash(reader: Reader): Buffer {
  const hash = reader.bytes.subarray(reader.at, reader.at + 32);
  reader.at += 32;
  return hash;
}
