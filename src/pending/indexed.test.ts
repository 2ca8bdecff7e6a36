import { describe, expect, it } from 'vitest';
import { createFakeSource } from '../../test/fake-source.ts';
import { hashKey } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';
import type { TransactionRecord } from '../chain/records.ts';
import { receivedAmong } from './indexed.ts';

const context = { signal: AbortSignal.timeout(60_000), timeoutMs: 60_000 };

function hashOf(n: number): Hash {
  const hash = Buffer.alloc(32);
  hash.writeUInt32BE(n);
  return hash;
}

const received = (hashNorm: Hash): TransactionRecord => {
  // Another encoding of the same message came.
  const inMsg = { hash: Buffer.alloc(32, 0xff), hashNorm: () => hashNorm };
  return { transaction: { inMsg } } as unknown as TransactionRecord;
};

describe('messages among which some have been received', () => {
  const messages = Array.from({ length: 450 }, (_, n) => ({ hashNorm: hashOf(n) }));

  /** Every seventh is there, each as often as `times` says. */
  function sourceOf(times: (n: number) => number) {
    return createFakeSource({
      transactionsByMessage: async ({ messageHashes, page }) =>
        messageHashes
          .map((hash) => hash.readUInt32BE())
          .filter((n) => n % 7 === 0)
          .flatMap((n) => Array.from({ length: times(n) }, () => received(hashOf(n))))
          .slice(0, page.limit),
    });
  }

  it.each([
    ['once', () => 1, 3],
    ['so often that one fills a page', (n: number) => (n === 210 ? 1_000 : 1), 3 + 200],
  ])('are told apart, %s received', async (_, times, questions) => {
    const { source, asked } = sourceOf(times);
    const found = await receivedAmong(messages, source, context);
    const expected = messages.filter((_one, n) => n % 7 === 0).map(({ hashNorm }) => hashKey(hashNorm));
    expect([...found].sort()).toEqual(expected.sort());
    expect(asked.length).toBe(questions);
  });
});
