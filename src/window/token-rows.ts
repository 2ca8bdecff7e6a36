/** Rows about tokens on their way from a table to window and archive. */
import type { RowReader } from '../../clickhouse/rowbinary.ts';
import {
  type Columns,
  type RowOf,
  readerOf,
  type StepRows,
  type Table,
  type TableOf,
} from '../../clickhouse/tables/table.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, Decimal, Hash } from '../chain/model.ts';
import type { Kind } from './kind.ts';

/** The hash of a transaction of the same step. */
export type HashOf = (account: Address, lt: Decimal) => Hash;

interface Named {
  account: Address;
  lt: Decimal;
  hash: Hash;
}

/** Of these; they are looked at when the first is asked for, as most steps have no events. */
export function hashesOf(transactions: () => Iterable<Named>): HashOf {
  const keyOf = (account: Address, lt: Decimal): string => hashKey(account) + lt;
  let hashes: Map<string, Hash> | null = null;
  return (account, lt) => {
    hashes ??= new Map(Array.from(transactions(), (one) => [keyOf(one.account, one.lt), one.hash]));
    const hash = hashes.get(keyOf(account, lt));
    if (!hash) throw new Error(`there is no transaction ${lt} of an event of ${account.toString('hex')}`);
    return hash;
  };
}

/** A kind, and how its rows are made of those of a table. */
export interface TokenRows {
  kind: Kind;
  table: Pick<Table, 'name' | 'columns' | 'key' | 'kind'>;
  /** Those of a step. */
  of(step: StepRows, hashOf: HashOf): Buffer[];
  /** The next row of the table, all columns; `row`: null where it is shown to nobody. */
  read(rows: RowReader, hashOf: HashOf): { mcSeqno: number; row: Buffer | null };
}

/** @param encode null for what is shown to nobody */
export function tokenRows<C extends Columns, R extends RowOf<C> & { mcSeqno: number }>(
  kind: Kind,
  table: TableOf<C, R>,
  encode: (row: R, hashOf: HashOf) => Buffer | null,
): TokenRows {
  const readRow = readerOf(table.columns);
  return {
    kind,
    table,
    of: (step, hashOf) => step.of(table).flatMap((row) => encode(row, hashOf) ?? []),
    read(rows, hashOf) {
      // These tables have nothing besides their columns.
      const row = readRow(rows) as R;
      return { mcSeqno: row.mcSeqno, row: encode(row, hashOf) };
    },
  };
}
