import { RowWriter } from '../../clickhouse/rowbinary.ts';
import type { Columns, RowOf, Table, TableOf } from '../../clickhouse/tables/table.ts';

/** One insert: a table and its rows in RowBinary. */
export interface Insert {
  table: Table;
  rows: number;
  chunks: Buffer[];
  /** Keys of the rows as literals, where no step names them. */
  keys: string[];
}

export type BatchRows = ReturnType<typeof createBatchRows>;

/** Collects the rows of one batch. Of a table that keeps the newest of a key, one row a key goes in. */
export function createBatchRows() {
  const tables = new Map<Table, TableRows>();
  return {
    add<C extends Columns>(table: TableOf<C>, row: RowOf<C>): void {
      let rows = tables.get(table);
      if (!rows) {
        rows = table.kind === 'newest' ? newestRows(table) : allRows(table);
        tables.set(table, rows);
      }
      rows.add(row);
    },
    /** @param pause waited for between rows */
    async inserts(pause: () => Promise<void> | undefined): Promise<Insert[]> {
      const inserts: Insert[] = [];
      for (const rows of tables.values()) inserts.push(await rows.insert(pause));
      return inserts;
    },
  };
}

interface TableRows {
  add(row: RowOf<Columns>): void;
  insert(pause: () => Promise<void> | undefined): Promise<Insert>;
}

/** Written as they come. */
function allRows(table: Table): TableRows {
  const writer = new RowWriter();
  const keys: string[] = [];
  return {
    add(row) {
      table.write(writer, row);
      if (table.steps.length === 0) keys.push(keyLiteral(table, row));
    },
    insert: async () => ({ table, rows: writer.rows, chunks: writer.take(), keys }),
  };
}

/** The last row of each key, unless it has an earlier version than the one before. */
function newestRows(table: Table): TableRows {
  const { version = '', columns } = table;
  const { order } = columns[version];
  if (order === undefined) throw new Error(`table ${table.name}: ${version} has no order`);
  const newest = new Map<string, RowOf<Columns>>();
  return {
    add(row) {
      const key = table.keyOf(row);
      const other = newest.get(key);
      if (other === undefined || order.compare(row[version], other[version]) >= 0) newest.set(key, row);
    },
    async insert(pause) {
      const writer = new RowWriter();
      for (const row of newest.values()) {
        await pause();
        table.write(writer, row);
      }
      return { table, rows: writer.rows, chunks: writer.take(), keys: [] };
    },
  };
}

function keyLiteral({ key, columns }: Table, row: RowOf<Columns>): string {
  const values = key.map((name) => columns[name].literal(row[name]));
  return values.length === 1 ? values[0] : `(${values.join(', ')})`;
}
