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
  const cells = reachable(boc, list);
  const place = new Map<number, number>();
  for (let i = 0; i < cells.length; i++) place.set(cells[i], i);
  const layout = measure(boc, cells, 0, 0, list.length, options);
  for (let i = 0; i < list.length; i++) layout.root(i, place.get(list[i]) ?? 0);
  writeCells(boc, cells, place, layout);
  return layout.finish();
}

/** Writes a loose cell and all it refers to as a bag of cells. */
export function serializeLoose(boc: Boc, loose: LooseCell, options: SerializeOptions = {}): Buffer {
  const cells = reachable(boc, loose.refs);
  const place = new Map<number, number>();
  for (let i = 0; i < cells.length; i++) place.set(cells[i], i + 1);
  const layout = measure(boc, cells, 1, 2 + loose.data.length, 1, options, loose.refs.length);
  layout.root(0, 0);
  layout.cell(loose.refs.length, (loose.bits >> 3) + loose.data.length, loose.data, 0, loose.data.length);
  for (const ref of loose.refs) layout.ref(place.get(ref) ?? 0);
  writeCells(boc, cells, place, layout);
  return layout.finish();
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
  const place = new Map<TreeCell, number>();
  let size = 0;
  let refs = 0;
  for (let i = 0; i < order.length; i++) {
    place.set(order[i], i);
    size += 2 + order[i].data.length;
    refs += order[i].refs.length;
  }
  const layout = createLayout(order.length, size, refs, roots.length, options);
  for (let i = 0; i < roots.length; i++) layout.root(i, place.get(roots[i]) ?? 0);
  for (const cell of order) {
    const d1 = cell.refs.length + (cell.exotic ? 8 : 0) + 32 * cell.levelMask;
    layout.cell(d1, (cell.bits >> 3) + ((cell.bits + 7) >> 3), cell.data, 0, cell.data.length);
    for (const ref of cell.refs) layout.ref(place.get(ref) ?? 0);
  }
  return layout.finish();
}

/** All cells under the roots in index order. */
function reachable(boc: Boc, roots: readonly number[]): number[] {
  const seen = new Set<number>(roots);
  const cells = [...seen];
  for (let i = 0; i < cells.length; i++) {
    const start = boc.refStart[cells[i]];
    const end = start + (boc.d1[cells[i]] & 7);
    for (let r = start; r < end; r++) {
      const ref = boc.refs[r];
      if (seen.has(ref)) continue;
      seen.add(ref);
      cells.push(ref);
    }
  }
  return cells.sort((a, b) => a - b);
}

/** Parents before children: reversed post-order of a depth-first walk, without recursion. */
function topological(roots: readonly TreeCell[]): TreeCell[] {
  const done = new Set<TreeCell>();
  const order: TreeCell[] = [];
  const stack = [...roots].reverse().map((cell) => ({ cell, next: cell.refs.length - 1 }));
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

interface Layout {
  root(i: number, cell: number): void;
  cell(d1: number, d2: number, source: Buffer, from: number, to: number): void;
  ref(cell: number): void;
  finish(): Buffer;
}

function measure(
  boc: Boc,
  cells: readonly number[],
  extraCells: number,
  extraSize: number,
  roots: number,
  options: SerializeOptions,
  extraRefs = 0,
): Layout {
  let size = extraSize;
  let refs = extraRefs;
  for (const cell of cells) {
    size += 2 + ((boc.bits[cell] + 7) >> 3);
    refs += boc.d1[cell] & 7;
  }
  return createLayout(cells.length + extraCells, size, refs, roots, options);
}

function bytesFor(value: number): number {
  if (value < 0x100) return 1;
  if (value < 0x10000) return 2;
  return value < 0x1000000 ? 3 : 4;
}

/** Lays out a bag whose cells take `size` bytes without references. */
function createLayout(count: number, size: number, refs: number, roots: number, options: SerializeOptions): Layout {
  const crc = options.crc ?? true;
  const index = options.index ?? false;
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
  out.writeUIntBE(count, 6, refSize);
  out.writeUIntBE(roots, 6 + refSize, refSize);
  out.writeUIntBE(0, 6 + 2 * refSize, refSize);
  out.writeUIntBE(dataSize, 6 + 3 * refSize, offsetSize);
  let at = dataStart;
  let written = 0;
  /** The index holds the end of each cell, written when the next one begins. */
  const closeCell = (): void => {
    if (index && written > 0) out.writeUIntBE(at - dataStart, indexAt + (written - 1) * offsetSize, offsetSize);
  };
  return {
    root: (i, cell) => void out.writeUIntBE(cell, rootsAt + i * refSize, refSize),
    cell(d1, d2, source, from, to) {
      closeCell();
      written++;
      out[at] = d1;
      out[at + 1] = d2;
      at += 2 + source.copy(out, at + 2, from, to);
    },
    ref(cell) {
      at = out.writeUIntBE(cell, at, refSize);
    },
    finish() {
      closeCell();
      if (crc) out.writeUInt32LE(crc32c(out, 0, at), at);
      return out;
    },
  };
}

function writeCells(boc: Boc, cells: readonly number[], place: Map<number, number>, layout: Layout): void {
  for (const cell of cells) {
    const bits = boc.bits[cell];
    const size = (bits + 7) >> 3;
    const at = boc.pos[cell];
    layout.cell(boc.d1[cell], (bits >> 3) + size, boc.bytes, at, at + size);
    const start = boc.refStart[cell];
    const end = start + (boc.d1[cell] & 7);
    for (let r = start; r < end; r++) layout.ref(place.get(boc.refs[r]) ?? 0);
  }
}
