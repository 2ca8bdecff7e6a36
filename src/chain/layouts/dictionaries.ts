/** `Hashmap n X` and `HashmapE n X` (crypto/block/block.tlb). */
import { Builder, type Cell } from '../builder.ts';
import type { Cursor } from '../cursor.ts';
import { DecodeError } from '../errors.ts';
import { walkAllowance, walkInline } from '../hashmap.ts';
import { type Codec, type Printer, printArgument } from './codec.ts';
import { bitHex, bits } from './numbers.ts';
import { ref } from './shapes.ts';

/** Entries by their keys: left-aligned bits in `ceil(n / 8)` bytes, as lower-case hex. */
export type Entries<T> = ReadonlyMap<string, T>;

/** `Hashmap n X` of at least one entry, standing where the cursor does. */
export function hashmap<T>(keyBits: number, value: Codec<T>): Codec<Entries<T>> {
  return {
    read(cursor) {
      const entries = new Map<string, T>();
      const leaf = (at: Cursor, key: Buffer): void => {
        entries.set(key.toString('hex'), value.read(at));
      };
      walkInline(cursor, { keyBits, leaf }, walkAllowance(cursor.boc));
      return entries;
    },
    write(builder, entries) {
      const sorted = [...entries].map(([key, one]): Entry<T> => [Buffer.from(key, 'hex'), one]);
      sorted.sort((a, b) => Buffer.compare(a[0], b[0]));
      writeNode(builder, value, keyBits, sorted, 0);
    },
    print: (cursor, printer) => printEdge(cursor, printer, value, keyBits),
    sample(chance) {
      const key = bits(keyBits);
      const count = 1 + chance.below(3);
      return new Map(Array.from({ length: count }, () => [key.sample(chance).toString('hex'), value.sample(chance)]));
    },
  };
}

/** `HashmapE n X`. */
export function dictionary<T>(keyBits: number, value: Codec<T>): Codec<Entries<T>> {
  const root = ref(hashmap(keyBits, value));
  return {
    read: (cursor) => (cursor.bit() ? root.read(cursor) : new Map()),
    write(builder, entries) {
      builder.bit(entries.size > 0);
      if (entries.size > 0) root.write(builder, entries);
    },
    print(cursor, printer) {
      if (!cursor.bit()) return '{"@type":"hashmap_empty"}';
      return `{"@type":"hashmap_root","root":${root.print(cursor, printer)}}`;
    },
    sample: (chance) => (chance.below(3) === 0 ? new Map() : root.sample(chance)),
  };
}

function printEdge<T>(cursor: Cursor, printer: Printer, value: Codec<T>, room: number): string {
  printer.step();
  const [label, length] = printLabel(cursor, room);
  printer.spend(label.length);
  const start = `{"@type":"hashmap_edge","label":${label},"node":`;
  if (length === room) {
    return `${start}{"@type":"hashmap_node_leaf","value":${printArgument(value, cursor, printer)}}}`;
  }
  const left = printEdge(cursor.open(), printer, value, room - length - 1);
  const right = printEdge(cursor.open(), printer, value, room - length - 1);
  return `${start}{"@type":"hashmap_node_fork","left":${left},"right":${right}}}`;
}

/** `HmLabel`: its print and its length. */
function printLabel(cursor: Cursor, room: number): [string, number] {
  const lengthBits = 32 - Math.clz32(room);
  if (!cursor.bit()) {
    let length = 0;
    while (cursor.bit()) length++;
    check(length, room);
    const unary = `${'{"@type":"unary_succ","x":'.repeat(length)}{"@type":"unary_zero"}${'}'.repeat(length)}`;
    return [`{"@type":"hashmap_label_short","len":${unary},"s":"${bitHex(cursor, length)}"}`, length];
  }
  if (!cursor.bit()) {
    const length = check(cursor.u(lengthBits), room);
    return [`{"@type":"hashmap_label_long","n":"${length}","s":"${bitHex(cursor, length)}"}`, length];
  }
  const bit = cursor.bit();
  const length = check(cursor.u(lengthBits), room);
  return [`{"@type":"hashmap_label_same","v":${bit},"n":"${length}"}`, length];
}

function check(length: number, room: number): number {
  if (length > room) throw new DecodeError('dictionary label longer than the key');
  return length;
}

type Entry<T> = [key: Buffer, value: T];

/** Writes the node of some entries that share their first `at` bits. */
function writeNode<T>(builder: Builder, value: Codec<T>, keyBits: number, entries: Entry<T>[], at: number): void {
  const [first] = entries[0];
  const end = commonBits(first, entries[entries.length - 1][0], at, keyBits);
  writeLabel(builder, first, at, end, keyBits - at);
  if (end === keyBits) {
    value.write(builder, entries[0][1]);
    return;
  }
  const split = entries.findIndex(([key]) => bitAt(key, end) === 1);
  for (const half of [entries.slice(0, split), entries.slice(split)]) {
    builder.ref(nodeCell(value, keyBits, half, end + 1));
  }
}

function nodeCell<T>(value: Codec<T>, keyBits: number, entries: Entry<T>[], at: number): Cell {
  const builder = new Builder();
  writeNode(builder, value, keyBits, entries, at);
  return builder.cell();
}

/** The shortest of the three forms; of two equal ones the node takes the first of short, long, same. */
function writeLabel(builder: Builder, key: Buffer, from: number, to: number, room: number): void {
  const length = to - from;
  const lengthBits = 32 - Math.clz32(room);
  const short = 2 + 2 * length;
  const long = 2 + lengthBits + length;
  const same = 3 + lengthBits;
  const isSame = length > 0 && commonRun(key, from, to);
  if (isSame && same < short && same < long) {
    builder.u(0b11, 2).u(bitAt(key, from), 1).u(length, lengthBits);
    return;
  }
  if (short <= long) {
    builder.bit(0);
    for (let i = 0; i < length; i++) builder.bit(1);
    builder.bit(0);
  } else {
    builder.u(0b10, 2).u(length, lengthBits);
  }
  for (let at = from; at < to; at++) builder.u(bitAt(key, at), 1);
}

function commonRun(key: Buffer, from: number, to: number): boolean {
  for (let at = from + 1; at < to; at++) if (bitAt(key, at) !== bitAt(key, from)) return false;
  return true;
}

function commonBits(a: Buffer, b: Buffer, from: number, to: number): number {
  let at = from;
  while (at < to && bitAt(a, at) === bitAt(b, at)) at++;
  return at;
}

function bitAt(key: Buffer, at: number): number {
  return (key[at >> 3] >> (7 - (at & 7))) & 1;
}
