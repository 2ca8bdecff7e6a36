import { Builder, type Cell, Slice, type Visit } from './builder.ts';
import { DecodeError } from './errors.ts';

/** The extra value of an augmented dictionary (`HashmapAug n X Y`): how it is written and how forks join it. */
export interface Augmentation<Y> {
  read(slice: Slice): Y;
  write(builder: Builder, extra: Y): void;
  join(left: Y, right: Y): Y;
  /** Of the empty dictionary. */
  empty: Y;
}

/** A dictionary without extra values. */
export const plain: Augmentation<null> = { read: () => null, write: () => undefined, join: () => null, empty: null };

/** A `HashmapAug` (or `Hashmap`): null when it is empty. */
export interface Dictionary<Y> {
  root: Cell | null;
  extra: Y;
}

export interface Leaf<Y> {
  extra: Y;
  /** Its bits and references become the end of the leaf. */
  value: Cell;
}

export interface Change<Y> {
  /** Left-aligned bits in `ceil(keyBits / 8)` bytes. */
  key: Buffer;
  /** Null removes the key. */
  leaf: Leaf<Y> | null;
}

/** A subtree whose label has no start yet: the fork above decides it. Key bits are good up to `end`. */
interface Node<Y> {
  key: Buffer;
  end: number;
  extra: Y;
  forks: readonly [Cell, Cell] | null;
  value: Slice | null;
  origin: { cell: Cell; at: number } | null;
}

/**
 * Applies changes, one for each key, to a dictionary; only the paths to the changed keys are made anew.
 *
 * @param visit called with the cells of the old dictionary that were read
 */
export function updateDictionary<Y>(
  root: Cell | null,
  keyBits: number,
  aug: Augmentation<Y>,
  changes: readonly Change<Y>[],
  visit: Visit | null = null,
): Dictionary<Y> {
  const sorted = [...changes].sort((a, b) => Buffer.compare(a.key, b.key));
  const writer = createWriter(keyBits, aug, visit);
  const empty = Buffer.alloc((keyBits + 7) >> 3);
  const old = root === null ? null : writer.load(root, 0, empty);
  const node = writer.apply(old, 0, sorted, 0, sorted.length);
  return node === null ? { root: null, extra: aug.empty } : { root: writer.seal(node, 0), extra: node.extra };
}

function createWriter<Y>(keyBits: number, aug: Augmentation<Y>, visit: Visit | null) {
  const load = (cell: Cell, at: number, prefix: Buffer): Node<Y> => {
    const slice = new Slice(cell, visit);
    const key = Buffer.from(prefix);
    const end = at + readLabel(slice, keyBits - at, key, at);
    const forks = end < keyBits ? ([slice.ref(), slice.ref()] as const) : null;
    const extra = aug.read(slice);
    return { key, end, extra, forks, value: forks === null ? slice : null, origin: { cell, at } };
  };

  const seal = (node: Node<Y>, at: number): Cell => {
    if (node.origin?.at === at) return node.origin.cell;
    const builder = new Builder();
    writeLabel(builder, node.key, at, node.end, keyBits - at);
    if (node.forks !== null) builder.ref(node.forks[0]).ref(node.forks[1]);
    aug.write(builder, node.extra);
    if (node.value !== null) builder.rest(node.value);
    return builder.cell();
  };

  const fork = (left: Node<Y> | null, right: Node<Y> | null, end: number): Node<Y> | null => {
    // One side alone swallows the bit of the fork into its label.
    if (left === null || right === null) return left ?? right;
    const forks = [seal(left, end + 1), seal(right, end + 1)] as const;
    return { key: left.key, end, extra: aug.join(left.extra, right.extra), forks, value: null, origin: null };
  };

  const leafOf = ({ key, leaf }: Change<Y>): Node<Y> | null =>
    leaf === null
      ? null
      : { key, end: keyBits, extra: leaf.extra, forks: null, value: new Slice(leaf.value), origin: null };

  /** Changes `from` to `to` all share the first `at` bits with the node. */
  const apply = (
    node: Node<Y> | null,
    at: number,
    list: readonly Change<Y>[],
    from: number,
    to: number,
  ): Node<Y> | null => {
    if (from === to) return node;
    if (node === null) return build(at, list, from, to);
    const parting = Math.min(
      commonBits(node.key, list[from].key, at, node.end),
      commonBits(node.key, list[to - 1].key, at, node.end),
    );
    if (parting === keyBits) {
      if (to - from > 1) throw new RangeError('a key is changed twice');
      return leafOf(list[from]);
    }
    const middle = firstWithBit(list, from, to, parting);
    if (parting === node.end && node.forks !== null) return applyFork(node, node.forks, list, from, middle, to);
    const right = bitAt(node.key, parting) !== 0;
    return fork(
      apply(right ? null : node, parting + 1, list, from, middle),
      apply(right ? node : null, parting + 1, list, middle, to),
      parting,
    );
  };

  const applyFork = (
    node: Node<Y>,
    forks: readonly [Cell, Cell],
    list: readonly Change<Y>[],
    from: number,
    middle: number,
    to: number,
  ): Node<Y> | null => {
    const child = (side: 0 | 1): Node<Y> => {
      const prefix = Buffer.from(node.key);
      setBit(prefix, node.end, side);
      return load(forks[side], node.end + 1, prefix);
    };
    const left = apply(child(0), node.end + 1, list, from, middle);
    const right = apply(child(1), node.end + 1, list, middle, to);
    return fork(left, right, node.end);
  };

  const build = (at: number, list: readonly Change<Y>[], from: number, to: number): Node<Y> | null => {
    if (to - from === 1) return leafOf(list[from]);
    const parting = commonBits(list[from].key, list[to - 1].key, at, keyBits);
    if (parting === keyBits) throw new RangeError('a key is changed twice');
    const middle = firstWithBit(list, from, to, parting);
    return fork(build(parting + 1, list, from, middle), build(parting + 1, list, middle, to), parting);
  };

  return { load, seal, fork, apply };
}

/** The leaf of a key, at its extra value; null when the dictionary has no such key. Throws DecodeError. */
export function findLeaf(root: Cell | null, keyBits: number, key: Buffer, visit: Visit | null = null): Slice | null {
  const found = Buffer.alloc((keyBits + 7) >> 3);
  let cell = root;
  for (let at = 0; cell !== null; at++) {
    const slice: Slice = new Slice(cell, visit);
    const end = at + readLabel(slice, keyBits - at, found, at);
    if (commonBits(found, key, at, end) < end) return null;
    if (end === keyBits) return slice;
    const [left, right]: [Cell, Cell] = [slice.ref(), slice.ref()];
    cell = bitAt(key, end) ? right : left;
    at = end;
  }
  return null;
}

/** Calls `leaf` with every leaf by ascending key, the slice at its extra value. The key is the callee's to keep. */
export function eachLeaf(
  root: Cell | null,
  keyBits: number,
  leaf: (slice: Slice, key: Buffer) => void,
  visit: Visit | null = null,
): void {
  const walk = (cell: Cell, at: number, prefix: Buffer): void => {
    const slice = new Slice(cell, visit);
    const key = Buffer.from(prefix);
    const end = at + readLabel(slice, keyBits - at, key, at);
    if (end === keyBits) {
      leaf(slice, key);
      return;
    }
    const left = slice.ref();
    const right = slice.ref();
    walk(left, end + 1, key);
    setBit(key, end, 1);
    walk(right, end + 1, key);
  };
  if (root !== null) walk(root, 0, Buffer.alloc((keyBits + 7) >> 3));
}

/**
 * The part of a dictionary whose keys have the given bit at `place`, where all keys share the bits before it: what
 * a shard keeps at a split.
 */
export function dictionaryHalf<Y>(
  root: Cell | null,
  keyBits: number,
  aug: Augmentation<Y>,
  place: number,
  bit: 0 | 1,
  visit: Visit | null = null,
): Dictionary<Y> {
  const empty = { root: null, extra: aug.empty };
  if (root === null) return empty;
  const writer = createWriter(keyBits, aug, visit);
  const node = writer.load(root, 0, Buffer.alloc((keyBits + 7) >> 3));
  if (node.end < place) throw new RangeError(`keys differ before bit ${place}`);
  if (node.end > place || node.forks === null) {
    return bitAt(node.key, place) === bit ? { root, extra: node.extra } : empty;
  }
  setBit(node.key, place, bit);
  const half = writer.load(node.forks[bit], place + 1, node.key);
  return { root: writer.seal(half, 0), extra: half.extra };
}

/** The reverse: the keys of both share the bits before `place` and differ there. */
export function joinHalves<Y>(
  left: Cell | null,
  right: Cell | null,
  keyBits: number,
  aug: Augmentation<Y>,
  place: number,
  visit: Visit | null = null,
): Dictionary<Y> {
  const writer = createWriter(keyBits, aug, visit);
  const load = (root: Cell | null) => (root === null ? null : writer.load(root, 0, Buffer.alloc((keyBits + 7) >> 3)));
  const node = writer.fork(load(left), load(right), place);
  return node === null ? { root: null, extra: aug.empty } : { root: writer.seal(node, 0), extra: node.extra };
}

/** Writes `HashmapAugE`: a bit, the root, the extra of the whole. */
export function writeAugE<Y>(builder: Builder, dictionary: Dictionary<Y>, aug: Augmentation<Y>): Builder {
  builder.maybeRef(dictionary.root);
  aug.write(builder, dictionary.extra);
  return builder;
}

/** Reads `HashmapAugE`. */
export function readAugE<Y>(slice: Slice, aug: Augmentation<Y>): Dictionary<Y> {
  return { root: slice.maybeRef(), extra: aug.read(slice) };
}

function bitAt(key: Buffer, at: number): number {
  return (key[at >> 3] >> (7 - (at & 7))) & 1;
}

function setBit(key: Buffer, at: number, value: number): void {
  const mask = 0x80 >> (at & 7);
  if (value) key[at >> 3] |= mask;
  else key[at >> 3] &= ~mask;
}

/** First place from `at` on where two keys differ, at most `end`. */
function commonBits(a: Buffer, b: Buffer, at: number, end: number): number {
  let place = at;
  while (place < end) {
    if ((place & 7) === 0 && end - place >= 8 && a[place >> 3] === b[place >> 3]) {
      place += 8;
      continue;
    }
    if (bitAt(a, place) !== bitAt(b, place)) return place;
    place++;
  }
  return end;
}

/** The first of the sorted changes whose key has a 1 at `place`. */
function firstWithBit(list: readonly Change<unknown>[], from: number, to: number, place: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (bitAt(list[middle].key, place)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** `HmLabel`. Returns the length and leaves the bits in the key. */
function readLabel(slice: Slice, room: number, key: Buffer, at: number): number {
  const lengthBits = 32 - Math.clz32(room);
  if (slice.bit()) {
    const same = slice.bit() ? (slice.bit() ? 1 : 0) : -1;
    const length = slice.u(lengthBits);
    if (length > room) throw new DecodeError('dictionary label longer than the key');
    for (let i = 0; i < length; i++) setBit(key, at + i, same < 0 ? slice.u(1) : same);
    return length;
  }
  let length = 0;
  while (slice.bit()) length++;
  if (length > room) throw new DecodeError('dictionary label longer than the key');
  for (let i = 0; i < length; i++) setBit(key, at + i, slice.u(1));
  return length;
}

/**
 * The shortest of the three forms, as the node chooses it (append_dict_label, crypto/vm/dict.cpp): others hash
 * differently.
 */
function writeLabel(builder: Builder, key: Buffer, from: number, to: number, room: number): void {
  const length = to - from;
  const lengthBits = 32 - Math.clz32(room);
  if (length > 1 && lengthBits < 2 * length - 1 && isUniform(key, from, to)) {
    builder.u(6 + bitAt(key, from), 3).u(length, lengthBits);
    return;
  }
  if (lengthBits < length) {
    builder.u(2, 2).u(length, lengthBits);
  } else {
    builder.bit(0);
    for (let i = 0; i < length; i++) builder.bit(1);
    builder.bit(0);
  }
  for (let at = from; at < to; ) {
    if ((at & 7) === 0 && to - at >= 8) {
      builder.u(key[at >> 3], 8);
      at += 8;
    } else {
      builder.bit(bitAt(key, at++));
    }
  }
}

function isUniform(key: Buffer, from: number, to: number): boolean {
  const first = bitAt(key, from);
  for (let at = from + 1; at < to; at++) if (bitAt(key, at) !== first) return false;
  return true;
}
