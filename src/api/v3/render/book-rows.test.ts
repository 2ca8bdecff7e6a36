import { describe, expect, it } from 'vitest';
import { collectGarbage } from '../../../../test/collect-garbage.ts';
import { madeHash } from '../../../../test/made-chain.ts';
import { addressOf } from '../../../chain/address.ts';
import type { BookRecord } from '../../../chain/records.ts';
import { bookRow, createBookRows, UNKEPT_BOOK_ROWS } from './book-rows.ts';

const account = addressOf(0, madeHash('account'));
const MB = 1024 * 1024;

describe('rows of the address book', () => {
  it('are made anew when anything that they are made of differs', () => {
    const kept = createBookRows(10);
    const records: BookRecord[] = [
      { account, codeHash: null, methods: null },
      { account, codeHash: madeHash('code'), methods: null },
      { account, codeHash: madeHash('code'), methods: [97026] },
      { account, codeHash: madeHash('code'), methods: [97026, 102491] },
      { account, codeHash: madeHash('other'), methods: [97026, 102491] },
      { account: addressOf(-1, madeHash('account')), codeHash: madeHash('other'), methods: null },
    ];
    for (const record of [...records, ...records, ...records.toReversed()]) {
      for (const testOnly of [false, true, true]) {
        expect(kept.line(record, testOnly)).toBe(UNKEPT_BOOK_ROWS.line(record, testOnly));
      }
    }
  });

  it('have no friendly form for a workchain that it has no room for', () => {
    const row = (workchain: number): unknown =>
      JSON.parse(
        bookRow({ account: addressOf(workchain, madeHash('account')), codeHash: null, methods: null }, null, false),
      );
    expect([row(-129), row(128)]).toEqual(Array(2).fill({ user_friendly: null, domain: null, interfaces: [] }));
    expect([row(-128), row(127)]).not.toContainEqual({ user_friendly: null, domain: null, interfaces: [] });
  });

  it('keep none of the memory that their hashes came in, nor more rows than they may', () => {
    const kept = createBookRows(4_000);
    collectGarbage();
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 8_000; i++) {
      const page = Buffer.allocUnsafeSlow(4096);
      page.fill(i);
      const codeHash = page.subarray(0, 32);
      kept.line({ account: addressOf(0, madeHash(`${i}`)), codeHash, methods: [i] }, false);
      // What else a request takes from Node's pool.
      for (let other = 0; other < 60; other++) Buffer.from('x'.repeat(128));
    }
    collectGarbage();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * MB);
    expect(kept.bytes).toBeGreaterThan(MB);
    expect(kept.bytes).toBeLessThan(4 * MB);
  });
});
