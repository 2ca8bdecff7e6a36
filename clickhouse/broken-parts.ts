import { z } from 'zod';
import { type ClickHouse, ClickHouseQueryError } from './client.ts';
import { textLiteral } from './literal.ts';

const brokenRow = z.object({ table: z.string() });

/**
 * What is wrong with the tables, in words; null for nothing. A part of a table that cannot be read when the server starts
 * (a damaged disk, a power cut) is set aside by the server, which goes on without its rows: `system.detached_parts`, by a
 * reason that begins with `broken`.
 */
export async function brokenParts(clickhouse: Pick<ClickHouse, 'json' | 'database'>): Promise<string | null> {
  const sql = `SELECT DISTINCT table FROM system.detached_parts
    WHERE database = ${textLiteral(clickhouse.database)} AND startsWith(assumeNotNull(reason), 'broken') ORDER BY table`;
  const broken = await clickhouse
    .json(sql, brokenRow, { label: 'looking for broken parts' })
    .catch((error: unknown): { table: string }[] => {
      // On a server of one's own the right to look may be missing.
      if (error instanceof ClickHouseQueryError && error.serverType === 'ACCESS_DENIED') return [];
      throw error;
    });
  if (broken.length === 0) return null;
  const tables = broken.map(({ table }) => table).join(', ');
  return `ClickHouse has set broken parts aside, rows may be missing (in ${tables}): tonstream verify compares them with the log, tonstream rebuild makes them anew`;
}
