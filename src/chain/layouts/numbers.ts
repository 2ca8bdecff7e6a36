/** Integers, amounts, flags and bit strings. */
import type { Cursor } from '../cursor.ts';
import type { Decimal } from '../model.ts';
import type { Chance, Codec } from './codec.ts';

/** `uintN` of up to 48 bits as a number. */
export function uint(bits: number): Codec<number> {
  return {
    read: (cursor) => cursor.u(bits),
    write: (builder, value) => builder.u(value, bits),
    print: (cursor) => `"${cursor.u(bits)}"`,
    sample: (chance) => Number(sampleBits(chance, bits)),
  };
}

/** `intN` of up to 32 bits as a number. */
export function int(bits: number): Codec<number> {
  return {
    read: (cursor) => cursor.i(bits),
    write: (builder, value) => builder.i(value, bits),
    print: (cursor) => `"${cursor.i(bits)}"`,
    sample: (chance) => Number(BigInt.asIntN(bits, sampleBits(chance, bits))),
  };
}

/** `uintN` of any width as decimal text. */
export function bigUint(bits: number): Codec<Decimal> {
  return {
    read: (cursor) => unsignedText(cursor, bits),
    write: (builder, value) => builder.big(BigInt(value), bits),
    print: (cursor) => `"${unsignedText(cursor, bits)}"`,
    sample: (chance) => sampleBits(chance, bits).toString(),
  };
}

/** `intN` of any width as decimal text. */
export function bigInt(bits: number): Codec<string> {
  const read = (cursor: Cursor): string => {
    if (cursor.bitsLeft >= bits && bits === 64 && isSmall(cursor)) return cursor.dec(64);
    return BigInt.asIntN(bits, BigInt(unsignedText(cursor, bits))).toString();
  };
  return {
    read,
    write: (builder, value) => {
      const number = BigInt(value);
      if (BigInt.asIntN(bits, number) !== number) throw new RangeError(`${value} is no integer of ${bits} bits`);
      builder.big(BigInt.asUintN(bits, number), bits);
    },
    print: (cursor) => `"${read(cursor)}"`,
    sample: (chance) => BigInt.asIntN(bits, sampleBits(chance, bits)).toString(),
  };
}

/** A number of so many bits: small ones, all ones and any others about as often. */
function sampleBits(chance: Chance, bits: number): bigint {
  const any = BigInt(`0x0${chance.bytes((bits + 7) >> 3).toString('hex')}`);
  const kind = chance.below(3);
  return BigInt.asUintN(bits, kind === 0 ? any & 3n : kind === 1 ? -1n : any);
}

/** Whether the next 64 bits are below 2^53 as they are: no sign, nothing to ask BigInt for. */
function isSmall(cursor: Cursor): boolean {
  const high = cursor.u(11);
  cursor.at -= 11;
  return high === 0;
}

function unsignedText(cursor: Cursor, bits: number): Decimal {
  if (bits <= 64) return cursor.dec(bits);
  const lead = bits & 7;
  const first = cursor.u(lead);
  return BigInt(`0x${first.toString(16)}${cursor.bytes(bits >> 3).toString('hex')}`).toString();
}

/** `Bool` and `uint1`: printed as JSON booleans. */
export const bool: Codec<boolean> = {
  read: (cursor) => cursor.bit(),
  write: (builder, value) => builder.bit(value),
  print: (cursor) => (cursor.bit() ? 'true' : 'false'),
  sample: (chance) => chance.below(2) === 1,
};

/** `(## 1)`: a bit printed as a number. */
export const bit: Codec<number> = uint(1);

const HEX_DIGIT = 4;

/** `bitsN` as whole bytes, left-aligned and padded with zeros. */
export function bits(count: number): Codec<Buffer> {
  return {
    read: (cursor) => bitString(cursor, count),
    write: (builder, value) => {
      for (let at = 0; at < count; at += 8) {
        const n = Math.min(8, count - at);
        builder.u(value[at >> 3] >> (8 - n), n);
      }
    },
    print: (cursor) => `"${bitHex(cursor, count)}"`,
    sample(chance) {
      const value = chance.bytes((count + 7) >> 3);
      if (count & 7) value[count >> 3] &= 0xff00 >> (count & 7);
      return value;
    },
  };
}

function bitString(cursor: Cursor, count: number): Buffer {
  if ((count & 7) === 0) return cursor.bytes(count >> 3);
  const whole = cursor.bytes(count >> 3);
  const tail = count & 7;
  return Buffer.concat([whole, Buffer.from([cursor.u(tail) << (8 - tail)])]);
}

/** Upper-case hex; a last digit that is incomplete carries the completion tag and a `_` behind it. */
export function bitHex(cursor: Cursor, count: number): string {
  const whole = cursor
    .bytes(count >> 3)
    .toString('hex')
    .toUpperCase();
  const tail = count & 7;
  if (tail === 0) return whole;
  const value = cursor.u(tail);
  if (tail === HEX_DIGIT) return whole + value.toString(16).toUpperCase();
  const size = tail < HEX_DIGIT ? HEX_DIGIT : 8;
  const tagged = ((value << 1) | 1) << (size - tail - 1);
  return `${whole}${tagged
    .toString(16)
    .toUpperCase()
    .padStart(size / HEX_DIGIT, '0')}_`;
}

/** `VarUInteger` with a length field of `lengthBits` bits (4: VarUInteger 16) as decimal text. */
export function varUint(lengthBits: number): Codec<Decimal> {
  return {
    read: (cursor) => cursor.varUint(lengthBits),
    write: (builder, value) => builder.varUint(BigInt(value), lengthBits),
    print: (cursor) => printVarUint(cursor, lengthBits),
    sample: (chance) => sampleBits(chance, 8 * chance.below(2 ** lengthBits)).toString(),
  };
}

function printVarUint(cursor: Cursor, lengthBits: number): string {
  const size = cursor.u(lengthBits);
  return `{"@type":"var_uint","len":"${size}","value":"${size === 0 ? '0' : unsignedText(cursor, size * 8)}"}`;
}

/** `VarUInteger 16`: the amounts of TEP-74 and TEP-62. */
export const amount = varUint(4);

/** `Coins` and `Grams` are the same number under two names. */
function named(name: 'nanocoins' | 'nanograms'): Codec<Decimal> {
  return {
    ...amount,
    print: (cursor) => `{"@type":"${name}","amount":${printVarUint(cursor, 4)}}`,
  };
}

export const coins = named('nanocoins');
export const grams = named('nanograms');

export const u8 = uint(8);
export const u16 = uint(16);
export const u32 = uint(32);
export const u64 = bigUint(64);
export const u128 = bigUint(128);
export const u256 = bigUint(256);
export const i64 = bigInt(64);
export const bits256 = bits(256);
export const bits512 = bits(512);
