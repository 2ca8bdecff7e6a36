import { readFileSync } from 'node:fs';
import { beginCell, Cell as CoreCell } from '@ton/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { blockFile } from '../../test/recorded-blocks.ts';
import { shelf } from '../../test/shelf.ts';
import { depthAt, openBoc } from './boc.ts';
import { Builder, type Cell, parseBoc, Slice, toBoc } from './builder.ts';
import { hashAt } from './hash.ts';
import { applyMerkleUpdate, markChanged, merkleProof, merkleUpdate, pruneCell } from './proof.ts';

describe.skipIf(shelf === null)('recorded blocks', () => {
  test.each(['71398501', '30816553', '-1_8000000000000000_1000149'])(
    '%s has its hashes and depths at every level',
    (end) => {
      const boc = openBoc(readFileSync(blockFile(end)));
      const root = parseBoc(boc.bytes);
      let wrong = 0;
      const check = (cell: Cell, index: number, seen: Set<number>): void => {
        if (seen.has(index)) return;
        seen.add(index);
        for (const level of [0, 1, 2, 3]) {
          if (!cell.hash(level).equals(hashAt(boc, index, level))) wrong++;
          if (cell.depth(level) !== depthAt(boc, index, level)) wrong++;
        }
        cell.refs.forEach((ref, i) => void check(ref, boc.refs[boc.refStart[index] + i], seen));
      };
      check(root, boc.roots[0], new Set());
      expect(wrong).toBe(0);
      expect(parseBoc(toBoc(root)).hash()).toEqual(root.hash());
    },
  );

  test('a header proof prunes below the Merkle update and keeps the hash', () => {
    const root = parseBoc(readFileSync(blockFile('71398501')));
    const update = root.refs[2];
    const shown = new Set([root, root.refs[0], ...root.refs[0].refs, update]);
    const proof = merkleProof(root, (cell) => shown.has(cell));
    expect(proof.data.subarray(1, 33)).toEqual(root.hash());
    const [oldSide, newSide] = proof.refs[0].refs[2].refs;
    // Pruned at depth 2; the sides have pruned branches of depth 1 themselves.
    expect([oldSide.levelMask, newSide.levelMask]).toEqual([3, 3]);
    const read = openBoc(toBoc(proof));
    expect(hashAt(read, read.refs[read.refStart[read.roots[0]]], 0)).toEqual(root.hash());
    expect(toBoc(proof).length).toBeLessThan(1500);
  });
});

test('writes what the published builder writes', () => {
  const value = fc.record({
    small: fc.nat(0xffffff),
    big: fc.bigInt(0n, (1n << 100n) - 1n),
    text: fc.uint8Array({ maxLength: 40 }),
  });
  fc.assert(
    fc.property(value, fc.nat(7), ({ small, big, text }, shift) => {
      const leaf = new Builder().u(small, 24).cell();
      const own = new Builder()
        .u(0, shift)
        .u(small, 24)
        .i(-5, 9)
        .big(big, 100)
        .grams(big)
        .bytes(text)
        .maybeRef(leaf)
        .cell();
      const theirs = beginCell()
        .storeUint(0, shift)
        .storeUint(small, 24)
        .storeInt(-5, 9)
        .storeUint(big, 100)
        .storeCoins(big)
        .storeBuffer(Buffer.from(text))
        .storeMaybeRef(beginCell().storeUint(small, 24).endCell())
        .endCell();
      expect(own.hash()).toEqual(theirs.hash());
      expect(CoreCell.fromBoc(toBoc(own))[0].hash()).toEqual(own.hash());
      const slice = new Slice(own).skip(shift);
      expect([slice.u(24), slice.i(9), slice.big(100), slice.grams()]).toEqual([small, -5, big, big]);
      expect([...slice.bytes(text.length)]).toEqual([...text]);
      expect(slice.maybeRef()?.hash()).toEqual(leaf.hash());
      expect([slice.bitsLeft, slice.refsLeft]).toEqual([0, 0]);
    }),
    { numRuns: 200 },
  );
});

test('refuses values and cells that are too large', () => {
  expect(() => new Builder().u(4, 2)).toThrow(RangeError);
  expect(() => new Builder().big(-1n, 8)).toThrow(RangeError);
  expect(() => new Builder().bytes(Buffer.alloc(127)).u(0, 8)).toThrow(RangeError);
  const four = new Builder();
  for (let i = 0; i < 4; i++) four.ref(new Builder().cell());
  expect(() => four.ref(new Builder().cell())).toThrow(RangeError);
  expect(() => new Slice(new Builder().u(1, 3).cell()).u(4)).toThrow('too short');
});

/** A tree of some levels out of few numbers, so that subtrees recur. */
const tree: fc.Memo<Cell> = fc.memo((depth) =>
  fc
    .tuple(fc.nat(5), depth <= 1 ? fc.constant([]) : fc.array(tree(), { maxLength: 3 }))
    .map(([value, refs]) =>
      refs.reduce((builder, ref) => builder.ref(ref), new Builder().bytes(Buffer.alloc(40, value))).cell(),
    ),
);

test('an update between any two trees leads from one to the other', () => {
  fc.assert(
    fc.property(tree(5), tree(5), (older, newer) => {
      const loaded = new Set<string>();
      markChanged(older, newer, loaded);
      const update = parseBoc(toBoc(merkleUpdate(older, newer, loaded)));
      expect(applyMerkleUpdate(older, update).hash()).toEqual(newer.hash());
      expect(update.data.subarray(1, 65)).toEqual(Buffer.concat([older.hash(), newer.hash()]));
      expect(update.levelMask).toBe(0);
      if (!older.equals(newer)) expect(() => applyMerkleUpdate(newer, update)).toThrow('another state');
    }),
    { numRuns: 200 },
  );
});

test('an update of a tree whose cells share all that is below them is applied once for each cell', () => {
  let older = new Builder().u(1, 8).cell();
  for (let level = 0; level < 60; level++) older = new Builder().u(level, 8).ref(older).ref(older).cell();
  const newer = new Builder().u(2, 8).cell();
  const loaded = new Set<string>();
  markChanged(older, newer, loaded);
  expect(applyMerkleUpdate(older, merkleUpdate(older, newer, loaded)).hash()).toEqual(newer.hash());
});

test('pruned branches tell the hash of what they stand for, at sparse levels, too', () => {
  const leaf = new Builder().bytes(Buffer.alloc(50, 7)).ref(new Builder().u(1, 8).cell()).cell();
  const once = pruneCell(leaf, 2);
  expect(once.levelMask).toBe(2);
  expect([once.hash(0), once.hash(1)]).toEqual([leaf.hash(), leaf.hash()]);
  expect([once.depth(0), once.depth(1), once.depth(3)]).toEqual([1, 1, 0]);
  const holder = new Builder().u(3, 4).ref(once).cell();
  expect(holder.hash(0)).toEqual(new Builder().u(3, 4).ref(leaf).cell().hash());
  const twice = pruneCell(holder, 1);
  expect(twice.levelMask).toBe(3);
  expect([twice.hash(0), twice.hash(1)]).toEqual([holder.hash(0), holder.hash(1)]);
  // The reader checks masks, sizes and depths.
  const read = openBoc(toBoc([holder, twice]));
  expect(hashAt(read, read.roots[0], 0)).toEqual(holder.hash(0));
  expect(hashAt(read, read.roots[1], 3)).toEqual(twice.hash());
});

test('a cell keeps no more memory than its own bytes', () => {
  const built = new Builder().bytes(Buffer.alloc(100, 7)).ref(new Builder().u(5, 3).cell()).cell();
  const parsed = parseBoc(toBoc(built));
  const cells = [built, built.refs[0], parsed, parsed.refs[0]];
  expect(cells.map(({ data }) => data.buffer.byteLength)).toEqual([100, 1, 100, 1]);
});
