/**
 * Which contracts a table has rows of, for as long as they are few: most kinds of contract are rare, and most accounts of
 * a step are none of them, so most questions need no statement.
 */
import type { ClickHouse } from '../../clickhouse/client.ts';
import { RowReader } from '../../clickhouse/rowbinary.ts';
import type { Address } from '../../src/chain/model.ts';
import { READ_TIMEOUT_MS } from './patience.ts';

/** Contracts of one table that are remembered. */
const MOST_FEW = 10_000;

export interface Few {
  /** What the table has, read once: before anything that its only writer has on the way. */
  load(signal: AbortSignal): Promise<void>;
  /** Whether the table may have rows of it. */
  may(key: string): boolean;
  /** A row is on its way into the table. */
  add(key: string): void;
}

/**
 * Of a table that nobody else writes.
 * @param keyOf by which contracts are named here
 */
export function createFew(
  clickhouse: Pick<ClickHouse, 'query'>,
  table: string,
  keyOf: (address: Address) => string,
  most = MOST_FEW,
): Few {
  let known: Set<string> | 'many' | null = null;

  function add(key: string): void {
    if (!(known instanceof Set)) return;
    known.add(key);
    if (known.size > most) known = 'many';
  }

  return {
    async load(signal) {
      if (known !== null) return;
      const sql = `SELECT DISTINCT address FROM ${table} LIMIT ${most + 1}`;
      const label = 'reading which contracts there are few of';
      const rows = new RowReader(await clickhouse.query(sql, { label, signal, timeoutMs: READ_TIMEOUT_MS }));
      known = new Set();
      while (!rows.done) add(keyOf(rows.fixed(36)));
    },
    may: (key) => !(known instanceof Set) || known.has(key),
    add,
  };
}
