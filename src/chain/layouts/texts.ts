/** Text in snake form: whole bytes, going on in the first reference. */
import { Builder, type Cell } from '../builder.ts';
import type { Cursor } from '../cursor.ts';
import { DecodeError } from '../errors.ts';
import type { Codec } from './codec.ts';

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Whole bytes of a cell. */
const CELL_BYTES = 127;

/**
 * The bytes of a chain of cells. A cell has one reference at most; bits behind its last whole byte count as a byte
 * filled up with zeros, or where `isWhole` is asked for are refused. Throws DecodeError.
 */
export function readSnake(cursor: Cursor, isWhole = false): Buffer {
  let current = cursor;
  const parts: Buffer[] = [];
  for (;;) {
    const tail = current.bitsLeft & 7;
    if (isWhole && tail > 0) throw new DecodeError('text that is not whole bytes');
    parts.push(current.bytes(current.bitsLeft >> 3));
    if (tail > 0) parts.push(Buffer.from([current.u(tail) << (8 - tail)]));
    if (current.refsLeft > 1) throw new DecodeError('several references in a snake');
    if (current.refsLeft === 0) return parts.length === 1 ? parts[0] : Buffer.concat(parts);
    current = current.open();
  }
}

/** Writes bytes behind what the builder holds, and what finds no room there into a chain of cells. */
export function writeSnake(builder: Builder, bytes: Buffer): void {
  const here = Math.min((1023 - builder.bits) >> 3, bytes.length);
  let next: Cell | null = null;
  for (let end = bytes.length; end > here; ) {
    const start = here + Math.floor((end - here - 1) / CELL_BYTES) * CELL_BYTES;
    const link = new Builder().bytes(bytes.subarray(start, end));
    if (next !== null) link.ref(next);
    next = link.cell();
    end = start;
  }
  builder.bytes(bytes.subarray(0, here));
  if (next !== null) builder.ref(next);
}

/** Bytes as UTF-8. Throws DecodeError. */
export function utf8(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new DecodeError('not UTF-8');
  }
}

/** Snake text to its end; null for what is none, and for bytes that are not UTF-8. */
export function plainText(cursor: Cursor): string | null {
  try {
    return utf8(readSnake(cursor));
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

/** Snake text to the end of the cell. */
export const snakeText: Codec<string> = {
  read: (cursor) => utf8(readSnake(cursor)),
  write: (builder, value) => writeSnake(builder, Buffer.from(value)),
  print: (cursor, printer) => printer.text(utf8(readSnake(cursor))),
  sample: (chance) => 'Grüße 🙂 '.repeat(chance.below(40)),
};
