import type { QueryContext } from '../../src/chain/records.ts';
import type { ClickHouse } from '../client.ts';
import type { QueryGate } from '../gate.ts';
import { RowReader } from '../rowbinary.ts';
import type { Head } from './head.ts';

/** What every query of the API goes through: the gate before the server, the head above which nothing is shown. */
export interface Reading {
  head: Pick<Head, 'seqno'>;
  /** Runs a SELECT when its turn has come. `label` names it in errors and metrics. */
  rows(sql: string, label: string, context: QueryContext): Promise<RowReader>;
}

/** For tables that hold the newest version only. */
export interface NewestReading extends Reading {
  head: Pick<Head, 'seqno' | 'inTables' | 'reach'>;
}

/** For what is kept up to date with the head. */
export interface FollowingReading extends NewestReading {
  head: Pick<Head, 'seqno' | 'inTables' | 'reach' | 'onAdvance'>;
}

export function createReading(clickhouse: ClickHouse, gate: QueryGate, head: Head): FollowingReading {
  return {
    head,
    async rows(sql, label, { signal, timeoutMs }) {
      const run = () => clickhouse.query(sql, { label, signal, timeoutMs });
      return new RowReader(await gate.run(run, signal));
    },
  };
}

/** The same reading for what lies below a step, whatever the head is. */
export function readingBelow(reading: Reading, mcSeqno: number): Reading {
  return { ...reading, head: { seqno: mcSeqno - 1 } };
}

/** Reads all rows of a result. */
export function collect<T>(rows: RowReader, read: (rows: RowReader) => T): T[] {
  const found: T[] = [];
  while (!rows.done) found.push(read(rows));
  return found;
}
