import { type Boc, cellType, levelMask, openBoc, PRUNED } from './boc.ts';
import { cellHash } from './hash.ts';
import { serializeTree, type TreeCell } from './serialize.ts';

/**
 * The one serialisation of a tree without pruned branches, whatever bag it came from: equal cells once, in the order
 * of a depth-first walk. What is stored under a cell's hash is stored in this form, so that storing it again from
 * another block changes nothing.
 */
export function canonicalBoc(bytes: Buffer): Buffer {
  const boc = openBoc(bytes);
  return serializeTree([copy(boc, boc.roots[0], new Map())]);
}

/** Depth is bounded by the limit of openBoc. */
function copy(boc: Boc, cell: number, built: Map<string, TreeCell>): TreeCell {
  const key = cellHash(boc, cell).toString('latin1');
  const known = built.get(key);
  if (known !== undefined) return known;
  const refs: TreeCell[] = [];
  const start = boc.refStart[cell];
  for (let i = 0; i < (boc.d1[cell] & 7); i++) refs.push(copy(boc, boc.refs[start + i], built));
  const bits = boc.bits[cell];
  const at = boc.pos[cell];
  const type = cellType(boc, cell);
  const tree: TreeCell = {
    exotic: type !== 0,
    levelMask: type === PRUNED ? levelMask(boc, cell) : boc.d1[cell] >> 5,
    data: boc.bytes.subarray(at, at + ((bits + 7) >> 3)),
    bits,
    refs,
  };
  built.set(key, tree);
  return tree;
}
