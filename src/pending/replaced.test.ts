import { expect, it } from 'vitest';
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
