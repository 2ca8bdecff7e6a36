import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type ClickHouse, ClickHouseQueryError } from './client.ts';
import { identifier, list, textLiteral } from './literal.ts';
import { type MigrateOptions, migrate } from './migrate.ts';
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
 * @param mayBegin throws where it must not be: a projector that begins later calls it off
 */
export async function beginSwap(
  fresh: ClickHouse,
  signal: AbortSignal,
  { tables, mayBegin }: { tables?: readonly Table[] | undefined; mayBegin?: () => Promise<void> } = {},
): Promise<void> {
  const label = 'preparing the exchange of tables';
  const meant = tables ? `AND name IN ${list([...namesOf(tables), 'projection_versions'].map(textLiteral))}` : '';
  await fresh.command('CREATE TABLE swap_list (name String, uuid String) ENGINE = MergeTree ORDER BY name', {
    label,
    signal,
  });
  await fresh.command(
    `INSERT INTO swap_list SELECT name, toString(uuid) FROM system.tables
     WHERE database = '${fresh.database}' AND engine LIKE '%MergeTree' AND name NOT IN ('swap_list', 'migrations', 'leases') ${meant}`,
    { label, signal },
  );
  // Behind the list: whoever claims the tables after this answer finds it.
  await mayBegin?.();
  // From here on the new tables are the ones that count.
  await fresh.command('RENAME TABLE swap_list TO swap', { label, signal });
}

/**
 * At a start: the tables as this version has them. First come those of a rebuild that was killed in the exchange, for
 * they are as its version made them.
 * @returns whether there was such a rebuild
 */
export async function bringUp(options: MigrateOptions): Promise<boolean> {
  const isFinished = await finishSwap(options.clickhouse, options.signal ?? new AbortController().signal);
  await migrate(options);
  return isFinished;
}

/**
 * To be asked by who has just claimed the live tables, before he writes: a rebuild that was about to put others in their
 * place cannot do so any more.
 * @returns false when it has begun to
 */
export async function callOffSwap(clickhouse: ClickHouse, signal: AbortSignal): Promise<boolean> {
  const from = rebuildDatabase(clickhouse);
  const noted = async () =>
    (await tablesNamed(clickhouse, from, "name IN ('swap_list', 'swap')", signal)).map(({ name }) => name);
  if ((await noted()).includes('swap_list')) {
    const sql = `DROP TABLE IF EXISTS ${identifier(from)}.swap_list SYNC`;
    await clickhouse.command(sql, { label: 'calling off an exchange of tables', signal });
  }
  return !(await noted()).includes('swap');
}

/** Another process may be at the same work: what is left is looked at anew so often. */
const TRIES = 50;
const PAUSE_MS = 20;
const GONE = new Set(['UNKNOWN_TABLE', 'UNKNOWN_DATABASE']);

const label = 'exchanging tables';

type Meant = z.output<typeof tableRow>;

/**
 * Exchanges the tables noted by a rebuild and drops the old ones. Views stay: they go by name, so they feed the new
 * tables. Run at every start, in case a rebuild was killed half way, also while another process does it. True when there
 * was something to do.
 */
export async function finishSwap(clickhouse: ClickHouse, signal: AbortSignal): Promise<boolean> {
  const from = rebuildDatabase(clickhouse);
  for (let tries = 0; ; tries++) {
    const tables = await notedTables(clickhouse, from, signal);
    if (tables === null) return tries > 0;
    try {
      const waiting = await tablesNamed(clickhouse, from, 'true', signal);
      for (const { name, uuid } of tables) {
        const found = waiting.find((table) => table.uuid === uuid);
        // Else it is in its place already.
        if (found) await putInPlace(clickhouse, { name, uuid }, found.name, signal);
      }
      const wrong = await missing(clickhouse, tables, signal);
      if (wrong.length === 0) {
        await clickhouse.command(`DROP DATABASE ${identifier(from)} SYNC`, {
          label: 'dropping the former tables',
          signal,
        });
        return true;
      }
      const names = wrong.map(({ name }) => name).join(', ');
      if (tries >= TRIES)
        throw new Error(
          `${names} of database ${clickhouse.database} did not take the place of the former: start again`,
        );
    } catch (error) {
      if (!isGone(error) || tries >= TRIES) throw error;
    }
    await sleep(PAUSE_MS * (1 + Math.random()), undefined, { signal });
  }
}

/** Which tables are to be exchanged; null when no rebuild has noted any, as before there are tables at all. */
async function notedTables(clickhouse: ClickHouse, from: string, signal: AbortSignal): Promise<Meant[] | null> {
  try {
    if ((await tablesNamed(clickhouse, from, "name = 'swap'", signal)).length === 0) return null;
    const order = `name IN ${list(LAST.map(textLiteral))}, name`;
    const sql = `SELECT name, uuid FROM ${identifier(from)}.swap ORDER BY ${order}`;
    return await clickhouse.json(sql, tableRow, { label, signal });
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

const isGone = (error: unknown): boolean => error instanceof ClickHouseQueryError && GONE.has(error.serverType ?? '');

/**
 * An exchange that is done twice is undone: by another process, or when its answer was lost. So it is asked for under a
 * name that nobody else uses, and whoever goes on gives the table another one first: an earlier exchange that comes
 * later then finds nothing.
 */
async function putInPlace(
  clickhouse: ClickHouse,
  { name, uuid }: Meant,
  found: string,
  signal: AbortSignal,
): Promise<void> {
  const from = rebuildDatabase(clickhouse);
  const own = `${name}_${randomUUID().replaceAll('-', '')}`;
  const at = (database: string, table: string): string => `${identifier(database)}.${identifier(table)}`;
  await clickhouse.command(`RENAME TABLE ${at(from, found)} TO ${at(from, own)}`, { label, signal });
  // It may have been exchanged between the two: then it is the old one that has this name.
  const [taken] = await tablesNamed(clickhouse, from, `name = ${textLiteral(own)}`, signal);
  if (taken?.uuid !== uuid) return;
  const exchange = `EXCHANGE TABLES ${at(clickhouse.database, name)} AND ${at(from, own)}`;
  await clickhouse.command(exchange, { label, signal });
}

function tablesNamed(clickhouse: ClickHouse, database: string, which: string, signal: AbortSignal): Promise<Meant[]> {
  const sql = `SELECT name, toString(uuid) AS uuid FROM system.tables WHERE database = ${textLiteral(database)} AND ${which}`;
  return clickhouse.json(sql, tableRow, { label, signal });
}

/** Those of the tables that are not in the live database. */
async function missing(clickhouse: ClickHouse, tables: Meant[], signal: AbortSignal): Promise<Meant[]> {
  const live = await tablesNamed(clickhouse, clickhouse.database, 'true', signal);
  return tables.filter(({ name, uuid }) => !live.some((table) => table.name === name && table.uuid === uuid));
}
