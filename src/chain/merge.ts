import { type Boc, cellType, levelMask, MERKLE_PROOF, PRUNED } from './boc.ts';
import { cellHash, hashAt } from './hash.ts';
import { serialize, serializeTree, type TreeCell } from './serialize.ts';

/** A tree without pruned branches as a bag of its own; null when something below is pruned. */
export function completeCells(boc: Boc, cell: number): Buffer | null {
  return levelMask(boc, cell) === 0 ? serialize(boc, cell) : null;
}

/** Finds a full tree by its representation hash. */
export type FindTree = (hash: Buffer) => TreeCell | null;

/**
 * The tree of a cell with its pruned branches filled in from an older full tree: unchanged branches of an account's
 * data are pruned in a state update and stand in the data stored before. Null when one is in neither.
 */
export function mergePruned(boc: Boc, cell: number, older: Boc): Buffer | null {
  if (levelMask(boc, cell) === 0) return serialize(boc, cell);
  const tree = fillPruned(boc, cell, treesByHash(older));
  return tree === null ? null : serializeTree([tree]);
}

/** Every tree of a bag of full trees, by hash. Hashes the whole bag. */
function treesByHash(boc: Boc): FindTree {
  const cells = new Map<string, number>();
  for (let cell = 0; cell < boc.count; cell++) {
    cells.set(cellHash(boc, cell).toString('latin1'), cell);
  }
  const built = new Map<number, TreeCell>();
  return (hash) => {
    const cell = cells.get(hash.toString('latin1'));
    return cell === undefined ? null : copyTree(boc, cell, built);
  };
}

function shallow(boc: Boc, cell: number, refs: TreeCell[]): TreeCell {
  const bits = boc.bits[cell];
  const at = boc.pos[cell];
  const type = cellType(boc, cell);
  const shift = type >= MERKLE_PROOF ? 1 : 0;
  let mask = type === PRUNED ? levelMask(boc, cell) : 0;
  for (const ref of refs) mask |= ref.levelMask >> shift;
  return { exotic: type !== 0, levelMask: mask, data: boc.bytes.subarray(at, at + ((bits + 7) >> 3)), bits, refs };
}

/** Depth is bounded by the bag's limit, so plain recursion is safe. */
function copyTree(boc: Boc, cell: number, built: Map<number, TreeCell>): TreeCell {
  const known = built.get(cell);
  if (known !== undefined) return known;
  const refs: TreeCell[] = [];
  const start = boc.refStart[cell];
  for (let i = 0; i < (boc.d1[cell] & 7); i++) refs.push(copyTree(boc, boc.refs[start + i], built));
  const tree = shallow(boc, cell, refs);
  built.set(cell, tree);
  return tree;
}

/** Builds the tree of a cell, asking for what is pruned; null when an answer is missing. */
function fillPruned(boc: Boc, cell: number, find: FindTree): TreeCell | null {
  return fill(boc, cell, 0, find, new Map());
}

/**
 * `level` counts the Merkle cells between the root and here: below them a contract may hold pruned branches of its
 * own, whose mask lies under this level. Only the bit of this level says that the block pruned it.
 */
function fill(boc: Boc, cell: number, level: number, find: FindTree, built: Map<number, TreeCell>): TreeCell | null {
  const key = cell * 4 + level;
  const known = built.get(key);
  if (known !== undefined) return known;
  const type = cellType(boc, cell);
  const own = levelMask(boc, cell) >> level === 0;
  if (type === PRUNED && !own) return find(hashAt(boc, cell, level));
  const below = Math.min(level + (type >= MERKLE_PROOF ? 1 : 0), 3);
  const refs: TreeCell[] = [];
  const start = boc.refStart[cell];
  for (let i = 0; i < (boc.d1[cell] & 7); i++) {
    const ref = fill(boc, boc.refs[start + i], below, find, built);
    if (ref === null) return null;
    refs.push(ref);
  }
  const tree = shallow(boc, cell, refs);
  built.set(key, tree);
  return tree;
}
