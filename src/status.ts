import { z } from 'zod';
import type { ClickHouse } from '../clickhouse/client.ts';
import { TABLES } from '../clickhouse/tables/all.ts';
import type { EventLog } from '../streams/log.ts';
import { lastSealed } from '../streams/step-search.ts';

export interface Status {
  log: { mc_seqno: number | null };
  projected: { mc_seqno: number | null };
  /** Steps in the log that are not in the tables yet. An upper bound where the log has holes. */
  lag_steps: number;
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

export interface StatusSources {
  clickhouse: ClickHouse;
  log: EventLog;
  blocksTopic: string;
}

/** What `/status` shows. */
export async function readStatus({ clickhouse, log, blocksTopic }: StatusSources): Promise<Status> {
  const label = 'reading the status';
  const tables = COUNTED.map((table) => `'${table}'`).join(', ');
  const [rows, gaps, waiting, [position], { sealed }, end] = await Promise.all([
    clickhouse.json(
      `SELECT table, toUInt64(sum(rows)) AS rows FROM system.parts
       WHERE database = '${clickhouse.database}' AND active AND table IN (${tables}) GROUP BY table ORDER BY table`,
      tableRow,
      { label },
    ),
    readGaps(clickhouse),
    readWaiting(clickhouse),
    clickhouse.json(
      'SELECT mc_seqno, next_offset FROM projection_state WHERE done ORDER BY number DESC LIMIT 1',
      positionRow,
      { label },
    ),
    lastSealed(log, blocksTopic),
    log.end(blocksTopic),
  ]);
  const behind = (sealed?.mcSeqno ?? 0) - (position?.mc_seqno ?? 0);
  return {
    log: { mc_seqno: sealed?.mcSeqno ?? null },
    projected: { mc_seqno: position?.mc_seqno ?? null },
    lag_steps: Math.max(0, Math.min(behind, end - (position?.next_offset ?? 0))),
    rows: Object.fromEntries(COUNTED.map((table) => [table, rows.find((row) => row.table === table)?.rows ?? 0])),
    waiting_contracts: waiting,
    gaps,
  };
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
