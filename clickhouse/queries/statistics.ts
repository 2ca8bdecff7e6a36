/** Hours and days as of the head: what is kept of those that are over, the others counted from the facts. */
import type { Decimal } from '../../src/chain/model.ts';
import type { QueryContext } from '../../src/chain/records.ts';
import { textLiteral, u32 } from '../literal.ts';
import { columnName } from '../tables/sql.ts';
import {
  type Counted,
  type chainStatistics,
  countAccounts,
  countSubjects,
  countSums,
  firstOpen,
  keptChain,
  keptSubjects,
  RESOLUTIONS,
  type Resolution,
  SUMS,
  type SubjectKind,
} from '../tables/statistics.ts';
import { collect, type Reading } from './reading.ts';

/** What the chain is counted by. */
export type ChainMeasure = Exclude<keyof typeof chainStatistics.columns, 'resolution' | 'bucket' | 'mcSeqno'>;

export interface Buckets<T> {
  /** Step as of which they were counted, and its time. */
  mcSeqno: number;
  time: number;
  /** Each bucket from the first one that the index has a part of, in the order of time. */
  points: { from: number; isOpen: boolean; value: T }[];
}

export interface SubjectRow {
  subject: string;
  count: Decimal;
  failed: Decimal | null;
  amount: Decimal | null;
  senders: Decimal | null;
  receivers: Decimal | null;
}

/** Seconds since 1970: buckets that begin at `from` or later, before `to`; none given are chosen from the head. */
export interface Asked {
  resolution: Resolution;
  range: (head: Range) => { from: number; to: number };
}

/** What the index holds. */
export interface Range {
  mcSeqno: number;
  /** Time of the head, and of the first step. */
  time: number;
  first: number;
}

export interface Totals {
  range: Range;
  /** Of the whole index. */
  sums: Record<Exclude<ChainMeasure, 'activeAccounts'>, Decimal>;
}

export type StatisticsQueries = ReturnType<typeof statisticsQueries>;

export function statisticsQueries(reading: Reading) {
  /** Null before there is a step. */
  async function rangeOf(context: QueryContext): Promise<Range | null> {
    const mcSeqno = reading.head.seqno;
    const end = (way: string) =>
      `SELECT max(gen_utime) FROM blocks WHERE mc_seqno =
         (SELECT mc_seqno FROM blocks WHERE mc_seqno <= ${u32(mcSeqno)} ORDER BY mc_seqno ${way} LIMIT 1)`;
    const sql = `SELECT assumeNotNull((${end('DESC')})), assumeNotNull((${end('ASC')}))`;
    const [found] = collect(await reading.rows(sql, 'times of the index', context), (row) => ({
      time: row.u32(),
      first: row.u32(),
    }));
    return found.time === 0 ? null : { mcSeqno, ...found };
  }

  async function place({ resolution, range }: Asked, context: QueryContext) {
    const head = await rangeOf(context);
    if (head === null) return null;
    const size = RESOLUTIONS[resolution];
    const bucketOf = (time: number): number => time - (time % size);
    const asked = range(head);
    // What begins behind the head is empty, wherever it is said to begin: a bucket's start may be beyond 32 bits.
    const from = Math.max(bucketOf(Math.min(asked.from, head.time + 1) + size - 1), bucketOf(head.first));
    const to = Math.max(from, Math.min(asked.to, head.time + 1));
    const open = Math.min(Math.max(firstOpen(resolution, head.time), from), to);
    const starts: number[] = [];
    for (let start = from; start < to; start += size) starts.push(start);
    return { head, from, to: bucketOf(to + size - 1), open, starts };
  }

  const rowsUpTo = ({ mcSeqno }: Range, from: number, to: number): Counted => ({
    from: u32(from),
    to: u32(to),
    upTo: u32(mcSeqno),
  });

  return {
    /** One measure of the chain; null before there is a step. */
    async chain(asked: Asked & { measure: ChainMeasure }, context: QueryContext): Promise<Buckets<Decimal> | null> {
      const at = await place(asked, context);
      if (at === null) return null;
      const { head, from, to, open, starts } = at;
      const measure = columnName(asked.measure);
      const count = asked.measure === 'activeAccounts' ? countAccounts : countSums;
      const parts = [
        `SELECT bucket, toString(${measure}) AS value FROM (${keptChain(asked.resolution, rowsUpTo(head, from, open))})`,
        `SELECT bucket, toString(${measure}) AS value FROM (${count(asked.resolution, rowsUpTo(head, open, to))})`,
      ].filter((_, n) => (n === 0 ? from < open : open < to));
      if (parts.length === 0) return { ...head, points: [] };
      const rows = await reading.rows(parts.join(' UNION ALL '), 'statistics of the chain', context);
      const found = new Map(collect(rows, (row) => [row.u32(), row.string()] as const));
      return {
        ...head,
        points: starts.map((start) => ({ from: start, isOpen: start >= open, value: found.get(start) ?? '0' })),
      };
    },

    /**
     * The subjects of each bucket that have the most, at most `limit`, or the one asked for. A day is the sum of its
     * hours: how many different senders and receivers it had is not known.
     */
    async subjects(
      asked: Asked & { kind: SubjectKind; subject: string | undefined; limit: number },
      context: QueryContext,
    ): Promise<Buckets<SubjectRow[]> | null> {
      const at = await place(asked, context);
      if (at === null) return null;
      const { head, from, to, starts } = at;
      const { kind, resolution, subject, limit } = asked;
      const open = Math.min(Math.max(firstOpen('hour', head.time), from), to);
      const parts = [
        `SELECT * FROM (${keptSubjects(kind, rowsUpTo(head, from, open))})`,
        `SELECT * FROM (${countSubjects(kind, rowsUpTo(head, open, to))})`,
      ].filter((_, n) => (n === 0 ? from < open : open < to));
      if (parts.length === 0) return { ...head, points: [] };
      const which = subject === undefined ? '' : ` AND subject = ${textLiteral(subject)}`;
      const hours = `(${parts.join(' UNION ALL ')}) WHERE count > 0${which}`;
      const size = RESOLUTIONS[resolution];
      const source =
        resolution === 'hour'
          ? `SELECT bucket AS start, subject, count AS n, failed AS f, amount AS a, senders AS s, receivers AS r FROM ${hours}`
          : `SELECT toUInt32(intDiv(bucket, ${size}) * ${size}) AS start, subject, sum(count) AS n, sum(failed) AS f,
               sum(amount) AS a, CAST(NULL AS Nullable(UInt64)) AS s, CAST(NULL AS Nullable(UInt64)) AS r
             FROM ${hours} GROUP BY start, subject`;
      const sql = `SELECT start, subject, toString(n), ifNull(toString(f), ''), ifNull(toString(a), ''),
          ifNull(toString(s), ''), ifNull(toString(r), '')
        FROM (${source}) ORDER BY start, n DESC, subject LIMIT ${u32(limit)} BY start`;
      const rows = collect(await reading.rows(sql, `statistics of ${kind}s`, context), (row) => ({
        start: row.u32(),
        subject: row.string(),
        count: row.string(),
        failed: row.string() || null,
        amount: row.string() || null,
        senders: row.string() || null,
        receivers: row.string() || null,
      }));
      const found = new Map(starts.map((start) => [start, [] as SubjectRow[]]));
      for (const { start, ...row } of rows) found.get(start)?.push(row);
      const value = (start: number): SubjectRow[] => found.get(start) ?? [];
      const isOpen = (start: number): boolean => start + size > open;
      return { ...head, points: starts.map((start) => ({ from: start, isOpen: isOpen(start), value: value(start) })) };
    },

    /** What the whole index adds up to; null before there is a step. */
    async totals(context: QueryContext): Promise<Totals | null> {
      const head = await rangeOf(context);
      if (head === null) return null;
      const open = firstOpen('day', head.time);
      const columns = SUMS.map(columnName);
      const sums = columns.map((name) => `toString(sum(toUInt256(${name})))`).join(', ');
      const parts = [
        keptChain('day', rowsUpTo(head, 0, open)),
        countSums('day', rowsUpTo(head, open, head.time + 1)),
      ].map((part) => `SELECT ${columns.join(', ')} FROM (${part})`);
      const rows = await reading.rows(
        `SELECT ${sums} FROM (${parts.join(' UNION ALL ')})`,
        'totals of the chain',
        context,
      );
      const [found] = collect(rows, (row) => SUMS.map((name) => [name, row.string()] as const));
      return { range: head, sums: Object.fromEntries(found) as Totals['sums'] };
    },
  };
}
