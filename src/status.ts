import { z } from 'zod';
import type { ClickHouse } from '../clickhouse/client.ts';
import { TABLES } from '../clickhouse/tables/all.ts';
import type { EventLog } from '../streams/log.ts';
import { isLogAway, LOG_MS, logAnswer } from '../streams/log-answer.ts';
import { type LogHead, lastSealed } from '../streams/step-search.ts';

export interface Status {
  /** `error`: why it cannot be told. */
  log: { mc_seqno: number | null; error?: string };
  projected: { mc_seqno: number | null };
  /**
   * Steps in the log that are not in the tables yet, null where the log tells of an error. An upper bound where it has
   * holes.
   */
  lag_steps: number | null;
  rows: Record<string, number>;
  /** Contracts that cannot be told before a node has told of what the log never showed; counted once a minute. */
  waiting_contracts: number;
  /** Steps left out because a block of theirs cannot be decoded. */
  gaps: { mc_seqno: number; block: string; error: string }[];
}

const COUNTED = TABLES.filter(({ inStatus }) => inStatus).map(({ name }) => name);
const tableRow = z.object({ table: z.string(), rows: z.coerce.number() });
const gapRow = z.object({ mc_seqno: z.number(), block: z.string(), error: z.string() });
const positionRow = z.object({ mc_seqno: z.number(), next_offset: z.coerce.number() });

/** Who asks for the health waits some seconds. */
const HEALTH_LOG_MS = 2_000;

export interface LogSources {
  clickhouse: Pick<ClickHouse, 'json'>;
  log: EventLog;
  blocksTopic: string;
  /** Other topics that the tables are made of. */
  besides?: readonly string[];
  /** How long the log is waited for. */
  withinMs?: number;
}

export interface StatusSources extends LogSources {
  clickhouse: ClickHouse;
}

/** What `/status` shows. */
export async function readStatus({ clickhouse, log, blocksTopic, withinMs = LOG_MS }: StatusSources): Promise<Status> {
  const label = 'reading the status';
  const tables = COUNTED.map((table) => `'${table}'`).join(', ');
  const [rows, gaps, waiting, { position, sealed, end, error }] = await Promise.all([
    clickhouse.json(
      `SELECT table, toUInt64(sum(rows)) AS rows FROM system.parts
       WHERE database = '${clickhouse.database}' AND active AND table IN (${tables}) GROUP BY table ORDER BY table`,
      tableRow,
      { label },
    ),
    readGaps(clickhouse),
    readWaiting(clickhouse),
    readLog({ clickhouse, log, blocksTopic, withinMs }),
  ]);
  const behind = (sealed?.mcSeqno ?? 0) - (position?.mc_seqno ?? 0);
  return {
    log: { mc_seqno: sealed?.mcSeqno ?? null, ...(error === undefined ? {} : { error }) },
    projected: { mc_seqno: position?.mc_seqno ?? null },
    lag_steps:
      error !== undefined || end === null ? null : Math.max(0, Math.min(behind, end - (position?.next_offset ?? 0))),
    rows: Object.fromEntries(COUNTED.map((table) => [table, rows.find((row) => row.table === table)?.rows ?? 0])),
    waiting_contracts: waiting,
    gaps,
  };
}

/** What is wrong with the log: it does not answer, or has lost what was projected of it, or could be. */
export async function logError(sources: Omit<LogSources, 'withinMs'>): Promise<string | null> {
  const { error, trimmed } = await readLog({ ...sources, withinMs: HEALTH_LOG_MS });
  if (error !== undefined || trimmed === null) return error ?? null;
  const { topic, low } = trimmed;
  return (
    `the event log begins at offset ${low} of ${topic}, nothing can be made anew of it: bring back a copy that is whole, ` +
    `and keep ${topic} without end (retention.ms and retention.bytes of -1)`
  );
}

/** How far the tables are, and the log. */
async function readLog({ clickhouse, log, blocksTopic, besides = [], withinMs = LOG_MS }: LogSources) {
  const sql = 'SELECT mc_seqno, next_offset FROM projection_state WHERE done ORDER BY number DESC LIMIT 1';
  const [[position], answered] = await Promise.all([
    clickhouse.json(sql, positionRow, { label: 'reading the status' }),
    readEnd(log, blocksTopic, besides, withinMs),
  ]);
  const isBehind = ({ end }: LogEnd): boolean => end !== null && end < (position?.next_offset ?? 0);
  // The tables may have gone on since the log was asked.
  const found = isBehind(answered) ? await readEnd(log, blocksTopic, besides, withinMs) : answered;
  if (!isBehind(found)) return { position, ...found };
  const error = `the event log ends at offset ${found.end}, and the tables were made of it up to ${position.next_offset}`;
  return { position, ...found, error };
}

interface LogEnd {
  sealed: LogHead['sealed'];
  /** A topic that has lost its oldest records, and the offset of the oldest that is kept; null where all have theirs. */
  trimmed: { topic: string; low: number } | null;
  /** Offset of the next record; null where the log is away. */
  end: number | null;
  error?: string;
}

/** By the log: what it has not answered in time. It is not asked beside that. */
const unanswered = new WeakMap<EventLog, Promise<LogEnd>>();

async function readEnd(log: EventLog, topic: string, besides: readonly string[], withinMs: number): Promise<LogEnd> {
  const begin = async (one: string) => ({ topic: one, low: await log.low(one) });
  const ask = async (): Promise<LogEnd> => {
    const begins = Promise.all([topic, ...besides].map(begin));
    const [{ sealed }, end, all] = await Promise.all([lastSealed(log, topic), log.end(topic), begins]);
    return { sealed, trimmed: all.find(({ low }) => low > 0) ?? null, end };
  };
  const asked = unanswered.get(log) ?? ask();
  try {
    return await logAnswer(asked, withinMs);
  } catch (error) {
    if (!isLogAway(error)) throw error;
    if (!unanswered.has(log)) {
      unanswered.set(log, asked);
      const forget = (): void => void unanswered.delete(log);
      asked.then(forget, forget);
    }
    return { sealed: null, trimmed: null, end: null, error: error.message };
  }
}

const WAITING_MS = 60_000;
const countRow = z.object({ count: z.coerce.number() });
/** By the tables that were asked: the count reads every wait there is. */
const waitingCounts = new WeakMap<ClickHouse, { at: number; count: Promise<number> }>();

function readWaiting(clickhouse: ClickHouse): Promise<number> {
  const known = waitingCounts.get(clickhouse);
  if (known && performance.now() - known.at < WAITING_MS) return known.count;
  const sql = 'SELECT uniq(address) AS count FROM contract_waits FINAL WHERE waits';
  const count = clickhouse.json(sql, countRow, { label: 'counting who waits' }).then(([row]) => row.count);
  // One that failed is counted again at once.
  count.catch(() => waitingCounts.delete(clickhouse));
  waitingCounts.set(clickhouse, { at: performance.now(), count });
  return count;
}

/** The newest gaps, a hundred at most. */
export function readGaps(clickhouse: Pick<ClickHouse, 'json'>): Promise<Status['gaps']> {
  return clickhouse.json('SELECT mc_seqno, block, error FROM gaps FINAL ORDER BY mc_seqno DESC LIMIT 100', gapRow, {
    label: 'reading the gaps',
  });
}
