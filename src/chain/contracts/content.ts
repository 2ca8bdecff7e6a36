/**
 * Content of tokens kept on the chain: TEP-64. A cell begins with a byte: 1 for a text with the address of a document,
 * 0 for a dictionary of attributes by the SHA-256 of their names. A dictionary with `uri` is both (semi-chain).
 */
import { createHash, hash } from 'node:crypto';
import { Builder } from '../builder.ts';
import type { Cursor } from '../cursor.ts';
import { DecodeError } from '../errors.ts';
import { type Allowance, lookupHashmap, walkAllowance, walkHashmap } from '../hashmap.ts';
import { CellView } from '../layouts/cell-view.ts';
import type { Codec } from '../layouts/codec.ts';
import { cell } from '../layouts/shapes.ts';
import { snakeText } from '../layouts/texts.ts';
import type { Hash } from '../model.ts';

/** Attributes by name, in the order of {@link ATTRIBUTES}. */
export type Content = Readonly<Record<string, string>>;

/** The attributes that are read, in the order in which they are kept. */
const ATTRIBUTES = [
  'uri',
  'name',
  'description',
  'image',
  'image_data',
  'symbol',
  'decimals',
  'amount_style',
  'render_type',
] as const;

/** Longest value; what a further cell would bring above it is left out. */
export const MAX_VALUE_BYTES = 8192;

const ON_CHAIN = 0;
const OFF_CHAIN = 1;
const SNAKE = 0;
const CHUNKED = 1;

const KEYS: readonly (readonly [name: string, key: Buffer])[] = ATTRIBUTES.map((name) => [
  name,
  createHash('sha256').update(name).digest(),
]);
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The content in a cell; null when it has neither form, or its text is none. Never throws. */
export function readContent(cell: CellView): Content | null {
  try {
    const cursor = cell.cursor();
    const tag = cursor.u(8);
    if (tag === OFF_CHAIN) return { uri: text(snake(cursor)) };
    return tag === ON_CHAIN ? readAttributes(cursor) : null;
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

/** What a document is kept under: SHA-256 of its URI. */
export function uriHash(uri: string): Hash {
  return hash('sha256', uri, 'buffer');
}

/** Snake text that has a cell to itself; null when it is none. Never throws. */
export function readText(cell: CellView): string | null {
  try {
    return text(snake(cell.cursor()));
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

/** Of the dictionary only what leads to these keys is looked at. */
function readAttributes(cursor: Cursor): Content {
  const root = onlyDictionary(cursor);
  const content: Record<string, string> = {};
  if (root === -1) return content;
  const allowance = walkAllowance(cursor.boc);
  for (const [name, key] of KEYS) {
    const value = lookupHashmap(cursor.boc, root, 256, key);
    const printed = value && readAttribute(value, name, allowance);
    if (printed !== null) content[name] = printed;
  }
  return content;
}

/** The root of a `HashmapE` with nothing behind it; -1 for the empty one. */
function onlyDictionary(cursor: Cursor): number {
  const root = cursor.maybeRef();
  if (cursor.bitsLeft > 0 || cursor.refsLeft > 0) throw new DecodeError('something behind a dictionary');
  return root;
}

/** Null for a value that does not parse: the others stay. */
function readAttribute(value: Cursor, name: string, allowance: Allowance): string | null {
  try {
    const cursor = value.bitsLeft === 0 && value.refsLeft === 1 ? value.open() : value;
    const bytes = readValue(cursor, allowance);
    return name === 'image_data' ? bytes.toString('base64') : text(bytes);
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

function readValue(cursor: Cursor, allowance: Allowance): Buffer {
  const tag = cursor.u(8);
  if (tag === SNAKE) return snake(cursor);
  if (tag !== CHUNKED) throw new DecodeError(`value with tag ${tag}`);
  const root = onlyDictionary(cursor);
  if (root === -1) return Buffer.alloc(0);
  const parts = createParts();
  let next = 0;
  let ended = false;
  const leaf = (chunk: Cursor, key: Buffer): void => {
    // A chunk is one cell.
    ended ||= key.readUInt32BE() !== next++ || !parts.add(chunk.open());
  };
  walkHashmap(cursor.boc, root, { keyBits: 32, leaf, done: () => ended }, allowance);
  return parts.bytes();
}

/** Bits of several cells one after the other, up to {@link MAX_VALUE_BYTES}. */
function createParts() {
  const cursors: Cursor[] = [];
  let bits = 0;
  return {
    /** False when the cell would exceed the limit. */
    add(cursor: Cursor): boolean {
      if (bits + cursor.bitsLeft > MAX_VALUE_BYTES * 8) return false;
      bits += cursor.bitsLeft;
      cursors.push(cursor);
      return true;
    },
    bytes(): Buffer {
      if ((bits & 7) !== 0) throw new DecodeError('text of incomplete bytes');
      const out = Buffer.alloc(bits >> 3);
      let at = 0;
      for (const cursor of cursors) at = append(out, at, cursor);
      return out;
    },
  };
}

/** Writes the bits that a cursor has left at bit `at`, and returns the bit behind them. */
function append(out: Buffer, at: number, cursor: Cursor): number {
  let to = at;
  while (cursor.bitsLeft > 0) {
    const count = Math.min(8 - (to & 7), cursor.bitsLeft);
    out[to >> 3] |= cursor.u(count) << (8 - (to & 7) - count);
    to += count;
  }
  return to;
}

/** A chain of cells. */
function snake(cursor: Cursor): Buffer {
  const parts = createParts();
  let links = MAX_VALUE_BYTES;
  for (let current = cursor; parts.add(current) && current.refsLeft > 0; current = current.open()) {
    // Cells without bits cost no bytes: they are counted instead.
    if (--links === 0) throw new DecodeError('text of too many cells');
  }
  return parts.bytes();
}

function text(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new DecodeError('not UTF-8');
  }
}

/** A reference with content in it. */
export const contentCell: Codec<CellView> = {
  ...cell,
  sample(chance) {
    const builder = new Builder().u(OFF_CHAIN, 8);
    snakeText.write(builder, `https://ton.example/${chance.below(1000)}.json`);
    return CellView.from(builder.cell());
  },
};

/** A reference with snake text in it. */
export const textCell: Codec<CellView> = {
  ...cell,
  sample: (chance) => sampleText(`https://ton.example/${chance.below(1000)}`),
};

function sampleText(value: string): CellView {
  const builder = new Builder();
  snakeText.write(builder, value);
  return CellView.from(builder.cell());
}
