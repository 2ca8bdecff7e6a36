/** Message bodies that are told by their first 32 bits. */
import type { Cursor } from '../cursor.ts';
import { DecodeError, inside } from '../errors.ts';
import type { CellView } from './cell-view.ts';
import type { Codec } from './codec.ts';
import { type Fields, type RecordOf, record } from './shapes.ts';

/** Longest chain of references a body may have: the node refuses messages that are deeper. */
export const MAX_BODY_DEPTH = 512;

const OPCODE_BITS = 32;

/**
 * One body. As a codec it stands for the whole of it, opcode included.
 *
 *     const transfer = jettonTransfer.in(CellView.parse(bytes));
 *     if (transfer !== null) console.log(transfer.amount, transfer.destination);
 */
export interface Layout<T = unknown> extends Codec<T> {
  /** The constructor's name, which clients see as `@type` and `decoded_opcode`. */
  readonly name: string;
  readonly opcode: number;
  /** The fields of a body with this opcode; null for another one. Throws DecodeError when it does not parse. */
  in(body: CellView): T | null;
}

/** Declares a body by its name, its opcode and its fields in order. */
export function body<F extends Fields>(name: string, opcode: number, fields: F): Layout<RecordOf<F>> {
  return layout(name, opcode, record(name, fields));
}

/** A body whose fields are not a plain list. */
export function layout<T>(name: string, opcode: number, fields: Codec<T>): Layout<T> {
  return {
    name,
    opcode,
    in(view) {
      if (view.opcode !== opcode) return null;
      checkDepth(view);
      const cursor = view.cursor();
      cursor.skip(OPCODE_BITS);
      return readFields(cursor, name, fields);
    },
    read(cursor) {
      cursor.tag(OPCODE_BITS, opcode, name);
      return readFields(cursor, name, fields);
    },
    write(builder, value) {
      builder.u(opcode, OPCODE_BITS);
      fields.write(builder, value);
    },
    print(cursor, printer) {
      cursor.tag(OPCODE_BITS, opcode, name);
      return fields.print(cursor, printer);
    },
    sample: fields.sample,
  };
}

function readFields<T>(cursor: Cursor, name: string, fields: Codec<T>): T {
  try {
    return fields.read(cursor);
  } catch (error) {
    throw inside(name, error);
  }
}

/** Throws DecodeError for a cell with more below it than a message can have. */
export function checkDepth(view: CellView): void {
  if (view.depth > MAX_BODY_DEPTH) throw new DecodeError(`body deeper than ${MAX_BODY_DEPTH}`);
}
