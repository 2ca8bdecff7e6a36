/** What the projected tables hold, as one hash a table. */
import { z } from 'zod';
import type { ClickHouse } from '../clickhouse/client.ts';
import { identifier } from '../clickhouse/literal.ts';
import { TABLES } from '../clickhouse/tables/all.ts';
import { columnNames, indexColumns, indexSelect } from '../clickhouse/tables/sql.ts';

const options = { label: 'hashing a table', timeoutMs: 60_000 };

/** Tables that tell how the projection was made, not what it holds. */
const BOOKKEEPING = ['migrations', 'projection_state', 'projectors'];

/**
 * Count and sum of row hashes of every table, doubled rows merged, and the end of the projection. Equal when the
 * tables are, row for row, whatever the order of the rows.
 */
export async function tableHashes(clickhouse: ClickHouse): Promise<Record<string, string>> {
  const tables = await clickhouse.json(
    `SELECT name FROM system.tables WHERE database = '${clickhouse.database}' AND engine LIKE '%MergeTree' ORDER BY name`,
    z.object({ name: z.string() }),
    options,
  );
  const names = tables.map(({ name }) => name).filter((name) => !BOOKKEEPING.includes(name));
  const hashes: Record<string, string> = {};
  for (const name of names) {
    const rows = rowsOf(name);
    hashes[name] = await oneText(
      clickhouse,
      `SELECT concat(toString(count()), ' rows, ', toString(sum(cityHash64(toString(tuple(*)))))) AS text FROM ${rows}`,
    );
  }
  hashes.position = await oneText(
    clickhouse,
    `SELECT toString((max(next_offset), max(next_cell), max(mc_seqno), argMax(hex(root_hash), number), sum(transactions), sum(messages), sum(blocks))) AS text
     FROM (SELECT * FROM projection_state WHERE done LIMIT 1 BY number)`,
  );
  return hashes;
}

/** The rows of a table that count. */
function rowsOf(name: string): string {
  const declared = TABLES.find((table) => table.name === name);
  // Pairs of a signed table vanish at merges only.
  if (declared?.kind === 'pairs') {
    const key = columnNames(declared.key).join(', ');
    return `(SELECT ${key}, maxIf(mc_seqno, sign = 1), sum(sign) AS net FROM ${name} GROUP BY ${key} HAVING net != 0)`;
  }
  // Entries of rows that were replaced: how many there are depends on the batches.
  const source = TABLES.find((table) => table.indexes.some((index) => index.name === name && index.stays));
  const index = source?.indexes.find((one) => one.name === name);
  if (source === undefined || index === undefined) return `${identifier(name)} FINAL`;
  const columns = indexColumns(index).join(', ');
  return `(SELECT * FROM ${name} FINAL WHERE (${columns}) IN (SELECT ${indexSelect(source, index).columns} FROM ${source.name} FINAL))`;
}

async function oneText(clickhouse: ClickHouse, sql: string): Promise<string> {
  const [row] = await clickhouse.json(sql, z.object({ text: z.string() }), options);
  return row.text;
}
