import type { Boc } from './boc.ts';
import { crc32c } from './crc.ts';
import type { LooseCell } from './hash.ts';

export interface SerializeOptions {
  /** Append a CRC-32C. Default true, as the reference API prints its bags. */
  crc?: boolean;
  /** Write the table of cell offsets. Default false. */
  index?: boolean;
}

/**
 * Writes cells of an open bag and all below them as a bag of their own (magic `b5ee9c72`), the roots in the order
 * given. Cells keep their order, so the index order stays topological.
 */
export function serialize(boc: Boc, roots: number | readonly number[], options: SerializeOptions = {}): Buffer {
  const list = typeof roots === 'number' ? [roots] : roots;
  const part = gather(boc, list);
  const bag = openBag(part.count, part.size, part.refs, list.length, options);
  for (let i = 0; i < list.length; i++) putRoot(bag, i, place(boc, list[i]));
  putPart(bag, boc, part, 0);
  return closeBag(bag);
}

/** Bytes of a cell and all below it as a bag of their own, without a checksum or an index. */
export function serializedSize(boc: Boc, root: number): number {
  const { count, size, refs } = gather(boc, [root]);
  const refSize = bytesFor(count);
  const dataSize = size + refs * refSize;
  return 6 + 3 * refSize + bytesFor(dataSize) + refSize + dataSize;
}

/** Writes a loose cell and all it refers to as a bag of cells. */
export function serializeLoose(boc: Boc, loose: LooseCell, options: SerializeOptions = {}): Buffer {
  const part = gather(boc, loose.refs);
  const size = part.size + 2 + loose.data.length;
  const bag = openBag(part.count + 1, size, part.refs + loose.refs.length, 1, options);
  putRoot(bag, 0, 0);
  putCell(bag, loose.refs.length, loose.bits, loose.data, 0);
  for (const ref of loose.refs) putRef(bag, place(boc, ref) + 1);
  putPart(bag, boc, part, 1);
  return closeBag(bag);
}

/** A cell of a tree that is built rather than read. */
export interface TreeCell {
  exotic: boolean;
  levelMask: number;
  data: Buffer;
  bits: number;
  refs: readonly TreeCell[];
}

/** Writes a built tree; equal objects become one cell. */
export function serializeTree(roots: readonly TreeCell[], options: SerializeOptions = {}): Buffer {
  const order = topological(roots);
  const places = new Map<TreeCell, number>();
  let size = 0;
  let refs = 0;
  for (let i = 0; i < order.length; i++) {
    places.set(order[i], i);
    size += 2 + order[i].data.length;
    refs += order[i].refs.length;
  }
  const placeOf = (cell: TreeCell): number => {
    const found = places.get(cell);
    if (found === undefined) throw new Error('cell outside its own tree');
    return found;
  };
  const bag = openBag(order.length, size, refs, roots.length, options);
  for (let i = 0; i < roots.length; i++) putRoot(bag, i, placeOf(roots[i]));
  for (const cell of order) {
    putCell(bag, cell.refs.length + (cell.exotic ? 8 : 0) + 32 * cell.levelMask, cell.bits, cell.data, 0);
    for (const ref of cell.refs) putRef(bag, placeOf(ref));
  }
  return closeBag(bag);
}

/** Parents before children: reversed post-order of a depth-first walk, without recursion. */
function topological(roots: readonly TreeCell[]): TreeCell[] {
  const done = new Set<TreeCell>();
  const order: TreeCell[] = [];
  const stack = [...roots].map((cell) => ({ cell, next: cell.refs.length - 1 }));
  while (stack.length > 0) {
    const top = stack[stack.length - 1];
    if (done.has(top.cell)) {
      stack.pop();
    } else if (top.next >= 0) {
      const cell = top.cell.refs[top.next--];
      stack.push({ cell, next: cell.refs.length - 1 });
    } else {
      done.add(top.cell);
      order.push(top.cell);
      stack.pop();
    }
  }
  return order.reverse();
}

/** Cells under some roots by ascending index, and what they take without their references. */
interface Part {
  cells: Uint32Array;
  count: number;
  size: number;
  refs: number;
}

/** Written anew by every call of gather and read before the next. */
let scratch = new Uint32Array(1024);

/**
 * Collects the cells under the roots and gives each its place in the order. Sets and maps in their stead took
 * more than twice as long for the bags of transactions.
 */
function gather(boc: Boc, roots: readonly number[]): Part {
  const { marks, d1, refStart, bits } = boc;
  if (marks.base + 2 * boc.count > 0xffffffff) {
    marks.places.fill(0);
    marks.base = 0;
  }
  const { places } = marks;
  const { base } = marks;
  let count = 0;
  for (const root of roots) count = mark(places, base, root, count);
  let refs = 0;
  let size = 0;
  for (let i = 0; i < count; i++) {
    const cell = scratch[i];
    const start = refStart[cell];
    const children = d1[cell] & 7;
    for (let r = start; r < start + children; r++) count = mark(places, base, boc.refs[r], count);
    refs += children;
    size += 2 + ((bits[cell] + 7) >> 3);
  }
  const cells = scratch;
  sort(cells, count);
  for (let i = 0; i < count; i++) places[cells[i]] = base + 1 + i;
  // The next call sees every mark of this one as unset; until then they are read against the old base.
  marks.last = base;
  marks.base = base + count;
  return { cells, count, size, refs };
}

/** Found breadth-first, cells are nearly in order: a few moves sort the small sets that most messages are. */
function sort(cells: Uint32Array, count: number): void {
  if (count > 64) {
    cells.subarray(0, count).sort();
    return;
  }
  for (let i = 1; i < count; i++) {
    const cell = cells[i];
    let to = i;
    for (; to > 0 && cells[to - 1] > cell; to--) cells[to] = cells[to - 1];
    cells[to] = cell;
  }
}

function mark(places: Uint32Array, base: number, cell: number, count: number): number {
  if (places[cell] > base) return count;
  places[cell] = base + 1;
  if (count === scratch.length) {
    const larger = new Uint32Array(2 * count);
    larger.set(scratch);
    scratch = larger;
  }
  scratch[count] = cell;
  return count + 1;
}

function place(boc: Boc, cell: number): number {
  return boc.marks.places[cell] - boc.marks.last - 1;
}

/** A bag of cells being written. */
interface Bag {
  out: Buffer;
  at: number;
  written: number;
  refSize: number;
  offsetSize: number;
  rootsAt: number;
  /** 0 without an index. */
  indexAt: number;
  dataStart: number;
  crc: boolean;
}

function bytesFor(value: number): number {
  if (value < 0x100) return 1;
  if (value < 0x10000) return 2;
  return value < 0x1000000 ? 3 : 4;
}

/** Lays out a bag whose cells take `size` bytes without references. */
function openBag(count: number, size: number, refs: number, roots: number, options: SerializeOptions): Bag {
  const { crc = true, index = false } = options;
  const refSize = bytesFor(count);
  const dataSize = size + refs * refSize;
  const offsetSize = bytesFor(dataSize);
  const rootsAt = 6 + 3 * refSize + offsetSize;
  const indexAt = rootsAt + roots * refSize;
  const dataStart = indexAt + (index ? count * offsetSize : 0);
  const out = Buffer.allocUnsafe(dataStart + dataSize + (crc ? 4 : 0));
  out.writeUInt32BE(0xb5ee9c72, 0);
  out[4] = (index ? 0x80 : 0) | (crc ? 0x40 : 0) | refSize;
  out[5] = offsetSize;
  putUint(out, count, 6, refSize);
  putUint(out, roots, 6 + refSize, refSize);
  putUint(out, 0, 6 + 2 * refSize, refSize);
  putUint(out, dataSize, 6 + 3 * refSize, offsetSize);
  return { out, at: dataStart, written: 0, refSize, offsetSize, rootsAt, indexAt: index ? indexAt : 0, dataStart, crc };
}

function putUint(out: Buffer, value: number, at: number, size: number): void {
  let left = value;
  for (let i = at + size - 1; i >= at; i--) {
    out[i] = left;
    left >>>= 8;
  }
}

function putRoot(bag: Bag, i: number, cell: number): void {
  putUint(bag.out, cell, bag.rootsAt + i * bag.refSize, bag.refSize);
}

/** Descriptors and data; the index holds the end of each cell, written when the next one begins. */
function putCell(bag: Bag, d1: number, bits: number, source: Buffer, from: number): void {
  endCell(bag);
  bag.written++;
  const { out } = bag;
  const size = (bits + 7) >> 3;
  let { at } = bag;
  out[at++] = d1;
  out[at++] = (bits >> 3) + size;
  for (let i = from; i < from + size; i++) out[at++] = source[i];
  bag.at = at;
}

function endCell(bag: Bag): void {
  if (bag.indexAt === 0 || bag.written === 0) return;
  putUint(bag.out, bag.at - bag.dataStart, bag.indexAt + (bag.written - 1) * bag.offsetSize, bag.offsetSize);
}

function putRef(bag: Bag, cell: number): void {
  if (bag.refSize === 1) {
    bag.out[bag.at++] = cell;
    return;
  }
  putUint(bag.out, cell, bag.at, bag.refSize);
  bag.at += bag.refSize;
}

function putPart(bag: Bag, boc: Boc, part: Part, shift: number): void {
  for (let i = 0; i < part.count; i++) {
    const cell = part.cells[i];
    putCell(bag, boc.d1[cell], boc.bits[cell], boc.bytes, boc.pos[cell]);
    const start = boc.refStart[cell];
    const end = start + (boc.d1[cell] & 7);
    for (let r = start; r < end; r++) putRef(bag, place(boc, boc.refs[r]) + shift);
  }
}

function closeBag(bag: Bag): Buffer {
  endCell(bag);
  if (bag.crc) bag.out.writeUInt32LE(crc32c(bag.out, 0, bag.at), bag.at);
  return bag.out;
}
