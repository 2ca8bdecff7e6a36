import { setImmediate as others } from 'node:timers/promises';
import type { QueryContext } from '../../src/chain/records.ts';
import type { ClickHouse } from '../client.ts';
import type { QueryGate } from '../gate.ts';
import { isOutOfMemory } from '../query-error.ts';
import { RowReader } from '../rowbinary.ts';
import { MOST_SQL_BYTES } from '../settings.ts';
import type { Head } from './head.ts';

/** What every query of the API goes through: the gate before the server, the head above which nothing is shown. */
export interface Reading {
  head: Pick<Head, 'seqno'>;
  /** Runs a SELECT when its turn has come. `label` names it in errors and metrics. */
  rows(sql: string, label: string, context: QueryContext): Promise<RowReader>;
}

/** For tables that hold the newest version only. */
export interface NewestReading extends Reading {
  head: Pick<Head, 'seqno' | 'inTables' | 'reach' | 'tables'>;
}

/** For what is kept up to date with the head. */
export interface FollowingReading extends NewestReading {
  head: Pick<Head, 'seqno' | 'inTables' | 'reach' | 'tables' | 'onAdvance' | 'onTables'>;
}

const TOO_MUCH = 'this takes more memory than one request may: ask for less, with a cursor in place of a large offset';
const TOO_LONG = 'this names more than one request may: ask for less';

/** A question that takes more of the server than one may: a smaller one may be answered. */
export class TooMuch extends Error {
  override name = 'TooMuch';
}

/** `memoryBytes` bounds what each statement takes of the server; without it the server's own limits do. */
export function createReading(
  clickhouse: ClickHouse,
  gate: QueryGate,
  head: Head,
  memoryBytes: number | null = null,
): FollowingReading {
  const settings = memoryBytes === null ? {} : { max_memory_usage: String(memoryBytes) };
  return {
    head,
    async rows(sql, label, { signal, timeoutMs }) {
      // Of literals and constants, so one byte a character.
      if (sql.length > MOST_SQL_BYTES) throw new TooMuch(TOO_LONG);
      const run = () => clickhouse.query(sql, { label, signal, timeoutMs, settings });
      try {
        return new RowReader(await gate.run(run, signal));
      } catch (error) {
        if (isOutOfMemory(error)) throw new TooMuch(TOO_MUCH, { cause: error });
        throw error;
      }
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

/** Rows that are read before others get a turn: some milliseconds. */
const IN_ONE_TURN = 4_096;

/** The same of a result that may be long, a part at a time. */
export async function collectInTurns<T>(rows: RowReader, read: (rows: RowReader) => T): Promise<T[]> {
  const found: T[] = [];
  while (!rows.done) {
    if (found.length % IN_ONE_TURN === IN_ONE_TURN - 1) await others();
    found.push(read(rows));
  }
  return found;
}
