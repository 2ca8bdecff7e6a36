import { setTimeout as sleep } from 'node:timers/promises';
import type { ClickHouse } from './client.ts';
import { list, textLiteral } from './literal.ts';
import type { Head } from './queries/head.ts';
import { RowReader } from './rowbinary.ts';
import { TABLES } from './tables/all.ts';

const TIMEOUT_MS = 60_000;
/** For so long a process may answer from what it remembers of former tables. */
const EVERY_MS = 2_000;

/** Which tables these are: others after a rebuild, also of a part of them, and when they were dropped. */
export async function tablesId(clickhouse: Pick<ClickHouse, 'query'>, signal: AbortSignal): Promise<string> {
  const names = list(TABLES.map(({ name }) => textLiteral(name)));
  const sql = `SELECT hex(groupBitXor(cityHash64(name, uuid))) FROM system.tables WHERE database = currentDatabase() AND name IN ${names}`;
  const rows = new RowReader(
    await clickhouse.query(sql, { label: 'ids of the tables', signal, timeoutMs: TIMEOUT_MS }),
  );
  return rows.bytes().toString();
}

/**
 * Tells a head which tables these are, until the signal aborts: tables that are away tell nothing of others.
 * @param onError told once of what goes wrong, until it works again
 */
export async function followTables(
  clickhouse: Pick<ClickHouse, 'query'>,
  head: Pick<Head, 'belongTo'>,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  let isAway = false;
  while (!signal.aborted) {
    try {
      head.belongTo(await tablesId(clickhouse, signal));
      isAway = false;
    } catch (error) {
      if (!isAway && !signal.aborted) onError(error);
      isAway = true;
    }
    await sleep(EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

/** What was told by the tables with an id; when others have taken their place, it begins anew. */
export function perTables<T>(begin: () => T): (tables: string) => T {
  let [of, memory] = ['', begin()];
  return (tables) => {
    if (of !== tables) [of, memory] = [tables, begin()];
    return memory;
  };
}
