/** The types that columns have: in SQL, in RowBinary, in the service, and in keys that sort. */
import { compareDecimal } from '../../src/chain/decimal.ts';
import type { AccountStatus, Address, Decimal, Hash, Shard } from '../../src/chain/model.ts';
import {
  bytes as bytesLiteral,
  i32 as i32Literal,
  text as textLiteral,
  u32 as u32Literal,
  u64 as u64Literal,
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
