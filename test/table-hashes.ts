/** What the projected tables hold, as one hash a table, and in which rows two databases differ. */
import { z } from 'zod';
import type { ClickHouse } from '../clickhouse/client.ts';
import { identifier, textLiteral } from '../clickhouse/literal.ts';
import { TABLES } from '../clickhouse/tables/all.ts';
import { columnNames, indexColumns, indexSelect } from '../clickhouse/tables/sql.ts';

const options = { label: 'hashing a table', timeoutMs: 60_000 };

/** Tables that tell how the projection was made, not what it holds. */
const BOOKKEEPING = ['leases', 'migrations', 'projection_state', 'projection_versions', 'projectors'];

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
  // One statement of them all: a statement of its own for each takes twice the CPU time.
  const statements = names.map(
    (name) =>
      `SELECT ${textLiteral(name)} AS name, concat(toString(count()), ' rows, ', toString(sum(cityHash64(toString(tuple(*)))))) AS text FROM ${rowsOf(name, clickhouse.database)}`,
  );
  const hashed = await clickhouse.json(
    statements.join(' UNION ALL '),
    z.object({ name: z.string(), text: z.string() }),
    options,
  );
  const hashes: Record<string, string> = Object.fromEntries(hashed.map(({ name, text }) => [name, text]));
  hashes.position = await oneText(
    clickhouse,
    `SELECT toString((max(next_offset), max(next_cell), max(mc_seqno), argMax(hex(root_hash), number), sum(transactions), sum(messages), sum(blocks))) AS text
     FROM (SELECT * FROM projection_state WHERE done LIMIT 1 BY number)`,
  );
  return hashes;
}

const SHOWN_ROWS = 4;
/** Of a value, bytes as hex. */
const SHOWN_CHARACTERS = 160;
/** Told whichever table differs: what a contract still waits for explains most differences of the others. */
const ALWAYS_SHOWN = 'contract_waits';

/**
 * What to print when the hashes of two databases of one server differ: of each table that does, rows that only one of
 * them has, text as hex. Empty when no hash differs.
 */
export async function tableDifferences(clickhouse: ClickHouse, one: string, other: string): Promise<string> {
  const [left, right] = [clickhouse.withDatabase(one), clickhouse.withDatabase(other)];
  try {
    const [hashes, expected] = [await tableHashes(left), await tableHashes(right)];
    const names = Object.keys({ ...hashes, ...expected }).filter((name) => hashes[name] !== expected[name]);
    if (names.length === 0) return '';
    const lines = names.map((name) => `${name}: ${hashes[name]} in ${one}, ${expected[name]} in ${other}`);
    for (const name of new Set([...names, ALWAYS_SHOWN])) {
      if (hashes[name] === undefined || expected[name] === undefined || name === 'position') continue;
      const columns = await shownColumns(clickhouse, name, one);
      for (const [has, lacks] of [
        [one, other],
        [other, one],
      ]) {
        const sql = `SELECT ${columns} FROM ${rowsOf(name, has)} EXCEPT SELECT ${columns} FROM ${rowsOf(name, lacks)}`;
        const rows = await clickhouse.json(
          `SELECT * FROM (${sql}) LIMIT ${SHOWN_ROWS}`,
          z.record(z.string(), z.unknown()),
          options,
        );
        lines.push(...rows.map((row) => `  ${name}, only in ${has}: ${JSON.stringify(row)}`));
      }
    }
    return lines.join('\n');
  } finally {
    await left.close();
    await right.close();
  }
}

/** The columns of the rows that count, as text of bounded length. */
async function shownColumns(clickhouse: ClickHouse, name: string, database: string): Promise<string> {
  const described = await clickhouse.json(
    `DESCRIBE (SELECT * FROM ${rowsOf(name, database)})`,
    z.object({ name: z.string(), type: z.string() }),
    options,
  );
  return described
    .map(({ name: column, type }) => {
      const value = identifier(column);
      const isBytes = /String/.test(type) && !/^(Array|Map|Tuple)/.test(type);
      return `left(${isBytes ? `hex(${value})` : `toString(${value})`}, ${SHOWN_CHARACTERS}) AS ${identifier(`${column}_`)}`;
    })
    .join(', ');
}

/** The rows of a table that count. */
function rowsOf(name: string, database: string): string {
  const stored = (table: string): string => `${identifier(database)}.${identifier(table)}`;
  const declared = TABLES.find((table) => table.name === name);
  // Pairs of a signed table vanish at merges only.
  if (declared?.kind === 'pairs') {
    const key = columnNames(declared.key).join(', ');
    return `(SELECT ${key}, maxIf(mc_seqno, sign = 1) AS newest, sum(sign) AS net FROM ${stored(name)} GROUP BY ${key} HAVING net != 0)`;
  }
  // Entries of rows that were replaced: how many there are depends on the batches.
  const source = TABLES.find((table) => table.indexes.some((index) => index.name === name && index.stays));
  const index = source?.indexes.find((one) => one.name === name);
  if (source === undefined || index === undefined) return `${stored(name)} FINAL`;
  const columns = indexColumns(index).join(', ');
  return `(SELECT * FROM ${stored(name)} FINAL WHERE (${columns}) IN (SELECT ${indexSelect(source, index).columns} FROM ${stored(source.name)} FINAL))`;
}

async function oneText(clickhouse: ClickHouse, sql: string): Promise<string> {
  const [row] = await clickhouse.json(sql, z.object({ text: z.string() }), options);
  return row.text;
}
