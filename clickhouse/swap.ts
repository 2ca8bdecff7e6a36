import { z } from 'zod';
import type { ClickHouse } from './client.ts';
import { identifier, list, textLiteral } from './literal.ts';
import type { Table } from './tables/table.ts';

const tableRow = z.object({ name: z.string(), uuid: z.string() });

/** Database a rebuild works in. */
export function rebuildDatabase(clickhouse: ClickHouse): string {
  return `${clickhouse.database}_rebuild`;
}

/** These say what the others are, so they come last. */
const LAST = ['projection_versions', 'projection_state'];

/** In the database of a rebuild: tables of the live one in the place of its own, to be read alone. */
export async function borrowTables(
  fresh: ClickHouse,
  live: ClickHouse,
  tables: readonly Table[],
  signal: AbortSignal,
): Promise<void> {
  for (const name of namesOf(tables)) {
    const label = `borrowing ${name}`;
    const [own, borrowed] = [identifier(name), `${identifier(live.database)}.${identifier(name)}`];
    await fresh.command(`DROP TABLE ${own} SYNC`, { label, signal });
    const engine = `Merge(${textLiteral(live.database)}, ${textLiteral(`^${name}$`)})`;
    await fresh.command(`CREATE TABLE ${own} AS ${borrowed} ENGINE = ${engine}`, { label, signal });
  }
}

/** Of tables and their indexes. */
const namesOf = (tables: readonly Table[]): string[] =>
  tables.flatMap(({ name, indexes }) => [name, ...indexes.map((index) => index.name)]);

/**
 * Notes which tables are to take the place of the old ones, so that a crash in between is continued, not begun anew.
 * @param tables those of them that are meant, with their indexes. Default: all
 */
export async function beginSwap(fresh: ClickHouse, signal: AbortSignal, tables?: readonly Table[]): Promise<void> {
  const label = 'preparing the exchange of tables';
  const meant = tables ? `AND name IN ${list([...namesOf(tables), 'projection_versions'].map(textLiteral))}` : '';
  await fresh.command('CREATE TABLE swap_list (name String, uuid String) ENGINE = MergeTree ORDER BY name', {
    label,
    signal,
  });
  await fresh.command(
    `INSERT INTO swap_list SELECT name, toString(uuid) FROM system.tables
     WHERE database = '${fresh.database}' AND engine LIKE '%MergeTree' AND name NOT IN ('swap_list', 'migrations') ${meant}`,
    { label, signal },
  );
  // From here on the new tables are the ones that count.
  await fresh.command('RENAME TABLE swap_list TO swap', { label, signal });
}

/**
 * Exchanges the tables noted by a rebuild and drops the old ones. Views stay: they go by name, so they feed the new
 * tables. Run at every start, in case a rebuild was killed half way. True when there was something to do.
 */
export async function finishSwap(clickhouse: ClickHouse, signal: AbortSignal): Promise<boolean> {
  const from = rebuildDatabase(clickhouse);
  const label = 'exchanging tables';
  const noted = await clickhouse.json(
    `SELECT name, toString(uuid) AS uuid FROM system.tables WHERE database = '${from}' AND name = 'swap'`,
    tableRow,
    { label, signal },
  );
  if (noted.length === 0) return false;
  const tables = await clickhouse.json(
    `SELECT name, uuid FROM ${identifier(from)}.swap ORDER BY name IN ${list(LAST.map(textLiteral))}, name`,
    tableRow,
    {
      label,
      signal,
    },
  );
  for (const { name } of await missing(clickhouse, tables, signal)) {
    const pair = [clickhouse.database, from].map((database) => `${identifier(database)}.${identifier(name)}`);
    await clickhouse.command(`EXCHANGE TABLES ${pair.join(' AND ')}`, { label, signal });
  }
  // An exchange whose answer was lost may have been done after it was asked for again, and so undone.
  const wrong = await missing(clickhouse, tables, signal);
  if (wrong.length > 0) {
    const names = wrong.map(({ name }) => name).join(', ');
    throw new Error(`${names} of database ${clickhouse.database} did not take the place of the former: start again`);
  }
  await clickhouse.command(`DROP DATABASE ${identifier(from)} SYNC`, { label: 'dropping the former tables', signal });
  return true;
}

/** Those of the tables that are not in the live database. */
async function missing(clickhouse: ClickHouse, tables: z.output<typeof tableRow>[], signal: AbortSignal) {
  const live = await clickhouse.json(
    `SELECT name, toString(uuid) AS uuid FROM system.tables WHERE database = '${clickhouse.database}'`,
    tableRow,
    { label: 'reading which tables are live', signal },
  );
  return tables.filter(({ name, uuid }) => !live.some((table) => table.name === name && table.uuid === uuid));
}
