import { type Chunks, createChunks } from '../../clickhouse/chunks.ts';
import type { RowWriter } from '../../clickhouse/rowbinary.ts';
import type { Table } from '../../clickhouse/tables/table.ts';
import { entryOf, type GrowingRows, keepNewest } from './step-rows.ts';

/** One insert: a table and its rows in RowBinary. */
export interface Insert {
  table: Table;
  rows: number;
  chunks: Buffer[];
  /** Keys of the rows as literals, where no step names them. */
  keys: string[];
}

/**
 * Puts the rows of steps together to one insert a table: facts as they come, of each key the newest row alone.
 * @param unwritten tables of which there is no insert
 * @param chunks where the inserts have their memory from
 */
export function createBatchRows(unwritten: ReadonlySet<Table> = new Set(), chunks: Chunks = createChunks()) {
  const written = new Map<Table, { writer: RowWriter; keys: string[] }>();
  const newest = new Map<Table, Map<string, object>>();

  function write(table: Table, row: object): void {
    const { writer, keys } = entryOf(written, table, () => ({ writer: chunks.writer(), keys: [] }));
    table.write(writer, row);
    if (table.steps.length === 0) keys.push(table.keyLiteral(row));
  }

  return {
    add(step: Pick<GrowingRows, 'all'>): void {
      for (const [table, rows] of step.all()) {
        if (unwritten.has(table)) continue;
        if ('length' in rows) {
          for (const row of rows) write(table, row);
          continue;
        }
        const kept = entryOf(newest, table, () => new Map<string, object>());
        for (const [key, row] of rows) keepNewest(kept, table, key, row);
      }
    },
    /** @param pause waited for between rows */
    async inserts(pause: () => Promise<void> | undefined): Promise<Insert[]> {
      for (const [table, rows] of newest) {
        for (const row of rows.values()) {
          await pause();
          write(table, row);
        }
      }
      newest.clear();
      return [...written].map(([table, { writer, keys }]) => ({
        table,
        rows: writer.rows,
        chunks: writer.take(),
        keys,
      }));
    },
  };
}
