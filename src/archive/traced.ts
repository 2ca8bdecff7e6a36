/** Traces and actions of some steps out of the tables, with the accounts that they are found by. */
import type { ClickHouse } from '../../clickhouse/client.ts';
import { collect } from '../../clickhouse/queries/reading.ts';
import { RowReader } from '../../clickhouse/rowbinary.ts';
import { actionAccounts, actions } from '../../clickhouse/tables/actions.ts';
import { columnNames, tableColumns } from '../../clickhouse/tables/sql.ts';
import { readerOf, type Table } from '../../clickhouse/tables/table.ts';
import { traceAccounts, traces } from '../../clickhouse/tables/traces.ts';
import { hashKey } from '../chain/hash.ts';
import { encodeListing } from '../window/kind.ts';
import { traceKind } from '../window/kinds.ts';
import { grouped, type ToldAction, toldActions } from '../window/step.ts';
import type { ArchivedRow } from './kinds.ts';

interface Reading {
  clickhouse: Pick<ClickHouse, 'query'>;
  low: number;
  high: number;
  signal: AbortSignal;
  timeoutMs: number;
}

/**
 * Rows of a table by step, then key, once each: a repeated batch leaves them twice until they are merged. Of what is kept
 * newest, those that a later step has written anew may still be there.
 */
export async function rowsOf<R>(
  table: Pick<Table, 'name' | 'columns' | 'key'>,
  { clickhouse, low, high, signal, timeoutMs }: Reading,
  read: (rows: RowReader) => R,
): Promise<R[]> {
  const key = [...new Set(columnNames(['mcSeqno', ...table.key]))].join(', ');
  const sql = `SELECT ${tableColumns(table)} FROM ${table.name} WHERE mc_seqno BETWEEN ${low} AND ${high} ORDER BY ${key} LIMIT 1 BY ${key}`;
  const rows = await clickhouse.query(sql, { label: `${table.name} of steps`, signal, timeoutMs });
  return collect(new RowReader(rows), read);
}

export async function readTraces(reading: Reading): Promise<ArchivedRow[]> {
  const rows = await rowsOf(traces, reading, readerOf(traces.columns));
  const keyOf = ({ traceId, mcSeqno }: { traceId: Buffer; mcSeqno: number }): string => hashKey(traceId) + mcSeqno;
  const accounts = grouped(await rowsOf(traceAccounts, reading, readerOf(traceAccounts.columns)), keyOf);
  return rows.map((row) => {
    const own = row.state === 'complete' ? (accounts.get(keyOf(row)) ?? []) : [];
    return { mcSeqno: row.mcSeqno, row: encodeListing(traceKind, row, own, [row.places]) };
  });
}

export async function readActions(reading: Reading): Promise<ToldAction[]> {
  return toldActions(
    await rowsOf(actions, reading, readerOf(actions.columns)),
    await rowsOf(actionAccounts, reading, readerOf(actionAccounts.columns)),
    null,
  );
}
