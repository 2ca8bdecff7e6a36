import { MERKLE_PROOF, MERKLE_UPDATE, PRUNED, popcount } from './boc.ts';
import { Builder, Cell } from './builder.ts';
import { DecodeError } from './errors.ts';

/** Whether a cell is shown; the others are replaced by pruned branches. Asked from the root downwards. */
export type Keep = (cell: Cell) => boolean;

/**
 * A pruned branch in place of a cell that stands below `depth` Merkle cells: it gains the level `depth` and answers
 * for the lower ones from its own data. (`pruned_branch`, crypto/vm/cells/CellBuilder.)
 */
export function pruneCell(cell: Cell, depth: number): Cell {
  const mask = cell.levelMask | (1 << (depth - 1));
  const size = popcount(mask);
  const data = Buffer.alloc(2 + 34 * size);
  data[0] = PRUNED;
  data[1] = mask;
  let i = 0;
  for (let level = 0; level < 3; level++) {
    if (level > 0 && !(mask & (1 << (level - 1)))) continue;
    if (i === size) break;
    data.write(cell.key(level), 2 + 32 * i, 'latin1');
    data.writeUInt16BE(cell.depth(level), 2 + 32 * size + 2 * i);
    i++;
  }
  return new Cell(data, data.length * 8, [], true);
}

/**
 * A Merkle proof (`!merkle_proof#03 virtual_hash:bits256 depth:uint16 virtual_root:^X`) that shows the cells that
 * `keep` names, the root always. Cells without references and pruned branches stay: pruning them shows no less.
 */
export function merkleProof(root: Cell, keep: Keep): Cell {
  const pruned = pruneTree(root, (cell) => cell === root || keep(cell));
  return new Builder().u(MERKLE_PROOF, 8).bytes(root.hash(0)).u(root.depth(0), 16).ref(pruned).cell(true);
}

/** The tree with the cells that are not kept pruned, at Merkle depth 1. */
function pruneTree(root: Cell, keep: Keep): Cell {
  const built: Map<string, Cell>[] = [];
  return pruneBelow(root, 1, keep, built);
}

function pruneBelow(cell: Cell, depth: number, keep: Keep, built: Map<string, Cell>[]): Cell {
  if (cell.type === PRUNED) return cell;
  if (!keep(cell)) return cell.refs.length === 0 && cell.bits < 272 ? cell : pruneCell(cell, depth);
  built[depth] ??= new Map();
  const known = built[depth].get(cell.key());
  if (known !== undefined) return known;
  const below = depth + (cell.type === MERKLE_PROOF || cell.type === MERKLE_UPDATE ? 1 : 0);
  const refs = cell.refs.map((ref) => pruneBelow(ref, below, keep, built));
  const same = refs.every((ref, i) => ref === cell.refs[i]);
  const result = same ? cell : new Cell(cell.data, cell.bits, refs, cell.exotic);
  built[depth].set(cell.key(), result);
  return result;
}

/** Hash keys of cells. */
export type CellSet = Set<string>;

/**
 * Adds the cells of `older` that are nowhere in `newer` to `loaded`: where trees are equal the walk of the older one
 * ends. Takes time in proportion to the size of `newer`: for accounts, not for whole states.
 */
export function markChanged(older: Cell, newer: Cell, loaded: CellSet): void {
  const kept: CellSet = new Set();
  collectKeys(newer, kept);
  markMissing(older, kept, loaded);
}

function collectKeys(cell: Cell, keys: CellSet): void {
  if (keys.has(cell.key())) return;
  keys.add(cell.key());
  for (const ref of cell.refs) collectKeys(ref, keys);
}

function markMissing(cell: Cell, kept: CellSet, loaded: CellSet): void {
  if (kept.has(cell.key()) || loaded.has(cell.key())) return;
  loaded.add(cell.key());
  for (const ref of cell.refs) markMissing(ref, kept, loaded);
}

/**
 * The Merkle update from one state to the next (`!merkle_update#04 old_hash new_hash old_depth new_depth old new`).
 * `loaded` names the cells of the old tree that the new one was made from: they are shown, all others are
 * pruned; the new side prunes what is a shown or a pruned cell of the old one. Takes time in proportion to what
 * changed.
 */
export function merkleUpdate(older: Cell, newer: Cell, loaded: CellSet): Cell {
  const isLoaded: Keep = (cell) => cell === older || loaded.has(cell.key());
  const known: CellSet = new Set();
  collectKnown(older, isLoaded, known);
  const oldSide = pruneTree(older, isLoaded);
  const newSide = pruneTree(newer, (cell) => !known.has(cell.key()));
  return new Builder()
    .u(MERKLE_UPDATE, 8)
    .bytes(older.hash(0))
    .bytes(newer.hash(0))
    .u(older.depth(0), 16)
    .u(newer.depth(0), 16)
    .ref(oldSide)
    .ref(newSide)
    .cell(true);
}

function collectKnown(cell: Cell, isLoaded: Keep, known: CellSet): void {
  if (known.has(cell.key())) return;
  known.add(cell.key());
  if (!isLoaded(cell)) return;
  for (const ref of cell.refs) collectKnown(ref, isLoaded, known);
}

/**
 * The new tree from the old one and a Merkle update: the new side with its pruned branches filled in from the old
 * tree. Throws DecodeError when the update is not one of this tree or misses something.
 */
export function applyMerkleUpdate(older: Cell, update: Cell): Cell {
  if (update.type !== MERKLE_UPDATE) throw new DecodeError('not a Merkle update');
  if (update.data.compare(older.hash(0), 0, 32, 1, 33) !== 0) throw new DecodeError('update of another state');
  const known = new Map<string, Cell>();
  collectCells(older, update.refs[0], 1, known, new Set());
  const newer = fillCells(update.refs[1], 1, known, new Map());
  if (update.data.compare(newer.hash(0), 0, 32, 33, 65) !== 0) throw new DecodeError('update leads to another state');
  return newer;
}

/** @param walked those whose references were looked at: cells that share others lead to them any number of times */
function collectCells(cell: Cell, shown: Cell, depth: number, known: Map<string, Cell>, walked: Set<string>): void {
  const key = shown.key(depth - 1);
  if (cell.key(depth - 1) !== key) throw new DecodeError('old side of the update differs');
  const place = `${depth}${key}`;
  known.set(place, cell);
  // By its own hash: elsewhere more of the same tree may be shown.
  const own = `${depth}${shown.key()}`;
  if (shown.type === PRUNED || walked.has(own)) return;
  walked.add(own);
  const below = depth + merkleStep(shown);
  for (let i = 0; i < shown.refs.length; i++) collectCells(cell.refs[i], shown.refs[i], below, known, walked);
}

function fillCells(shown: Cell, depth: number, known: Map<string, Cell>, built: Map<string, Cell>): Cell {
  // Only the bit of this depth says that the update pruned it: a contract may hold pruned branches of its own.
  if (shown.levelMask >> (depth - 1) === 0) return known.get(`${depth}${shown.key()}`) ?? shown;
  const place = `${depth}${shown.key(depth - 1)}`;
  const old = known.get(place) ?? built.get(place);
  if (old !== undefined) return old;
  if (shown.type === PRUNED) throw new DecodeError('pruned branch that the old side does not show');
  const below = depth + merkleStep(shown);
  const refs = shown.refs.map((ref) => fillCells(ref, below, known, built));
  const cell = new Cell(shown.data, shown.bits, refs, shown.exotic);
  built.set(place, cell);
  return cell;
}

function merkleStep(cell: Cell): number {
  return cell.type === MERKLE_PROOF || cell.type === MERKLE_UPDATE ? 1 : 0;
}
