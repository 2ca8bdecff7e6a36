import type { ClickHouse } from './client.ts';
import { list, textLiteral } from './literal.ts';
import { RowReader } from './rowbinary.ts';
import { TABLES } from './tables/all.ts';

const TIMEOUT_MS = 60_000;

/** Which tables these are: others after a rebuild, also of a part of them, and when they were dropped. */
export async function tablesId(clickhouse: Pick<ClickHouse, 'query'>, signal: AbortSignal): Promise<string> {
  const names = list(TABLES.map(({ name }) => textLiteral(name)));
  const sql = `SELECT hex(groupBitXor(cityHash64(name, uuid))) FROM system.tables WHERE database = currentDatabase() AND name IN ${names}`;
  const rows = new RowReader(
    await clickhouse.query(sql, { label: 'ids of the tables', signal, timeoutMs: TIMEOUT_MS }),
  );
  return rows.bytes().toString();
}
