import { describe, expect, it } from 'vitest';
import { recordedBlocks } from '../../test/recorded-blocks.ts';
import { shelf } from '../../test/shelf.ts';
import { blockTransactions } from './accounts.ts';
import { decodeBlock } from './block.ts';
import { openBoc } from './boc.ts';
import type { Transaction } from './model.ts';
import { serialize } from './serialize.ts';
import { storedKey, storedTransaction } from './stored.ts';

/** Single blocks only: the sequences are more of the same. */
async function* singleBlocks() {
  for await (const block of recordedBlocks()) {
    if (!block.name.endsWith('.boc')) return;
    yield block;
  }
}

const values = (t: Transaction) => [t.account.toString('hex'), t.lt, t.now, t.hash.toString('hex'), t.prevLt];

describe.skipIf(shelf === null)('stored transactions of recorded blocks', () => {
  it('have the place that other decoders read, without being opened, and all the rest', async () => {
    let compared = 0;
    for await (const { bytes, facts, name } of singleBlocks()) {
      const boc = openBoc(bytes);
      const block = decodeBlock(boc);
      const known = new Map(facts.transactions.map((fact) => [String(fact.hash), fact]));
      const keys = new Set<string | null>();
      for (const decoded of blockTransactions(block)) {
        const payload = serialize(boc, decoded.cell);
        const fact = known.get(decoded.hash.toString('hex'));
        // Only the root cell is left: whoever opens the bag fails.
        const place = storedTransaction(payload.subarray(0, payload.length - 5), block.header.workchain);
        expect([place.account.toString('hex', 4), place.lt, place.now], name).toEqual([
          fact?.account,
          fact?.lt,
          fact?.now,
        ]);
        expect(() => place.hash).toThrow();
        const whole = storedTransaction(payload, block.header.workchain);
        expect(values(whole)).toEqual(values(decoded));
        expect([whole.inMsg?.hash, whole.outMsgs.length, whole.description.type]).toEqual([
          decoded.inMsg?.hash,
          decoded.outMsgs.length,
          decoded.description.type,
        ]);
        keys.add(storedKey(payload));
        compared++;
      }
      expect(keys).not.toContain(null);
      expect(keys.size, name).toBe(known.size);
    }
    expect(compared).toBeGreaterThan(2_000);
  });

  it('are read the same from a bag with an index', async () => {
    for await (const { bytes } of singleBlocks()) {
      const boc = openBoc(bytes);
      const block = decodeBlock(boc);
      const [first] = blockTransactions(block);
      if (first === undefined) continue;
      const { workchain } = block.header;
      const plain = serialize(boc, first.cell);
      const indexed = serialize(boc, first.cell, { index: true, crc: false });
      expect(values(storedTransaction(indexed, workchain))).toEqual(values(first));
      expect(storedKey(indexed)).toBe(storedKey(plain));
    }
  });

  it('have no key when they are something else', async () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from('b5ee9c72', 'hex'), Buffer.alloc(400, 0xff)]) {
      expect(storedKey(bytes)).toBeNull();
      expect(() => storedTransaction(bytes, 0).lt).toThrow();
    }
    for await (const { bytes } of singleBlocks()) expect(storedKey(bytes)).toBeNull();
  });
});
