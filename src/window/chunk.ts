/** Rows that a step writes lie together in chunks; a row is known by its step, chunk and place, its _id_. */
import { u32 } from '../../clickhouse/tables/columns.ts';

/** Step, chunk in the step, place in the chunk. */
export const ID_BYTES = 7;
const CHUNK_KEY_BYTES = 6;
const MOST_IN_CHUNK = 255;

/** Of what a key leads to. */
export const idOf = (value: Buffer): Buffer => value.subarray(0, ID_BYTES);

export const stepOf = (id: Buffer): number => id.readUInt32BE(0);

/** Rows of one step on their way into chunks: a count, where each row ends, then the rows. */
export class ChunkWriter {
  readonly #step: number;
  readonly #limit: number;
  readonly #write: (key: Buffer, chunk: Buffer) => void;
  #rows: Buffer[] = [];
  #bytes = 1;
  #chunk = 0;

  constructor(step: number, limit: number, write: (key: Buffer, chunk: Buffer) => void) {
    this.#step = step;
    this.#limit = limit;
    this.#write = write;
  }

  /** @returns the id of the row */
  add(row: Buffer): Buffer {
    const bytes = row.length + 4;
    if (this.#rows.length > 0 && (this.#bytes + bytes > this.#limit || this.#rows.length === MOST_IN_CHUNK)) {
      this.flush();
    }
    this.#rows.push(row);
    this.#bytes += bytes;
    return rowId(this.#step, this.#chunk, this.#rows.length - 1);
  }

  flush(): void {
    if (this.#rows.length === 0) return;
    this.#write(rowId(this.#step, this.#chunk, 0).subarray(0, CHUNK_KEY_BYTES), chunkOf(this.#rows));
    this.#rows = [];
    this.#bytes = 1;
    this.#chunk++;
  }
}

/** A count, where each row ends, then the rows: at most 255. */
export function chunkOf(rows: readonly Buffer[]): Buffer {
  const head = Buffer.allocUnsafe(1 + 4 * rows.length);
  head[0] = rows.length;
  let end = head.length;
  rows.forEach((row, i) => {
    end += row.length;
    head.writeUInt32BE(end, 1 + 4 * i);
  });
  return Buffer.concat([head, ...rows]);
}

function rowId(step: number, chunk: number, place: number): Buffer {
  const id = Buffer.allocUnsafe(ID_BYTES);
  id.writeUInt32BE(step, 0);
  id.writeUInt16BE(chunk, 4);
  id[6] = place;
  return id;
}

export const chunkKey = (id: Buffer): Buffer => id.subarray(0, CHUNK_KEY_BYTES);

/** The chunks of a step begin with it. */
export function stepKey(step: number): Buffer {
  const key = Buffer.allocUnsafe(4);
  u32.order.put(key, 0, step);
  return key;
}

export const rowsIn = (chunk: Buffer): number => chunk[0];

/** A row of a chunk; a view into it. */
export function rowAt(chunk: Buffer, place: number): Buffer {
  const start = place === 0 ? 1 + 4 * chunk[0] : chunk.readUInt32BE(4 * place - 3);
  return chunk.subarray(start, chunk.readUInt32BE(1 + 4 * place));
}

/** The row with this id, of its chunk. */
export const rowOfId = (chunk: Buffer, id: Buffer): Buffer => rowAt(chunk, id[6]);

/** What the ids of a chunk's rows begin with, by its step and the key that it is kept under. */
export function idOfChunk(key: Buffer, step: number): Buffer {
  const id = Buffer.from(key);
  id.writeUInt32BE(step, 0);
  return id;
}

/** The id of a row of a chunk. */
export function idIn(key: Buffer, place: number): Buffer {
  const id = Buffer.allocUnsafe(ID_BYTES);
  key.copy(id);
  id[6] = place;
  return id;
}
