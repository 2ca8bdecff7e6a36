import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { u32 } from '../../clickhouse/literal.ts';
import { tableColumns } from '../../clickhouse/tables/sql.ts';
import {
  type Counted,
  chainStatistics,
  countChain,
  countSubjects,
  firstOpen,
  keptChain,
  keptSubjects,
  RESOLUTIONS,
  type Resolution,
  SUBJECT_KINDS,
  subjectStatistics,
} from '../../clickhouse/tables/statistics.ts';
import type { Table } from '../../clickhouse/tables/table.ts';
import type { TellProgress } from '../progress.ts';

const TIMEOUT_MS = 600_000;
const rangeRow = z.object({ blocks: z.coerce.number(), first: z.number(), last: z.number(), time: z.number() });
const textRow = z.object({ kept: z.string(), counted: z.string() });

/**
 * Counts every hour and day anew that was over at the step `done`, a day at a time: a line for each that has other rows
 * than the tables have as of that step.
 */
export async function compareStatistics(
  clickhouse: ClickHouse,
  done: number,
  signal: AbortSignal,
  tell: TellProgress = () => undefined,
): Promise<string[]> {
  const options = { label: 'counting statistics anew', signal, timeoutMs: TIMEOUT_MS };
  const upTo = u32(done);
  const [range] = await clickhouse.json(
    `SELECT count() AS blocks, min(gen_utime) AS first, max(gen_utime) AS last,
       argMax(gen_utime, (mc_seqno, gen_utime)) AS time
     FROM blocks WHERE mc_seqno <= ${upTo}`,
    rangeRow,
    options,
  );
  if (range.blocks === 0) return [];
  const differences: string[] = [];
  const { day } = RESOLUTIONS;
  const begin = range.first - (range.first % day);
  for (let from = begin; from <= range.last; from += day) {
    tell('counting statistics anew', 'days', (from - begin) / day, Math.ceil((range.last + 1 - begin) / day));
    for (const { name, open, kept, counts } of comparisons()) {
      const to = Math.min(from + day, firstOpen(open, range.time));
      // A row of a time that is not over should not be there: all kept ones are compared.
      const sql = `SELECT (${kept({ from: u32(from), to: u32(from + day), upTo })}) AS kept,
        (${counts({ from: u32(from), to: u32(Math.max(from, to)), upTo })}) AS counted`;
      const [{ kept: found, counted }] = await clickhouse.json(sql, textRow, options);
      if (found !== counted) {
        const date = new Date(from * 1000).toISOString().slice(0, 10);
        differences.push(`${name} of ${date}: the tables have ${found}; counted anew there are ${counted}`);
      }
    }
  }
  return differences;
}

interface Comparison {
  name: string;
  /** Of what size the buckets are. */
  open: Resolution;
  kept: (counted: Counted) => string;
  counts: (counted: Counted) => string;
}

function comparisons(): Comparison[] {
  const chain = (Object.keys(RESOLUTIONS) as Resolution[]).map((resolution) => ({
    name: `chain_statistics by ${resolution}`,
    open: resolution,
    kept: (counted: Counted) => rowsText(chainStatistics, keptChain(resolution, counted)),
    counts: (counted: Counted) => rowsText(chainStatistics, countChain(resolution, counted)),
  }));
  const subjects = SUBJECT_KINDS.map((kind) => ({
    name: `subject_statistics of ${kind}s`,
    open: 'hour' as const,
    kept: (counted: Counted) => rowsText(subjectStatistics, keptSubjects(kind, counted)),
    counts: (counted: Counted) => rowsText(subjectStatistics, countSubjects(kind, counted)),
  }));
  return [...chain, ...subjects];
}

/** Text that is the same for the same rows, whichever step they were counted at. */
function rowsText(table: Table, select: string): string {
  const columns = tableColumns(table).filter((name) => name !== 'mc_seqno');
  return `SELECT concat(toString(count()), ' rows, hash ', toString(sum(cityHash64(toString(tuple(${columns.join(', ')}))))))
    FROM (${select})`;
}
