/** All views, and how they come into their database. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { ClickHouse } from '../client.ts';
import { identifier, textLiteral } from '../literal.ts';
import { chainViews } from './chain.ts';
import { opcodesView } from './opcodes.ts';
import { statisticsViews } from './statistics.ts';
import { tokenViews } from './tokens.ts';
import { tablesOf, type View } from './view.ts';

export const VIEWS: readonly View[] = [...chainViews, ...tokenViews, ...statisticsViews, opcodesView];

const made = z.object({ name: z.string(), comment: z.string(), tables: z.string(), areThere: z.number() });

/** The views of a database are those of another service, which goes on needing them. */
export class ViewsOfOthers extends Error {
  override name = 'ViewsOfOthers';
}

/**
 * Brings the views into their database: new and changed ones are made, others of the database dropped. They read the
 * tables with the rights of whoever made them, by name, so a rebuild of the tables leaves them as they are.
 *
 * @param clickhouse speaks to the database of the tables
 * @param database of the views, which holds nothing else
 * @throws {ViewsOfOthers} when they read other tables, which are there
 */
export async function makeViews(clickhouse: ClickHouse, database: string, signal: AbortSignal): Promise<void> {
  const label = 'making the views';
  await clickhouse.command(`CREATE DATABASE IF NOT EXISTS ${identifier(database)}`, { label, signal });
  const found = await ownViews(clickhouse, database, signal);
  const comments = new Map(found.map(({ name, comment }) => [name, comment]));
  const tables = tablesOf(clickhouse.database);
  for (const view of VIEWS) {
    const select = view.select(tables);
    const comment = createHash('sha256').update(select).digest('hex');
    if (comments.get(view.name) === comment) continue;
    await clickhouse.command(
      `CREATE OR REPLACE VIEW ${identifier(database)}.${identifier(view.name)}
       DEFINER = CURRENT_USER SQL SECURITY DEFINER AS ${select} COMMENT ${textLiteral(comment)}`,
      { label, signal },
    );
  }
  const known = new Set(VIEWS.map(({ name }) => name));
  for (const { name } of found) {
    if (known.has(name)) continue;
    await clickhouse.command(`DROP VIEW ${identifier(database)}.${identifier(name)}`, { label, signal });
  }
}

/**
 * The views that a database has by now.
 *
 * @throws {ViewsOfOthers} when they read other tables than those of `clickhouse`, which are there
 */
export async function ownViews(
  clickhouse: ClickHouse,
  database: string,
  signal: AbortSignal,
): Promise<Pick<z.output<typeof made>, 'name' | 'comment'>[]> {
  const found = await clickhouse.json(
    `SELECT name, comment, extract(as_select, '(\\w+)\`?\\.\`?projection_state') AS tables,
       tables IN (SELECT database FROM system.tables WHERE name = 'projection_state') AS areThere
     FROM system.tables WHERE database = ${textLiteral(database)} AND engine = 'View'`,
    made,
    { label: 'looking whose views there are', signal },
  );
  const others = found.find(({ tables, areThere }) => areThere === 1 && tables !== clickhouse.database);
  if (others === undefined) return found;
  throw new ViewsOfOthers(
    `the views in the database ${database} read the tables of the database ${others.tables}, not of ` +
      `${clickhouse.database}: start with another --sql-database, or drop the database ${database} if it is used no more`,
  );
}
