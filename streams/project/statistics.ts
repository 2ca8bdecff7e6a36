import type { Logger } from 'pino';
import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { textLiteral, u32 } from '../../clickhouse/literal.ts';
import { RowReader, RowWriter } from '../../clickhouse/rowbinary.ts';
import { actions } from '../../clickhouse/tables/actions.ts';
import { blocks } from '../../clickhouse/tables/blocks.ts';
import { jettonTransfers } from '../../clickhouse/tables/jettons.ts';
import { columnName, tableColumns } from '../../clickhouse/tables/sql.ts';
import {
  chainStatistics,
  countChain,
  countSubjects,
  firstOpen,
  GRACE_SECONDS,
  RESOLUTIONS,
  type Resolution,
  SUBJECT_KINDS,
  subjectStatistics,
} from '../../clickhouse/tables/statistics.ts';
import { type Columns, readerOf, type StepRows } from '../../clickhouse/tables/table.ts';
import type { Projection } from './projection.ts';

/** A day of the busiest chain is counted in seconds. */
const COUNT_MS = 300_000;
/** So long before it must be there a bucket is counted ahead, if it has been over for as long. */
const AHEAD_SECONDS = GRACE_SECONDS / 2;
/** Of a bucket that is counted ahead. */
const AHEAD_BYTES = 64 * 1024 * 1024;
const BOTH = Object.keys(RESOLUTIONS) as Resolution[];

/** Buckets from `from` on, before `to`, as of a step. */
export interface Count {
  resolution: Resolution;
  from: number;
  to: number;
  mcSeqno: number;
  /** What was told when its hour was over: actions of traces, told again or not, and late transfers of jettons. */
  of: 'all' | 'told';
}

/**
 * Hours and days, counted out of the tables when they are over (clickhouse/tables/statistics.ts). At the head a bucket is
 * counted beside the steps, a minute before it must be there: what no step has touched since is what it was.
 */
export const statistics: Projection = {
  name: 'statistics',
  version: 4,
  reads: ['contracts', 'traces'],
  tables: [chainStatistics, subjectStatistics],
  open({ clickhouse, logger }) {
    /** Of the newest step; null before it is known. */
    let newest: number | null = null;
    /** Planned when a batch is assembled, counted when it is written: the next one has been assembled by then. */
    const ahead = new Map<Resolution, Ahead>();
    const closing = new AbortController();

    function drop(resolution: Resolution, counted: Ahead): void {
      counted.isTouched = true;
      ahead.delete(resolution);
    }

    /** What was counted ahead for this count. */
    function take(count: Count): Ahead | null {
      const counted = ahead.get(count.resolution);
      if (counted === undefined || counted.count.from !== count.from || count.of !== 'all') return null;
      ahead.delete(count.resolution);
      return counted.count.to === count.to ? counted : null;
    }

    return {
      async begin({ firstMcSeqno }, _, signal) {
        newest ??= await timeBefore(clickhouse, firstMcSeqno, signal);
        const counts: [Count, Ahead | null][] = [];
        const planned: Ahead[] = [];
        return {
          project(steps) {
            for (const rows of steps) {
              const time = timeOf(rows);
              for (const [resolution, counted] of ahead) if (touches(rows, counted.count)) drop(resolution, counted);
              for (const count of countsOf(rows, newest ?? time, time)) counts.push([count, take(count)]);
              newest = time;
            }
            // None of the batch could be decoded.
            const last = steps.at(-1)?.mcSeqno;
            if (last === undefined || newest === null) return;
            for (const resolution of BOTH) {
              const count = ahead.has(resolution) ? null : nextCount(resolution, newest, last);
              if (count === null) continue;
              const plan: Ahead = { count, isTouched: false, rows: null };
              planned.push(plan);
              ahead.set(resolution, plan);
            }
          },
          async count(asked) {
            for (const [count, counted] of counts) {
              if (counted !== null && (await writeCounted(clickhouse, counted, count, asked))) continue;
              await write(clickhouse, count, asked);
            }
            const until = AbortSignal.any([signal, closing.signal]);
            for (const plan of planned) {
              if (!plan.isTouched) plan.rows = countAhead(clickhouse, plan.count, logger, until);
            }
          },
        };
      },
      async close() {
        closing.abort(new Error('the projector ends'));
      },
    };
  },
};

/** A bucket that is counted as of a step before the one that it will be of. */
interface Ahead {
  count: Count;
  /** By a step behind the one it is of. */
  isTouched: boolean;
  /** Rows in the order of the tables; null before they are counted, and when they could not be. */
  rows: Promise<Map<StatisticsTable, Buffer> | null> | null;
}

type StatisticsTable = typeof chainStatistics | typeof subjectStatistics;

/** The bucket that will be counted soon, as of a step; null while there is none. */
export function nextCount(resolution: Resolution, time: number, mcSeqno: number): Count | null {
  const size = RESOLUTIONS[resolution];
  const [from, to] = [firstOpen(resolution, time), firstOpen(resolution, time + AHEAD_SECONDS)];
  return from === to ? null : { resolution, from, to: from + size, mcSeqno, of: 'all' };
}

/** Times of what a step tells that may be of earlier ones. */
function toldIn(rows: StepRows): number[] {
  return [
    ...rows.of(actions).map(({ traceEndUtime }) => traceEndUtime),
    ...rows.of(jettonTransfers).map(({ transactionNow }) => transactionNow),
  ];
}

/** Whether the step brings something of the bucket. */
function touches(rows: StepRows, { from, to }: Count): boolean {
  const isWithin = (utime: number): boolean => utime >= from && utime < to;
  return rows.of(blocks).some(({ genUtime }) => isWithin(genUtime)) || toldIn(rows).some(isWithin);
}

/** In the types of the table. */
function typed({ columns }: StatisticsTable, select: string): string {
  const each = Object.entries(columns).map(
    ([name, { type }]) => `CAST(c.${columnName(name)}, ${textLiteral(type)}) AS ${columnName(name)}`,
  );
  return `SELECT ${each.join(', ')} FROM (${select}) AS c`;
}

function countAhead(
  clickhouse: ClickHouse,
  count: Count,
  logger: Logger,
  signal: AbortSignal,
): Promise<Map<StatisticsTable, Buffer> | null> {
  // Steps are written meanwhile, for which a core is left.
  const options = { timeoutMs: COUNT_MS, maxResultBytes: AHEAD_BYTES, settings: { max_threads: 1 }, signal };
  async function read(): Promise<Map<StatisticsTable, Buffer>> {
    const found = new Map<StatisticsTable, Buffer>();
    for (const [table, select] of selectsOf(count)) {
      const label = `counting ahead the ${count.resolution} before step ${count.mcSeqno}`;
      found.set(table, await clickhouse.query(typed(table, select), { ...options, label }));
    }
    return found;
  }
  return read().catch((err: unknown) => {
    if (!signal.aborted) logger.warn({ err, count }, 'a bucket of statistics could not be counted ahead');
    return null;
  });
}

/** The same rows as of another step. */
function asOf({ columns, write }: StatisticsTable, bytes: Buffer, mcSeqno: number): Buffer[] {
  const [out, reader, read] = [new RowWriter(), new RowReader(bytes), readerOf(columns as Columns)];
  while (!reader.done) write(out, { ...read(reader), mcSeqno } as never);
  return out.take();
}

/** As of its step, what was counted as of an earlier one. False when there is nothing. */
async function writeCounted(
  clickhouse: ClickHouse,
  { rows }: Ahead,
  { resolution, mcSeqno }: Count,
  signal: AbortSignal,
): Promise<boolean> {
  const found = await rows;
  if (found === null) return false;
  for (const [table, bytes] of found) {
    const rows = asOf(table, bytes, mcSeqno);
    const label = `writing the ${resolution} before step ${mcSeqno}`;
    if (rows.length > 0) await clickhouse.insert(table.name, tableColumns(table), rows, { label, signal });
  }
  return true;
}

const timeRow = z.object({ time: z.number() });

async function timeBefore(clickhouse: ClickHouse, mcSeqno: number, signal: AbortSignal): Promise<number | null> {
  const before = `SELECT mc_seqno FROM blocks WHERE mc_seqno < ${u32(mcSeqno)} ORDER BY mc_seqno DESC LIMIT 1`;
  const [found] = await clickhouse.json(
    `SELECT gen_utime AS time FROM blocks WHERE mc_seqno = (${before}) ORDER BY gen_utime DESC LIMIT 1`,
    timeRow,
    { label: 'reading the time of the newest step', signal },
  );
  return found?.time ?? null;
}

/** That of its masterchain block, which no shard block is ahead of and which a file of blocks may lack. */
function timeOf(rows: StepRows): number {
  return rows.of(blocks).reduce((newest, { genUtime }) => Math.max(newest, genUtime), 0);
}

/**
 * What a step is counted for: the buckets that are over with it, and those over before that it brings something of.
 * @param before time of the step before
 */
export function countsOf(rows: StepRows, before: number, time: number): Count[] {
  const { mcSeqno } = rows;
  return BOTH.flatMap((resolution) => {
    const size = RESOLUTIONS[resolution];
    const [open, stillOpen] = [firstOpen(resolution, before), firstOpen(resolution, time)];
    const bucketsBefore = (utimes: readonly number[]): Set<number> =>
      new Set(utimes.filter((utime) => utime < open).map((utime) => utime - (utime % size)));
    const late = bucketsBefore(rows.of(blocks).map(({ genUtime }) => genUtime));
    const told = bucketsBefore(toldIn(rows));
    const of = (buckets: Iterable<number>, what: Count['of']): Count[] =>
      [...buckets].sort((a, b) => a - b).map((from) => ({ resolution, from, to: from + size, mcSeqno, of: what }));
    const counts = of(late, 'all');
    if (resolution === 'hour')
      counts.push(
        ...of(
          [...told].filter((from) => !late.has(from)),
          'told',
        ),
      );
    if (stillOpen > open) counts.push({ resolution, from: open, to: stillOpen, mcSeqno, of: 'all' });
    return counts;
  });
}

/** What is counted into which table. */
function selectsOf(count: Count): [StatisticsTable, string][] {
  const { resolution, mcSeqno } = count;
  const counted = { from: u32(count.from), to: u32(count.to), upTo: u32(mcSeqno) };
  const selects: [StatisticsTable, string][] = [];
  if (resolution === 'hour') {
    const kinds = count.of === 'all' ? SUBJECT_KINDS : (['jetton', 'action'] as const);
    const each = kinds.map((kind) => `SELECT * FROM (${countSubjects(kind, counted)})`);
    selects.push([subjectStatistics, each.join(' UNION ALL ')]);
  }
  if (count.of === 'all') selects.push([chainStatistics, countChain(resolution, counted)]);
  return selects;
}

async function write(clickhouse: ClickHouse, count: Count, signal: AbortSignal): Promise<void> {
  const label = `counting the ${count.resolution} before step ${count.mcSeqno}`;
  for (const [table, select] of selectsOf(count)) {
    await clickhouse.command(`INSERT INTO ${table.name} (${tableColumns(table).join(', ')}) ${select}`, {
      label,
      timeoutMs: COUNT_MS,
      signal,
    });
  }
}
