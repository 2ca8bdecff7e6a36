/** Rows of contracts of a kind as the window keeps them: all columns in RowBinary, as the published step has them. */
import { RowReader, RowWriter } from '../../clickhouse/rowbinary.ts';
import type { StepRows, TableWith } from '../../clickhouse/tables/table.ts';

const CHUNK_BYTES = 16 * 1024;
const writer = new RowWriter(CHUNK_BYTES);

/** In memory of its own. */
export function packDetected<R extends object>(table: TableWith<R>, row: R): Buffer {
  if (!table.carried) throw new Error(`rows of ${table.name} are not published`);
  table.carried.write(writer, row);
  const parts = writer.take();
  const packed = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) at += part.copy(packed, at);
  return packed;
}

export function unpackDetected<R extends object>(table: TableWith<R>, packed: Buffer, mcSeqno: number): R {
  if (!table.carried) throw new Error(`rows of ${table.name} are not published`);
  const step: StepRows = { mcSeqno, tables: [], of: () => [] };
  return table.carried.read(new RowReader(packed), step, 0);
}
