import { expect, it } from 'vitest';
import type { TransactionRecord } from '../chain/records.ts';
import { createRecentSteps } from './recent-steps.ts';

const hash = (n: number): Buffer => Buffer.alloc(32, n);
const account = (n: number): Buffer => Buffer.concat([Buffer.from([0x80, 0, 0, 0]), hash(n)]);

/** Of a transaction what is looked at. */
const received = (message: number, by: number) =>
  ({
    transaction: { inMsg: { kind: 'external_in', hash: hash(message), hashNorm: () => null }, account: account(by) },
  }) as unknown as TransactionRecord;

it('says what steps behind one had of a message and of its account', () => {
  const recent = createRecentSteps(10);
  expect([...recent.note(11, 100, [received(1, 1)]).values()]).toEqual([account(1)]);
  recent.note(12, 101, [received(2, 2)]);
  expect(recent.since(10, hash(2), account(2))).toBe('received');
  expect(recent.since(10, hash(3), account(2))).toBe('moved');
  expect(recent.since(12, hash(2), account(2))).toBe('nothing');
  expect(recent.since(10, hash(3), account(3))).toBe('nothing');
  expect(recent.since(9, hash(3), account(3))).toBe('unknown');
  expect([recent.has(hash(1)), recent.has(hash(3))]).toEqual([true, false]);
});

it('knows what it does not know: steps that were passed by, left out, or are long ago', () => {
  const recent = createRecentSteps(10);
  expect(recent.cover(200_000, 10)).toBe(false);
  recent.note(11, 100, []);
  expect([recent.cover(101_000, 11), recent.cover(100_999, 11), recent.cover(101_000, 12)]).toEqual([
    true,
    false,
    false,
  ]);
  recent.pass(12);
  expect([recent.cover(101_000, 12), recent.since(11, hash(1), account(1))]).toEqual([false, 'unknown']);
  recent.note(20, 104, []);
  expect(recent.since(18, hash(1), account(1))).toBe('unknown');
  expect(recent.since(19, hash(1), account(1))).toBe('nothing');
  for (let step = 21; step < 120; step++) recent.note(step, step, []);
  expect(recent.since(20, hash(1), account(1))).toBe('unknown');
  expect(recent.since(118, hash(1), account(1))).toBe('nothing');
});
