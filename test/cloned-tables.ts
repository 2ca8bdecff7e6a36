/** Copies of projected tables, which take a fraction of the time that projecting them again does. */
import { z } from 'zod';
import type { ClickHouse } from '../clickhouse/client.ts';
import { identifier, textLiteral } from '../clickhouse/literal.ts';

const listed = z.object({ name: z.string(), isView: z.number(), statement: z.string() });

/** Makes the database with the tables and views of the database `from` as they are; parts on disk are shared. */
export async function cloneTables(clickhouse: ClickHouse, from: string): Promise<void> {
  const to = clickhouse.database;
  const system = clickhouse.withDatabase('system');
  await system.command(`CREATE DATABASE ${identifier(to)}`);
  await system.close();
  const tables = await clickhouse.json(
    `SELECT name, engine = 'MaterializedView' AS isView, create_table_query AS statement
     FROM system.tables WHERE database = ${textLiteral(from)} AND (isView OR engine LIKE '%MergeTree') ORDER BY isView, name`,
    listed,
  );
  if (tables.length === 0) throw new Error(`there are no tables in ${from}`);
  for (const { name, isView, statement } of tables) {
    const table = identifier(name);
    if (isView) await clickhouse.command(statement.replaceAll(`${from}.`, `${to}.`));
    else await clickhouse.command(`CREATE TABLE ${table} CLONE AS ${identifier(from)}.${table}`);
  }
}
