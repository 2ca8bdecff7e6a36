import { RowBinaryError, RowReader, RowWriter } from '../clickhouse/rowbinary.ts';
import { TABLES } from '../clickhouse/tables/all.ts';
import type { StepRows, Table, TableWith } from '../clickhouse/tables/table.ts';
import { DecodeError } from '../src/chain/errors.ts';
import type { Hash } from '../src/chain/model.ts';

/**
 * One step as it was projected: its head, and its rows by table. What the tables had before is not among them: of an
 * account's data and of codes that depends on when the projector was started.
 */
export interface ProjectedStep {
  mcSeqno: number;
  /** The step before it in the log; 0 for the first. Steps that follow one another are thereby known to be all. */
  previous: number;
  globalId: number;
  /** Of the step's last block, the masterchain block unless it was imported without one. */
  rootHash: Hash;
  /** None for a step that could not be decoded. */
  rows: StepRows;
}

/** Of the bytes; records of an earlier version are passed over. */
export const STEP_VERSION = 6;

/** A record that is no step of this version. */
export class StepRecordError extends Error {
  override name = 'StepRecordError';
}

const CHUNK_BYTES = 64 * 1024;

/** A step in RowBinary: the head, then of each table with rows its name, their count, their bytes. */
export function encodeProjectedStep({ mcSeqno, previous, globalId, rootHash, rows }: ProjectedStep): Buffer {
  const writer = new RowWriter(CHUNK_BYTES);
  writer.u8(STEP_VERSION);
  writer.u32(mcSeqno);
  writer.u32(previous);
  writer.i32(globalId);
  writer.fixed(rootHash, 32);
  for (const table of rows.tables.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const { carried } = table;
    if (!carried) continue;
    const some = rows.of(table);
    const inner = new RowWriter(CHUNK_BYTES);
    for (const row of some) carried.write(inner, row);
    writer.string(table.name);
    writer.u32(some.length);
    writer.string(Buffer.concat(inner.take()));
  }
  return Buffer.concat(writer.take());
}

/**
 * The step of these bytes. The rows of a table are read when they are asked for, and then throw StepRecordError when
 * they are damaged; their buffers are views into the bytes.
 * @throws {StepRecordError}
 */
export function decodeProjectedStep(bytes: Buffer): ProjectedStep {
  if (bytes[0] !== STEP_VERSION) {
    throw new StepRecordError(`a step of version ${bytes[0]}, this program reads ${STEP_VERSION}`);
  }
  return readable(() => {
    const reader = new RowReader(bytes);
    reader.u8();
    const [mcSeqno, previous, globalId, rootHash] = [reader.u32(), reader.u32(), reader.i32(), reader.fixed(32)];
    const sections = new Map<string, Section>();
    while (!reader.done) sections.set(reader.string(), { count: reader.u32(), bytes: reader.bytes() });
    return { mcSeqno, previous, globalId, rootHash, rows: new ReadRows(mcSeqno, sections) };
  });
}

interface Section {
  count: number;
  bytes: Buffer;
}

class ReadRows implements StepRows {
  readonly mcSeqno: number;
  readonly #sections: Map<string, Section>;
  readonly #read = new Map<string, readonly unknown[]>();

  constructor(mcSeqno: number, sections: Map<string, Section>) {
    this.mcSeqno = mcSeqno;
    this.#sections = sections;
  }

  get tables(): Table[] {
    return TABLES.filter(({ name }) => this.#sections.has(name));
  }

  of<R extends object>(table: TableWith<R>): readonly R[] {
    const known = this.#read.get(table.name) ?? readable(() => this.#rows(table));
    this.#read.set(table.name, known);
    return known as readonly R[];
  }

  #rows({ name, carried }: Table): unknown[] {
    const section = this.#sections.get(name);
    if (!section || !carried) return [];
    const reader = new RowReader(section.bytes);
    const rows = Array.from({ length: section.count }, (_, at) => carried.read(reader, this, at));
    if (!reader.done) throw new StepRecordError(`bytes behind the rows of ${name} in step ${this.mcSeqno}`);
    return rows;
  }
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof RowBinaryError || error instanceof DecodeError)) throw error;
    throw new StepRecordError(`a damaged step: ${error.message}`, { cause: error });
  }
}
