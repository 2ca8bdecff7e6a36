import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { sha256Of } from '../src/chain/hash.ts';
import { type ClickHouse, createClickHouse } from './client.ts';
import { bytes, i32, identifier, keySet, LiteralError, list, textLiteral, u32, u64, u256 } from './literal.ts';
import { RowReader } from './rowbinary.ts';
import { silent, startTestServer, type TestServer } from './test-server.ts';

let test: TestServer;
let clickhouse: ClickHouse;

beforeAll(async () => {
  test = await startTestServer();
  clickhouse = createClickHouse({ url: test.server.url, database: 'system', logger: silent });
  await clickhouse.command('CREATE DATABASE literals');
  await clickhouse.close();
  clickhouse = createClickHouse({ url: test.server.url, database: 'literals', logger: silent });
  await clickhouse.command(`CREATE TABLE keyed (h FixedString(32), n UInt32) ENGINE = MergeTree ORDER BY h
    SETTINGS index_granularity = 64`);
  await clickhouse.command('INSERT INTO keyed SELECT unhex(hex(SHA256(toString(number)))), number FROM numbers(20000)');
});

afterAll(async () => {
  await clickhouse?.close();
  await test?.remove();
});

async function one(sql: string): Promise<string> {
  const [row] = await clickhouse.json(`SELECT ${sql} AS v`, z.object({ v: z.string() }));
  return row.v;
}

describe('literals, as ClickHouse reads them', () => {
  it('all bytes', async () => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    expect(await one(`hex(${bytes(all)})`)).toBe(all.toString('hex').toUpperCase());
    const awkward = Buffer.from("\\x41'\\'\\\\'; DROP TABLE keyed; -- {a:String} %s\0\n");
    expect(await one(`hex(${bytes(awkward)})`)).toBe(awkward.toString('hex').toUpperCase());
    // An escape followed by a digit that could be read as part of it.
    expect(await one(`hex(${bytes(Buffer.from([0, 0x41, 0x31]))})`)).toBe('004131');
  });

  it('text and numbers', async () => {
    expect(await one(`toString(${textLiteral("O'Größe 💎\\n")})`)).toBe("O'Größe 💎\\n");
    expect(await one(`toString(${u64('18446744073709551615')})`)).toBe('18446744073709551615');
    const max = (2n ** 256n - 1n).toString();
    expect(await one(`toString(${u256(max)})`)).toBe(max);
    expect(await one(`toString(${list([i32(-2147483648), u32(4294967295)])})`)).toBe('(-2147483648,4294967295)');
  });

  it('find rows by the primary key, reading few granules', async () => {
    const [{ h }] = await clickhouse.json('SELECT hex(h) AS h FROM keyed WHERE n = 777', z.object({ h: z.string() }));
    const raw = Buffer.from(h, 'hex');
    const key = bytes(raw);
    const found = new RowReader(await clickhouse.query(`SELECT n FROM keyed WHERE h = ${key}`));
    expect(found.u32()).toBe(777);
    for (const condition of [`h = ${key}`, `h IN ${list([key])}`, `h IN ${keySet(Array(50).fill(raw))}`]) {
      const plan = await clickhouse.json(
        `SELECT explain FROM (EXPLAIN indexes = 1 SELECT n FROM keyed WHERE ${condition})`,
        z.object({ explain: z.string() }),
      );
      const granules = plan.map((row) => /Granules: (\d+)\/(\d+)/.exec(row.explain)).find((match) => match !== null);
      expect(Number(granules?.[1])).toBeLessThanOrEqual(2);
      expect(Number(granules?.[2])).toBeGreaterThan(200);
    }
  });
});

describe('sets of keys', () => {
  it.each([1, 31, 32, 500])('find the rows of %i keys, and no others', async (count) => {
    const numbers = Array.from({ length: count }, (_, i) => i * 7);
    const keys = numbers.map((n) => sha256Of(Buffer.from(String(n))));
    const missing = Buffer.from("\x00'\\".padEnd(32, '+'));
    const found = await clickhouse.query(`SELECT n FROM keyed WHERE h IN ${keySet([missing, ...keys])} ORDER BY n`);
    const rows = new RowReader(found);
    expect(numbers.map(() => rows.u32())).toEqual(numbers);
    expect(rows.done).toBe(true);
  });
});

describe('literals that are refused', () => {
  it.each([
    ['u64 with a sign', () => u64('-1')],
    ['u64 beyond its range', () => u64('18446744073709551616')],
    ['u64 with SQL', () => u64('1 OR 1')],
    ['u256 beyond its range', () => u256((2n ** 256n).toString())],
    ['i32 of a fraction', () => i32(1.5)],
    ['u32 below zero', () => u32(-1)],
    ['an empty list', () => list([])],
    ['an empty set', () => keySet([])],
    ['many keys of several lengths', () => keySet([Buffer.alloc(33), ...Array(50).fill(Buffer.alloc(32))])],
    ['an identifier with a quote', () => identifier('a`b')],
    ['an empty identifier', () => identifier('')],
  ])('%s', (_, make) => {
    expect(make).toThrow(LiteralError);
  });
});
