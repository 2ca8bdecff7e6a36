import type { Builder } from '../builder.ts';
import type { Cursor } from '../cursor.ts';
import type { CellView } from './cell-view.ts';

/** What codecs need while a body is printed. */
export interface Printer {
  /** JSON of a cell of unknown layout: decoded where some layout fits, else its bag of cells in base64. */
  cell(view: CellView): string;
  /** JSON of a text, which may itself be a bag of cells in base64. */
  text(text: string): string;
  /** Counts one step against the limit of a body. Throws DecodeError when it is used up. */
  step(): void;
  /** Counts so many characters that are printed beyond what the steps stand for. Throws DecodeError likewise. */
  spend(characters: number): void;
}

/** Chance, for values that are made up. */
export interface Chance {
  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number;
  bytes(length: number): Buffer;
}

/**
 * One TL-B type: how it is read into a value, written, and printed as the decoder of the TON Center v3 API prints it
 * (integers as decimal strings, bit strings as upper-case hex, constructors as objects that begin with `@type`).
 * Reading and printing throw DecodeError, writing throws RangeError.
 */
export interface Codec<T> {
  read(cursor: Cursor): T;
  write(builder: Builder, value: T): void;
  print(cursor: Cursor, printer: Printer): string;
  /** A value that can be written: what tests hold reading, writing and printing against each other with. */
  sample(chance: Chance): T;
  /** How it is printed as the argument of another type (`Maybe`, `Either`, a dictionary), where that differs. */
  printArgument?(cursor: Cursor, printer: Printer): string;
  /** The name of a field of this codec in print, where it is not the field's own: TL-B lets fields have none. */
  printedName?: string;
}

/** The value that a codec reads. */
export type ValueOf<C> = C extends Codec<infer T> ? T : never;

/** Prints a codec in the place of a type's argument. */
export function printArgument<T>(codec: Codec<T>, cursor: Cursor, printer: Printer): string {
  return codec.printArgument === undefined ? codec.print(cursor, printer) : codec.printArgument(cursor, printer);
}
