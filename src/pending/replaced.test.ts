import { describe, expect, it } from 'vitest';
import { addressOf } from '../chain/address.ts';
import { FULL_SHARD } from '../chain/shard-ident.ts';
import { createReplaced } from './replaced.ts';

const hashNorm = Buffer.alloc(32, 1);
const seenIn = (seqno: number, root: 'confirmed' | 'finalized' = 'confirmed') => ({
  trace: { hashNorm },
  nodes: [
    { node: { finality: root, block: { seqno } }, transaction: { account: addressOf(0, Buffer.alloc(32, 2)) } },
    {
      node: { finality: 'confirmed' as const, block: { seqno } },
      transaction: { account: addressOf(0, Buffer.alloc(32, 3)) },
    },
  ],
});
const stepAt = (seqno: number, top: number) => ({
  header: { seqno },
  tops: [{ workchain: 0, shard: FULL_SHARD, seqno: top, endLt: '0' }],
});

it('gives up what was in a signed block that another replaced, when the shard has gone on without it', () => {
  const one = seenIn(10);
  const replaced = createReplaced({ all: () => [one] });
  expect([stepAt(1, 9), stepAt(2, 10), stepAt(3, 11)].map((step) => replaced.at(step))).toEqual([[], [], []]);
  expect(replaced.at(stepAt(4, 12))).toEqual([one]);
});

it('waits for the next block of the shard, however long that takes', () => {
  const one = seenIn(10);
  const replaced = createReplaced({ all: () => [one] });
  for (let seqno = 2; seqno < 9; seqno++) expect(replaced.at(stepAt(seqno, 10))).toEqual([]);
  expect(replaced.at(stepAt(9, 11))).toEqual([one]);
});

it('gives up nothing that is seen in a later block meanwhile, or that began in a step', () => {
  let one = seenIn(10);
  const replaced = createReplaced({ all: () => [one] });
  expect(replaced.at(stepAt(2, 10))).toEqual([]);
  one = seenIn(12);
  expect([stepAt(3, 11), stepAt(4, 11)].map((step) => replaced.at(step))).toEqual([[], []]);
  one = seenIn(10, 'finalized');
  for (let seqno = 5; seqno < 9; seqno++) expect(replaced.at(stepAt(seqno, 2 * seqno))).toEqual([]);
});

describe('of two shards', () => {
  const [left, right] = ['4000000000000000', 'c000000000000000'];
  /** Its root was seen in a block of the left shard, what follows in one of the right. */
  const seenInBoth = (seqnos: { root: number; child: number }) => ({
    trace: { hashNorm },
    nodes: [
      { seqno: seqnos.root, account: addressOf(0, Buffer.alloc(32, 2)) },
      { seqno: seqnos.child, account: addressOf(0, Buffer.alloc(32, 0xf3)) },
    ].map(({ seqno, account }) => ({
      node: { finality: 'confirmed' as const, block: { seqno } },
      transaction: { account },
    })),
  });
  const topsAt = (seqno: number, tops: { left: number; right: number }) => ({
    header: { seqno },
    tops: [
      { workchain: 0, shard: left, seqno: tops.left, endLt: '0' },
      { workchain: 0, shard: right, seqno: tops.right, endLt: '0' },
    ],
  });

  it('the one that counts fewer blocks is not waited for until it has as many as the other', () => {
    const one = seenInBoth({ root: 10, child: 1000 });
    const replaced = createReplaced({ all: () => [one] });
    expect(replaced.at(topsAt(1, { left: 9, right: 1000 }))).toEqual([]);
    expect(replaced.at(topsAt(2, { left: 10, right: 1000 }))).toEqual([]);
    expect(replaced.at(topsAt(3, { left: 11, right: 1000 }))).toEqual([]);
    expect(replaced.at(topsAt(4, { left: 11, right: 1000 }))).toEqual([one]);
  });

  it('the one that counts more blocks has its next one waited for', () => {
    const one = seenInBoth({ root: 1000, child: 10 });
    const replaced = createReplaced({ all: () => [one] });
    expect(replaced.at(topsAt(1, { left: 999, right: 10 }))).toEqual([]);
    for (let seqno = 2; seqno < 9; seqno++) expect(replaced.at(topsAt(seqno, { left: 1000, right: 10 }))).toEqual([]);
    expect(replaced.at(topsAt(9, { left: 1001, right: 10 }))).toEqual([one]);
  });
});
