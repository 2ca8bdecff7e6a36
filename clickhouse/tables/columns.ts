/** The types that columns have: in SQL, in RowBinary, in the service, and in keys that sort. */
import { compareDecimal } from '../../src/chain/decimal.ts';
import type { AccountStatus, Address, Decimal, Hash, Shard } from '../../src/chain/model.ts';
import {
  bytes as bytesLiteral,
  i32 as i32Literal,
  textLiteral,
  u32 as u32Literal,
  u64 as u64Literal,
  u256 as u256Literal,
} from '../literal.ts';
import type { RowReader, RowWriter } from '../rowbinary.ts';
import { ACCOUNT_STATUSES, statusName, statusNumber } from '../states.ts';

export interface Column<T> {
  /** As in CREATE TABLE. */
  readonly type: string;
  write(out: RowWriter, value: T): void;
  read(rows: RowReader): T;
  /** As a literal of SQL. */
  literal(value: T): string;
  /** The literal that stands for null in a column that is not Nullable. */
  readonly none?: string;
  /** Bytes that sort as ClickHouse sorts the column; absent where no key has it. */
  readonly order?: Ordered<T>;
}

/** A value in a key: always as many bytes, which compare as the values do. */
export interface Ordered<T> {
  readonly bytes: number;
  put(out: Buffer, at: number, value: T): void;
  get(key: Buffer, at: number): T;
  compare(a: T, b: T): number;
}

/** Stands for "none" in `created_lt` and `created_at`: sorts after every real value. */
export const NO_LT = '18446744073709551615';
export const NO_TIME = 0xffff_ffff;

export const u8: Column<number> = {
  type: 'UInt8',
  write: (out, value) => out.u8(value),
  read: (rows) => rows.u8(),
  literal: u32Literal,
};

export const i8: Column<number> = {
  type: 'Int8',
  write: (out, value) => out.i8(value),
  read: (rows) => rows.i8(),
  literal: i32Literal,
};

export const u16: Column<number> = {
  type: 'UInt16',
  write: (out, value) => out.u16(value),
  read: (rows) => rows.u16(),
  literal: u32Literal,
};

export const u32: Column<number> & { order: Ordered<number> } = {
  type: 'UInt32',
  write: (out, value) => out.u32(value),
  read: (rows) => rows.u32(),
  literal: u32Literal,
  order: {
    bytes: 4,
    put: (out, at, value) => out.writeUInt32BE(value, at),
    get: (key, at) => key.readUInt32BE(at),
    compare: (a, b) => a - b,
  },
};

/** With the sign bit flipped where it is a key. */
export const i32: Column<number> = {
  type: 'Int32',
  write: (out, value) => out.i32(value),
  read: (rows) => rows.i32(),
  literal: i32Literal,
  order: {
    bytes: 4,
    put: (out, at, value) => out.writeUInt32BE(value + 0x8000_0000, at),
    get: (key, at) => key.readUInt32BE(at) - 0x8000_0000,
    compare: (a, b) => a - b,
  },
};

export const u64: Column<Decimal> & { order: Ordered<Decimal> } = {
  type: 'UInt64',
  write: (out, value) => out.u64(value),
  read: (rows) => rows.u64(),
  literal: u64Literal,
  order: {
    bytes: 8,
    put: (out, at, value) => out.writeBigUInt64BE(BigInt(value), at),
    get: (key, at) => key.readBigUInt64BE(at).toString(),
    compare: compareDecimal,
  },
};

export const u128: Column<Decimal> = {
  type: 'UInt128',
  write: (out, value) => out.u128(value),
  read: (rows) => rows.u128(),
  literal: (value) => `toUInt128(${textLiteral(value)})`,
};

/** Any integer that a contract may return, but for the outermost: those of 256 bits with the sign. */
export const i256: Column<Decimal> = {
  type: 'Int256',
  write: (out, value) => out.i256(value),
  read: (rows) => rows.i256(),
  literal: (value) => `toInt256(${textLiteral(value)})`,
  order: {
    bytes: 32,
    put: (out, at, value) => putWide(out, at, BigInt(value) + HALF_256),
    get: (key, at) => (wideAt(key, at) - HALF_256).toString(),
    compare: (a, b) => compareWide(BigInt(a), BigInt(b)),
  },
};

export const u256: Column<Decimal> & { order: Ordered<Decimal> } = {
  type: 'UInt256',
  write: (out, value) => out.u256(value),
  read: (rows) => rows.u256(),
  literal: u256Literal,
  order: {
    bytes: 32,
    put: (out, at, value) => putWide(out, at, BigInt(value)),
    get: (key, at) => wideAt(key, at).toString(),
    compare: compareDecimal,
  },
};

const HALF_256 = 1n << 255n;

const compareWide = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);

function putWide(out: Buffer, at: number, value: bigint): void {
  out.write(value.toString(16).padStart(64, '0'), at, 32, 'hex');
}

const wideAt = (key: Buffer, at: number): bigint => BigInt(`0x${key.toString('hex', at, at + 32)}`);

export const bool: Column<boolean> = {
  type: 'Bool',
  write: (out, value) => out.bool(value),
  read: (rows) => rows.bool(),
  literal: String,
};

/** Exactly so many bytes. */
const fixed = (bytes: number): Column<Buffer> & { order: Ordered<Buffer> } => ({
  type: `FixedString(${bytes})`,
  write: (out, value) => out.fixed(value, bytes),
  read: (rows) => rows.fixed(bytes),
  literal: bytesLiteral,
  order: {
    bytes,
    put: (out, at, value) => out.set(value, at),
    get: (key, at) => key.subarray(at, at + bytes),
    compare: (a, b) => a.compare(b),
  },
});

export const hash: Column<Hash> & { order: Ordered<Hash> } = fixed(32);
export const address: Column<Address> & { order: Ordered<Address> } = fixed(36);

/** Zeros stand for null. */
function orZeros(column: Column<Buffer> & { order: Ordered<Buffer> }): Column<Buffer | null> {
  const { type, order } = column;
  const zeros = Buffer.alloc(order.bytes);
  const orNull = (bytes: Buffer): Buffer | null => (bytes.equals(zeros) ? null : bytes);
  return {
    type,
    none: `toFixedString('', ${order.bytes})`,
    write: (out, value) => column.write(out, value ?? zeros),
    read: (rows) => orNull(column.read(rows)),
    literal: (value) => column.literal(value ?? zeros),
    order: {
      bytes: order.bytes,
      put: (out, at, value) => order.put(out, at, value ?? zeros),
      get: (key, at) => orNull(order.get(key, at)),
      compare: (a, b) => order.compare(a ?? zeros, b ?? zeros),
    },
  };
}

export const hashOrNone: Column<Hash | null> = orZeros(hash);
export const addressOrNone: Column<Address | null> = orZeros(address);

/** A value that no row has stands for null: the greatest, which gives the order "nulls are greatest". */
function orGreatest<T>(column: Column<T> & { order: Ordered<T> }, greatest: T): Column<T | null> {
  const { type, order } = column;
  const orNull = (value: T): T | null => (value === greatest ? null : value);
  return {
    type,
    none: column.literal(greatest),
    write: (out, value) => column.write(out, value ?? greatest),
    read: (rows) => orNull(column.read(rows)),
    literal: (value) => column.literal(value ?? greatest),
    order: {
      bytes: order.bytes,
      put: (out, at, value) => order.put(out, at, value ?? greatest),
      get: (key, at) => orNull(order.get(key, at)),
      compare: (a, b) => order.compare(a ?? greatest, b ?? greatest),
    },
  };
}

/** The greatest number of 256 bits stands for null. */
export const u256OrNone: Column<Decimal | null> = orGreatest(u256, ((1n << 256n) - 1n).toString());
export const ltOrNone: Column<Decimal | null> = orGreatest(u64, NO_LT);
export const timeOrNone: Column<number | null> = orGreatest(u32, NO_TIME);

/** Negative numbers come first: those that begin with the digits 8 to f. */
const signRank = (digits: Shard): number => (digits[0] >= '8' ? 0 : 1);

/** Sixteen hex digits; sorted as the signed number it is stored as. */
export const shard: Column<Shard> = {
  type: 'Int64',
  write: (out, value) => out.fixed(Buffer.from(value, 'hex').reverse(), 8),
  read: (rows) => Buffer.from(rows.fixed(8)).reverse().toString('hex'),
  literal: (value) => BigInt.asIntN(64, BigInt(`0x${value}`)).toString(),
  order: {
    bytes: 8,
    put(out, at, value) {
      out.write(value, at, 8, 'hex');
      out[at] ^= 0x80;
    },
    get(key, at) {
      const digits = Buffer.from(key.subarray(at, at + 8));
      digits[0] ^= 0x80;
      return digits.toString('hex');
    },
    compare: (a, b) => signRank(a) - signRank(b) || (a < b ? -1 : a > b ? 1 : 0),
  },
};

export const status: Column<AccountStatus> = {
  type: `Enum8(${ACCOUNT_STATUSES.map((name, number) => `'${name}' = ${number}`).join(', ')})`,
  write: (out, value) => out.i8(statusNumber(value)),
  read: (rows) => statusName(rows.i8()),
  literal: textLiteral,
};

/** One of some names, in this order. */
export function oneOf<const T extends string>(...names: readonly T[]): Column<T> & { order: Ordered<T> } {
  const numberOf = (name: T): number => names.indexOf(name);
  const nameOf = (number: number): T => {
    const name = names[number];
    if (name === undefined) throw new Error(`${number} is none of ${names.join(', ')}`);
    return name;
  };
  return {
    type: `Enum8(${names.map((name, number) => `'${name}' = ${number}`).join(', ')})`,
    write: (out, value) => out.i8(numberOf(value)),
    read: (rows) => nameOf(rows.i8()),
    literal: textLiteral,
    order: {
      bytes: 1,
      put: (out, at, value) => out.writeUInt8(numberOf(value), at),
      get: (key, at) => nameOf(key[at]),
      compare: (a, b) => numberOf(a) - numberOf(b),
    },
  };
}

export const bytes: Column<Buffer> = {
  type: 'String',
  write: (out, value) => out.string(value),
  read: (rows) => rows.bytes(),
  literal: bytesLiteral,
};

export const text: Column<string> = {
  type: 'String',
  write: (out, value) => out.string(value),
  read: (rows) => rows.string(),
  literal: textLiteral,
};

/** Text of which there are few different ones. */
export const word: Column<string> = { ...text, type: 'LowCardinality(String)' };

/** A real null, with no place in keys. */
export function nullable<T>(column: Column<T>): Column<T | null> {
  return {
    type: `Nullable(${column.type})`,
    write(out, value) {
      out.isNull(value === null);
      if (value !== null) column.write(out, value);
    },
    read: (rows) => (rows.isNull() ? null : column.read(rows)),
    literal: (value) => (value === null ? 'NULL' : column.literal(value)),
  };
}

export function arrayOf<T>(column: Column<T>): Column<T[]> {
  return {
    type: `Array(${column.type})`,
    write(out, values) {
      out.arrayLength(values.length);
      for (const value of values) column.write(out, value);
    },
    read: (rows) => Array.from({ length: rows.arrayLength() }, () => column.read(rows)),
    literal: (values) => `[${values.map((value) => column.literal(value)).join(', ')}]`,
  };
}
