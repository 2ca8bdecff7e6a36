import { expect, it } from 'vitest';
import { RowWriter } from '../../clickhouse/rowbinary.ts';
import { addressOf } from '../../src/chain/address.ts';
import { hashKey } from '../../src/chain/hash.ts';
import { madeHash } from '../../test/made-chain.ts';
import { createFew } from './few.ts';

const { signal } = new AbortController();
const accounts = ['a', 'b', 'c', 'd'].map((name) => addressOf(0, madeHash(name)));
const [a, b, c, d] = accounts.map(hashKey);

/** Of a table with the first of the accounts. */
function fewOf(rows: number, most: number) {
  const asked: string[] = [];
  const query = async (sql: string): Promise<Buffer> => {
    asked.push(sql);
    const out = new RowWriter(256);
    for (const account of accounts.slice(0, rows)) {
      out.fixed(account, 36);
      out.endRow();
    }
    return Buffer.concat(out.take());
  };
  return { few: createFew({ query }, 'table', hashKey, most), asked };
}

it('any contract may be there before it was asked which are', () => {
  expect(fewOf(1, 3).few.may(b)).toBe(true);
});

it('those that the table has, and those that come, may be there, and no others', async () => {
  const { few, asked } = fewOf(1, 3);
  await few.load(signal);
  few.add(b);
  await few.load(signal);
  expect([a, b, c].map(few.may)).toEqual([true, true, false]);
  expect(asked).toEqual(['SELECT DISTINCT address FROM table LIMIT 4']);
});

it('any may be there once they are many, in the table or as they come', async () => {
  const grown = fewOf(2, 3).few;
  await grown.load(signal);
  for (const key of [a, b, c]) grown.add(key);
  expect(grown.may(d)).toBe(false);
  grown.add(d);
  const full = fewOf(4, 3).few;
  await full.load(signal);
  for (const few of [grown, full]) expect(few.may(hashKey(addressOf(0, madeHash('e'))))).toBe(true);
});
