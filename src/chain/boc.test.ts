import { beginCell, Cell } from '@ton/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Boc, depthAt, openBoc } from './boc.ts';
import { crc32c } from './crc.ts';
import { DecodeError } from './errors.ts';
import { cellHash, hashAt } from './hash.ts';
import { serialize, serializedSize, serializeTree, type TreeCell } from './serialize.ts';

/** Trees built by @ton/core, with shared branches and library cells. */
const cells: fc.Arbitrary<Cell> = fc.letrec<{ tree: Cell; leaf: Cell }>((tie) => ({
  leaf: fc
    .tuple(fc.uint8Array({ maxLength: 120 }), fc.integer({ min: 0, max: 7 }), fc.integer({ min: 0, max: 127 }))
    .map(([bytes, bits, value]) =>
      beginCell()
        .storeBuffer(Buffer.from(bytes))
        .storeUint(value & ((1 << bits) - 1), bits)
        .endCell(),
    ),
  tree: fc
    .tuple(
      fc.array(fc.oneof({ maxDepth: 6 }, tie('leaf'), tie('tree')), { maxLength: 3 }),
      fc.boolean(),
      fc.boolean(),
      tie('leaf'),
    )
    .map(([refs, shared, library, leaf]) => {
      const cell = beginCell().storeSlice(leaf.beginParse());
      for (const ref of refs) cell.storeRef(ref);
      if (shared && refs.length > 0) cell.storeRef(refs[0]);
      else if (library) cell.storeRef(beginCell().storeUint(2, 8).storeBuffer(leaf.hash()).endCell({ exotic: true }));
      return cell.endCell();
    }),
})).tree;

function expectSame(boc: Boc, index: number, cell: Cell): void {
  expect(cellHash(boc, index).toString('hex')).toBe(cell.hash().toString('hex'));
  expect(depthAt(boc, index, 3)).toBe(cell.depth());
}

describe('beside @ton/core', () => {
  test('hashes of whatever it writes, with and without index and checksum', () => {
    fc.assert(
      fc.property(cells, fc.boolean(), fc.boolean(), (cell, idx, crc32) => {
        const boc = openBoc(cell.toBoc({ idx, crc32 }));
        expectSame(boc, boc.roots[0], cell);
      }),
      { numRuns: 200 },
    );
  });

  test('it reads whatever we write, and a bag written again is the same bag', () => {
    fc.assert(
      fc.property(cells, fc.boolean(), fc.boolean(), (cell, index, crc) => {
        const boc = openBoc(cell.toBoc());
        const written = serialize(boc, boc.roots[0], { index, crc });
        if (!index && !crc) expect(serializedSize(boc, boc.roots[0])).toBe(written.length);
        const [again] = Cell.fromBoc(written);
        expect(again.hash().equals(cell.hash())).toBe(true);
        const second = openBoc(written);
        expectSame(second, second.roots[0], cell);
        expect(serialize(second, second.roots[0], { index, crc }).equals(written)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  test('a small bag is byte for byte the same', () => {
    const cell = beginCell().storeUint(0x1234, 20).storeRef(beginCell().storeUint(7, 32).endCell()).endCell();
    const bytes = cell.toBoc({ idx: false, crc32: true });
    const boc = openBoc(bytes);
    expect(serialize(boc, 0).equals(bytes)).toBe(true);
    expect(serialize(openBoc(beginCell().endCell().toBoc()), 0).toString('base64')).toBe('te6cckEBAQEAAgAAAEysuc0=');
  });

  test('sub-bags written in a row from one bag do not disturb each other', () => {
    const leaf = beginCell().storeUint(1, 8).endCell();
    const left = beginCell().storeUint(2, 8).storeRef(leaf).endCell();
    const right = beginCell().storeUint(3, 8).storeRef(leaf).storeRef(left).endCell();
    const boc = openBoc(beginCell().storeRef(left).storeRef(right).endCell().toBoc());
    for (let round = 0; round < 3; round++) {
      for (let index = 0; index < boc.count; index++) {
        const [cell] = Cell.fromBoc(serialize(boc, index));
        expect(cell.hash().equals(cellHash(boc, index))).toBe(true);
      }
    }
  });
});

test('several roots come in their order', () => {
  const boc = openBoc(beginCell().storeUint(1, 1).storeRef(beginCell().storeUint(5, 8).endCell()).endCell().toBoc());
  const two = openBoc(serialize(boc, [1, 0]));
  expect(two.roots.length).toBe(2);
  expect(cellHash(two, two.roots[0]).equals(cellHash(boc, 1))).toBe(true);
  expect(cellHash(two, two.roots[1]).equals(cellHash(boc, 0))).toBe(true);
});

/** The cell `01` over the cell `02`, in the layouts of crypto/tl/boc.tlb. */
const body = Buffer.from('010201' + '01' + '000202', 'hex');

function legacy(magic: string, withCrc: boolean): Buffer {
  const head = Buffer.from(`${magic}01010201000704${'07'}`, 'hex');
  const bytes = Buffer.concat([head, body]);
  if (!withCrc) return bytes;
  const crc = Buffer.alloc(4);
  crc.writeUInt32LE(crc32c(bytes));
  return Buffer.concat([bytes, crc]);
}

const expected = beginCell().storeUint(1, 8).storeRef(beginCell().storeUint(2, 8).endCell()).endCell();

test('legacy magics', () => {
  for (const bytes of [legacy('68ff65f3', false), legacy('acc3a728', true)]) expectSame(openBoc(bytes), 0, expected);
});

test('stored hashes are read over', () => {
  const hashes = Buffer.alloc(34, 0xaa);
  const bytes = Buffer.concat([
    Buffer.from('b5ee9c7201010201002900', 'hex'),
    Buffer.from('1102', 'hex'),
    hashes,
    Buffer.from('0101000202', 'hex'),
  ]);
  expectSame(openBoc(bytes), 0, expected);
});

const bad: [string, string, RegExp][] = [
  ['nothing', '', /too short/],
  ['unknown magic', '00000000010101010000', /magic/],
  ['reference size 0', 'b5ee9c72000101010002000000', /reference size/],
  ['reference size 5', 'b5ee9c72050101010002000000', /reference size/],
  ['no root', 'b5ee9c720101010000020000', /roots/],
  ['root outside', 'b5ee9c72010101010002010000', /root outside/],
  ['absent cells', 'b5ee9c72010101010102000000', /absent/],
  ['absent cell', 'b5ee9c72010101010002001700', /references/],
  ['truncated', 'b5ee9c720101010100020000', /bytes/],
  ['trailing byte', 'b5ee9c7201010101000200000000', /bytes/],
  ['more cells than fit', 'b5ee9c72010109010002000000', /cells/],
  ['reference to itself', 'b5ee9c7201010101000300010000', /reference to 0/],
  ['reference outside', 'b5ee9c7201010101000300010005', /reference to 5/],
  ['no completion tag', 'b5ee9c7201010101000300000100', /completion/],
  ['level of nothing', 'b5ee9c72010101010002002000', /level mask/],
  ['empty exotic cell', 'b5ee9c72010101010002000800', /exotic/],
  ['wrong checksum', 'b5ee9c7241010101000200000000000000', /checksum/],
];

test.each(bad)('refused: %s', (_, hex, message) => {
  const open = (): Boc => openBoc(Buffer.from(hex, 'hex'));
  expect(open).toThrow(DecodeError);
  expect(open).toThrow(message);
});

test('limits on bytes, cells, roots and depth', () => {
  let chain = beginCell().endCell();
  for (let i = 0; i < 40; i++) chain = beginCell().storeUint(i, 8).storeRef(chain).endCell();
  const bytes = chain.toBoc();
  expect(openBoc(bytes, { maxBytes: bytes.length, maxCells: 41, maxDepth: 40, maxRoots: 1 }).count).toBe(41);
  expect(() => openBoc(bytes, { maxBytes: bytes.length - 1 })).toThrow(/limit/);
  expect(() => openBoc(bytes, { maxCells: 40 })).toThrow(/limit/);
  expect(() => openBoc(bytes, { maxDepth: 39 })).toThrow(/deeper than 39/);
  expect(() => openBoc(bytes, { maxRoots: 0 })).toThrow(/roots/);
});

describe('pruned branches', () => {
  const leaf = beginCell().storeUint(9, 32).storeRef(beginCell().storeUint(8, 8).endCell()).endCell();
  const whole = beginCell().storeUint(7, 8).storeRef(leaf).endCell();

  /** A branch pruned at several levels at once: the tree below is the same at each. */
  function pruned(mask: number): TreeCell {
    const count = [0, 1, 1, 2, 1, 2, 2, 3][mask];
    const depth = Buffer.from([0, leaf.depth()]);
    const data = Buffer.concat([
      Buffer.from([1, mask]),
      ...Array.from({ length: count }, () => leaf.hash()),
      ...Array.from({ length: count }, () => depth),
    ]);
    return { exotic: true, levelMask: mask, data, bits: data.length * 8, refs: [] };
  }

  test.each([1, 2, 3, 4, 5, 6, 7])('level mask %i: the hash below its levels is that of the full tree', (mask) => {
    const data = Buffer.from([7]);
    const bytes = serializeTree([{ exotic: false, levelMask: mask, data, bits: 8, refs: [pruned(mask)] }]);
    const boc = openBoc(bytes);
    const full = whole.hash().toString('hex');
    let seen = false;
    for (let level = 0; level < 4; level++) {
      // From the lowest bit of the mask on the branch shows as what it is.
      if (level > 0 && mask & (1 << (level - 1))) seen = true;
      if (seen) expect(hashAt(boc, 0, level).toString('hex')).not.toBe(full);
      else expect(hashAt(boc, 0, level).toString('hex')).toBe(full);
      expect(depthAt(boc, 0, level)).toBe(mask >> level === 0 ? 1 : whole.depth());
    }
  });

  test('the level bits of a parent must say what is below', () => {
    const data = Buffer.from([7]);
    for (const levelMask of [0, 2, 3]) {
      const bytes = serializeTree([{ exotic: false, levelMask, data, bits: 8, refs: [pruned(1)] }]);
      expect(() => openBoc(bytes)).toThrow(/level mask mismatch/);
    }
  });
});
