/**
 * Text forms of addresses, hashes and shards. Everything accepted and printed here follows TEP-2 (user-friendly
 * addresses) and the reading rules of the TON Center v3 API. Readers give null for text that is not of the kind.
 */
import { crc16 } from './crc.ts';
import type { Address, Hash, Shard } from './model.ts';

/** An address from its parts. `accountId`: 32 bytes. */
export function addressOf(workchain: number, accountId: Uint8Array): Address {
  const address = Buffer.allocUnsafe(36);
  address.writeUInt32BE((workchain ^ 0x80000000) >>> 0, 0);
  address.set(accountId.subarray(0, 32), 4);
  return address;
}

export function workchainOf(address: Address): number {
  return address.readUInt32BE(0) ^ 0x80000000;
}

/** Whether messages and the user-friendly form can name it: their workchain is one signed byte. */
export function isStandard(address: Address): boolean {
  const workchain = workchainOf(address);
  return workchain === (workchain << 24) >> 24;
}

const RAW = /^(-?\d{1,10}):([0-9a-fA-F]{64})$/;
const HEX_DIGITS = 64;
const HEX_VALUES = Int8Array.from({ length: 128 }, (_, code) =>
  '0123456789abcdef'.indexOf(String.fromCharCode(code).toLowerCase()),
);
const BASIC_LENGTH = 2 + HEX_DIGITS;
const FRIENDLY = /^[A-Za-z0-9+/_-]{48}$/;
const ZERO = 0x30;
const COLON = 0x3a;
const BOUNCEABLE_TAG = 0x11;
const NON_BOUNCEABLE_TAG = 0x51;
const TEST_FLAG = 0x80;

/** Reads the raw form in any letter case or the user-friendly form in either base64 alphabet. */
export function parseAddress(text: string): Address | null {
  if (text.length === 48) return parseFriendly(text);
  const basic = text.length === BASIC_LENGTH ? parseBasic(text) : null;
  if (basic !== null) return basic;
  const match = RAW.exec(text);
  if (match === null) return null;
  const workchain = Number(match[1]);
  if (workchain !== (workchain | 0)) return null;
  return addressOf(workchain, Buffer.from(match[2], 'hex'));
}

/** The raw form in the basic workchain, in half the time of an expression. Null for anything else. */
function parseBasic(text: string): Address | null {
  if (!text.startsWith('0:')) return null;
  const address = Buffer.allocUnsafe(36);
  address.writeUInt32BE(0x80000000, 0);
  for (let i = 0; i < 32; i++) {
    const byte = (digitAt(text, 2 + 2 * i) << 4) | digitAt(text, 3 + 2 * i);
    if (byte < 0) return null;
    address[4 + i] = byte;
  }
  return address;
}

/** The value of a hex digit; -1 where there is none. */
function digitAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < HEX_VALUES.length ? HEX_VALUES[code] : -1;
}

function parseFriendly(text: string): Address | null {
  if (!FRIENDLY.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  const tag = bytes[0] & ~TEST_FLAG;
  if (tag !== BOUNCEABLE_TAG && tag !== NON_BOUNCEABLE_TAG) return null;
  if (crc16(bytes.subarray(0, 34)) !== bytes.readUInt16BE(34)) return null;
  return addressOf(bytes.readInt8(1), bytes.subarray(2, 34));
}

const DIGITS = Buffer.from('0123456789ABCDEF');
const rawText = Buffer.alloc('-2147483648:'.length + HEX_DIGITS);

/**
 * `<workchain>:<64 upper-case hex digits>`, the printed form everywhere. In one Buffer: joined texts are put together
 * when they are first looked at, and what they were joined from stays with them.
 */
export function rawAddress(address: Address): string {
  const workchain = workchainOf(address);
  let at = 1;
  if (workchain === 0) rawText[0] = ZERO;
  else at = rawText.write(String(workchain), 'latin1');
  rawText[at++] = COLON;
  for (let i = 4; i < address.length; i++) {
    const byte = address[i];
    rawText[at++] = DIGITS[byte >> 4];
    rawText[at++] = DIGITS[byte & 15];
  }
  return rawText.toString('latin1', 0, at);
}

/** 48 characters of base64url. A workchain outside one signed byte is cut to its low byte, as the form has no room. */
export function friendlyAddress(address: Address, form: { bounceable: boolean; testOnly: boolean }): string {
  const bytes = Buffer.allocUnsafe(36);
  bytes[0] = (form.bounceable ? BOUNCEABLE_TAG : NON_BOUNCEABLE_TAG) | (form.testOnly ? TEST_FLAG : 0);
  bytes[1] = workchainOf(address) & 0xff;
  address.copy(bytes, 2, 4, 36);
  bytes.writeUInt16BE(crc16(bytes.subarray(0, 34)), 34);
  return bytes.toString('base64url');
}

const HEX_HASH = /^(?:0x)?([0-9a-fA-F]{64})$/;
const BASE64_HASH = /^(?:[A-Za-z0-9+/]{43}|[A-Za-z0-9_-]{43})=$/;

/** Reads 64 hex digits with or without `0x`, or padded base64 of either alphabet (not mixed). */
export function parseHash(text: string): Hash | null {
  if (text.length === 44) return BASE64_HASH.test(text) ? Buffer.from(text, 'base64') : null;
  const match = HEX_HASH.exec(text);
  return match === null ? null : Buffer.from(match[1], 'hex');
}

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;
const MAX_UINT64 = 2n ** 64n - 1n;

/** Reads unsigned hex with or without `0x`; what is not that is read as signed decimal of 64 bits. */
export function parseShard(text: string): Shard | null {
  const hex = /^(?:0[xX])?([0-9a-fA-F]+)$/.exec(text);
  if (hex !== null && hex[1].length <= 64) {
    const value = BigInt(`0x${hex[1]}`);
    if (value <= MAX_UINT64) return value.toString(16).padStart(16, '0');
  }
  if (!/^[+-]?\d{1,20}$/.test(text)) return null;
  const value = BigInt(text.replace('+', ''));
  if (value < MIN_INT64 || value > MAX_INT64) return null;
  return BigInt.asUintN(64, value).toString(16).padStart(16, '0');
}

/** Upper-case hex without leading zeros, as the API prints shards. */
export function shardText(shard: Shard): string {
  if (shard.charCodeAt(0) !== 48) return shard.toUpperCase();
  const digits = shard.replace(/^0+/, '');
  return digits === '' ? '0' : digits.toUpperCase();
}
