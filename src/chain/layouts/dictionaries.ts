/** `Hashmap n X` and `HashmapE n X` (crypto/block/block.tlb). */
import { Builder } from '../builder.ts';
import type { Cursor } from '../cursor.ts';
import { plain, updateDictionary } from '../dictionary.ts';
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
      const changes = [...entries].map(([key, one]) => {
        const leaf = new Builder();
        value.write(leaf, one);
        return { key: Buffer.from(key, 'hex'), leaf: { extra: null, value: leaf.cell() } };
      });
      const { root } = updateDictionary(null, keyBits, plain, changes);
      if (root === null) throw new RangeError('a Hashmap has an entry');
      builder.append(root);
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
