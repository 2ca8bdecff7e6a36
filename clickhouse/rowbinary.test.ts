import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ClickHouse, createClickHouse } from './client.ts';
import { RowBinaryError, RowReader, RowWriter } from './rowbinary.ts';
import { silent, startTestServer, type TestServer } from './test-server.ts';

const U64_MAX = '18446744073709551615';
const U128_MAX = (2n ** 128n - 1n).toString();
const U256_MAX = (2n ** 256n - 1n).toString();
const I128_MIN = (-(2n ** 127n)).toString();
const I256_MIN = (-(2n ** 255n)).toString();

const INTEGERS = {
  UInt64: ['0', '1', '999999999999999', '1000000000000000', '9007199254740993', U64_MAX],
  Int64: ['0', '-1', '9223372036854775807', '-9223372036854775808', '-9007199254740993', '4294967296', '-4294967297'],
  UInt128: ['0', '4294967296', U64_MAX, U128_MAX],
  Int128: ['0', '-1', '123456789012345', I128_MIN],
  UInt256: ['0', '999999999999999', U128_MAX, U256_MAX],
  Int256: ['0', '-1', '-123456789012345678901234567890', I256_MIN],
} as const;
type WideType = keyof typeof INTEGERS;

const WRITE: Record<WideType, (writer: RowWriter, value: string) => void> = {
  UInt64: (writer, value) => writer.u64(value),
  Int64: (writer, value) => writer.i64(value),
  UInt128: (writer, value) => writer.u128(value),
  Int128: (writer, value) => writer.i128(value),
  UInt256: (writer, value) => writer.u256(value),
  Int256: (writer, value) => writer.i256(value),
};
const READ: Record<WideType, (reader: RowReader) => string> = {
  UInt64: (reader) => reader.u64(),
  Int64: (reader) => reader.i64(),
  UInt128: (reader) => reader.u128(),
  Int128: (reader) => reader.i128(),
  UInt256: (reader) => reader.u256(),
  Int256: (reader) => reader.i256(),
};
const WIDE_TYPES: WideType[] = ['UInt64', 'Int64', 'UInt128', 'Int128', 'UInt256', 'Int256'];

let test: TestServer;
let clickhouse: ClickHouse;

beforeAll(async () => {
  test = await startTestServer();
  clickhouse = createClickHouse({ url: test.server.url, database: 'system', logger: silent });
  await clickhouse.command('CREATE DATABASE rows');
  await clickhouse.close();
  clickhouse = createClickHouse({ url: test.server.url, database: 'rows', logger: silent });
});

afterAll(async () => {
  await clickhouse?.close();
  await test?.remove();
});

describe('RowBinary, against ClickHouse', () => {
  it.each(WIDE_TYPES)('%s goes in and out exactly', async (type) => {
    await clickhouse.command(`CREATE TABLE wide_${type} (i UInt8, v ${type}) ENGINE = MergeTree ORDER BY i`);
    const writer = new RowWriter(16);
    INTEGERS[type].forEach((value, i) => {
      writer.u8(i);
      WRITE[type](writer, value);
    });
    await clickhouse.insert(`wide_${type}`, ['i', 'v'], writer.take());
    const sql = `SELECT toString(v) AS v FROM wide_${type} ORDER BY i`;
    const rows = await clickhouse.json(sql, z.object({ v: z.string() }));
    expect(rows.map((row) => row.v)).toEqual(INTEGERS[type]);
    const reader = new RowReader(await clickhouse.query(`SELECT v FROM wide_${type} ORDER BY i`));
    expect(INTEGERS[type].map(() => READ[type](reader))).toEqual(INTEGERS[type]);
    expect(reader.done).toBe(true);
  });

  it('takes all other types at their limits', async () => {
    await clickhouse.command(`CREATE TABLE narrow (
      u8 UInt8, u16 UInt16, u32 UInt32, i8 Int8, i16 Int16, i32 Int32, b Bool, t DateTime('UTC'),
      f FixedString(4), s String, long String, n Nullable(UInt32), a Array(String)
    ) ENGINE = MergeTree ORDER BY u8`);
    const long = Buffer.alloc(300_000, 0xfe);
    const writer = new RowWriter(64);
    const write = (high: boolean) => {
      writer.u8(high ? 255 : 0);
      writer.u16(high ? 65_535 : 0);
      writer.u32(high ? 4_294_967_295 : 0);
      writer.i8(high ? 127 : -128);
      writer.i16(high ? 32_767 : -32_768);
      writer.i32(high ? 2_147_483_647 : -2_147_483_648);
      writer.bool(high);
      writer.dateTime(high ? 4_294_967_295 : 0);
      writer.fixed(high ? Buffer.from('00ff27dc', 'hex') : Buffer.alloc(4), 4);
      writer.string(high ? 'Größe 💎' : '');
      writer.string(high ? long : Buffer.alloc(0));
      writer.isNull(!high);
      if (high) writer.u32(1);
      writer.arrayLength(high ? 200 : 0);
      for (let i = 0; i < (high ? 200 : 0); i++) writer.string(String(i));
      writer.endRow();
    };
    write(false);
    write(true);
    expect(writer.rows).toBe(2);
    const { bytes } = writer;
    const columns = ['u8', 'u16', 'u32', 'i8', 'i16', 'i32', 'b', 't', 'f', 's', 'long', 'n', 'a'];
    const taken = writer.take();
    expect(taken.reduce((sum, chunk) => sum + chunk.length, 0)).toBe(bytes);
    expect([writer.rows, writer.bytes]).toEqual([0, 0]);
    await clickhouse.insert('narrow', columns, taken);

    const asText = await clickhouse.json(
      `SELECT concat(u16, ' ', u32, ' ', i8, ' ', i16, ' ', i32, ' ', b, ' ', t, ' ', hex(f), ' ', s, ' ', length(long), ' ',
         ifNull(toString(n), 'null'), ' ', length(a)) AS line FROM narrow ORDER BY u8`,
      z.object({ line: z.string() }),
    );
    expect(asText.map((row) => row.line)).toEqual([
      '0 0 -128 -32768 -2147483648 false 1970-01-01 00:00:00 00000000  0 null 0',
      '65535 4294967295 127 32767 2147483647 true 2106-02-07 06:28:15 00FF27DC Größe 💎 300000 1 200',
    ]);

    const rows = new RowReader(
      await clickhouse.query(`SELECT ${columns.join(', ')} FROM narrow ORDER BY u8 DESC LIMIT 1`),
    );
    expect([rows.u8(), rows.u16(), rows.u32(), rows.i8(), rows.i16(), rows.i32()]).toEqual([
      255, 65_535, 4_294_967_295, 127, 32_767, 2_147_483_647,
    ]);
    expect([rows.bool(), rows.dateTime(), rows.fixed(4).toString('hex'), rows.string()]).toEqual([
      true,
      4_294_967_295,
      '00ff27dc',
      'Größe 💎',
    ]);
    expect(rows.bytes().equals(long)).toBe(true);
    expect([rows.isNull(), rows.u32()]).toEqual([false, 1]);
    expect(Array.from({ length: rows.arrayLength() }, () => rows.string())).toEqual(
      Array.from({ length: 200 }, (_, i) => String(i)),
    );
    expect(rows.done).toBe(true);
  });
});

describe('RowBinary, alone', () => {
  const writer = new RowWriter();
  it.each([
    ['u8', () => writer.u8(256)],
    ['u8 of a fraction', () => writer.u8(1.5)],
    ['i8', () => writer.i8(128)],
    ['u16', () => writer.u16(-1)],
    ['i16', () => writer.i16(32_768)],
    ['u32', () => writer.u32(2 ** 32)],
    ['u32 of NaN', () => writer.u32(Number.NaN)],
    ['i32', () => writer.i32(2 ** 31)],
    ['u64 beyond', () => writer.u64('18446744073709551616')],
    ['u64 below', () => writer.u64('-1')],
    ['u64 of nothing', () => writer.u64('')],
    ['u64 of hex', () => writer.u64('0x10')],
    ['u64 of blanks', () => writer.u64(' 1')],
    ['i64', () => writer.i64('9223372036854775808')],
    ['u128', () => writer.u128((2n ** 128n).toString())],
    ['i128', () => writer.i128((2n ** 127n).toString())],
    ['u256', () => writer.u256((2n ** 256n).toString())],
    ['i256', () => writer.i256((-(2n ** 255n) - 1n).toString())],
    ['fixed', () => writer.fixed(Buffer.alloc(31), 32)],
  ])('refuses a value out of range: %s', (_, write) => {
    expect(write).toThrow(RowBinaryError);
    expect(writer.bytes).toBe(0);
  });

  it('does not write into chunks it handed over', () => {
    const shared = new RowWriter(64);
    shared.string('first');
    const first = Buffer.concat(shared.take());
    const again = shared.take();
    shared.string('second');
    expect(Buffer.concat(shared.take()).subarray(1).toString()).toBe('second');
    expect(first.subarray(1).toString()).toBe('first');
    expect(again).toEqual([]);
  });

  it('names the place where a result ends too early', () => {
    const reader = new RowReader(Buffer.from([1, 2, 3]));
    reader.u8();
    expect(() => reader.u32()).toThrow(/ends inside a value at byte 1/);
    expect(() => new RowReader(Buffer.from([5, 1])).bytes()).toThrow(RowBinaryError);
    expect(() => new RowReader(Buffer.alloc(12, 0xff)).arrayLength()).toThrow(RowBinaryError);
  });
});
