/** Rows of some steps out of the tables, as the archive keeps them. */
import type { ClickHouse } from '../../clickhouse/client.ts';
import { collect } from '../../clickhouse/queries/reading.ts';
import { RowReader } from '../../clickhouse/rowbinary.ts';
import { blocks } from '../../clickhouse/tables/blocks.ts';
import { columnOf, type Kind, keysOf } from '../window/kind.ts';
import { blockKind, traceKind, transactionKind } from '../window/kinds.ts';
import type { ToldAction } from '../window/step.ts';
import { endsOf, type StepSpan } from '../window/store.ts';
import { hashesOf } from '../window/token-rows.ts';
import { ARCHIVED, ARCHIVED_TOKENS, type Archived, NEWEST_TABLES } from './kinds.ts';
import { readActions, readTraces, rowsOf } from './traced.ts';

/** Everything that the tables have of a step. */
export interface SlabStep extends StepSpan {
  mcSeqno: number;
  rows: { kind: Kind; row: Buffer }[];
  told: ToldAction[];
}

/** Both are in it. */
export interface Steps {
  low: number;
  high: number;
}

/** Steps that are looked at to find so many transactions. */
const LOOKED_AT = 20_000;
const TIMEOUT_MS = 120_000;

type Tables = Pick<ClickHouse, 'query'>;

/**
 * The steps at one end of these, as many of them as have about so many transactions, at least one. Null when the tables
 * have no step there.
 * @param end `newest`: the last ones of `within`
 */
export async function someSteps(
  clickhouse: Tables,
  { within, end, transactions }: { within: Steps; end: 'newest' | 'oldest'; transactions: number },
  signal: AbortSignal,
): Promise<{ steps: Steps; reachesEnd: boolean } | null> {
  const sort = end === 'newest' ? 'DESC' : 'ASC';
  const sql = `SELECT mc_seqno, tx_count FROM blocks WHERE mc_seqno BETWEEN ${within.low} AND ${within.high} ORDER BY mc_seqno ${sort} LIMIT ${LOOKED_AT}`;
  const result = await clickhouse.query(sql, { label: 'sizes of steps', signal, timeoutMs: TIMEOUT_MS });
  const rows = collect(new RowReader(result), (row) => ({ mcSeqno: row.u32(), count: row.u32() }));
  const [first] = rows;
  if (first === undefined) return null;
  // Of the last one there may be more.
  const cut = rows.length === LOOKED_AT ? rows[rows.length - 1].mcSeqno : null;
  let last = first.mcSeqno;
  let sum = 0;
  let taken = 0;
  for (const { mcSeqno, count } of rows) {
    sum += count;
    if (mcSeqno !== last && (sum > transactions || mcSeqno === cut)) break;
    last = mcSeqno;
    taken++;
  }
  const steps = { low: Math.min(first.mcSeqno, last), high: Math.max(first.mcSeqno, last) };
  return { steps, reachesEnd: taken === rows.length && cut === null };
}

/** What the tables have of these steps, ascending. Of what is kept newest, what no later step has replaced. */
export async function readSlab(clickhouse: Tables, { low, high }: Steps, signal: AbortSignal): Promise<SlabStep[]> {
  const steps = new Map<number, SlabStep>();
  const stepOf = (mcSeqno: number): SlabStep => {
    const known = steps.get(mcSeqno);
    if (known) return known;
    const made: SlabStep = { mcSeqno, rows: [], told: [], ...endsOf([]) };
    steps.set(mcSeqno, made);
    return made;
  };
  for (const archived of ARCHIVED) {
    const { kind } = archived;
    for (const { mcSeqno, row } of await readKind(clickhouse, archived, { low, high }, signal)) {
      stepOf(mcSeqno).rows.push({ kind, row });
    }
  }
  const reading = { clickhouse, low, high, signal, timeoutMs: TIMEOUT_MS };
  const hashOf = hashesOf(() => transactionsIn([...steps.values()]));
  for (const { kind, table, read } of ARCHIVED_TOKENS) {
    for (const { mcSeqno, row } of await rowsOf(table, reading, (rows) => read(rows, hashOf))) {
      if (row) stepOf(mcSeqno).rows.push({ kind, row });
    }
  }
  for (const { mcSeqno, row } of await readTraces(reading)) stepOf(mcSeqno).rows.push({ kind: traceKind, row });
  for (const told of await readActions(reading)) stepOf(told.row.mcSeqno).told.push(told);
  await readEnds(clickhouse, { low, high }, stepOf, signal);
  return [...steps.values()].sort((a, b) => a.mcSeqno - b.mcSeqno);
}

function* transactionsIn(steps: readonly SlabStep[]) {
  for (const { kind, row } of steps.flatMap(({ rows }) => rows)) {
    if (kind !== transactionKind) continue;
    const get = <K extends 'account' | 'lt' | 'hash'>(name: K) => columnOf(transactionKind, row, name);
    yield { account: get('account'), lt: get('lt'), hash: get('hash') };
  }
}

async function readKind(clickhouse: Tables, archived: Archived, { low, high }: Steps, signal: AbortSignal) {
  const { kind, table, columns, step, where, order, read } = archived;
  const sql = `SELECT ${columns.join(', ')} FROM ${table} WHERE ${step} BETWEEN ${low} AND ${high}${where ? ` AND ${where}` : ''} ORDER BY ${step}, ${order}`;
  const rows = collect(
    new RowReader(await clickhouse.query(sql, { label: `${table} of steps`, signal, timeoutMs: TIMEOUT_MS })),
    read,
  );
  // A repeated batch leaves rows twice until they are merged; of what is kept newest the later one stays.
  const [layout] = kind.layouts;
  const once = new Map(rows.map((one) => [`${one.mcSeqno} ${keysOf(layout, one.row)[0].toString('latin1')}`, one]));
  return once.values();
}

async function readEnds(
  clickhouse: Tables,
  { low, high }: Steps,
  stepOf: (mcSeqno: number) => SlabStep,
  signal: AbortSignal,
): Promise<void> {
  const sql = `SELECT mc_seqno, min(start_lt), max(end_lt), min(gen_utime), max(gen_utime) FROM ${blockKind.table} WHERE mc_seqno BETWEEN ${low} AND ${high} GROUP BY mc_seqno`;
  const rows = new RowReader(await clickhouse.query(sql, { label: 'ends of steps', signal, timeoutMs: TIMEOUT_MS }));
  while (!rows.done) {
    const step = stepOf(rows.u32());
    step.minLt = BigInt(rows.u64());
    step.maxLt = BigInt(rows.u64());
    step.minUtime = rows.u32();
    step.maxUtime = rows.u32();
  }
}

/** The newest step of which the tables may have anything, written in full or not. */
export async function newestWritten(clickhouse: Tables, signal: AbortSignal): Promise<number> {
  const newest = [blocks.name, ...NEWEST_TABLES].map((table) => `SELECT max(mc_seqno) AS n FROM ${table}`);
  const sql = `SELECT max(n) FROM (${newest.join(' UNION ALL ')})`;
  const rows = new RowReader(
    await clickhouse.query(sql, { label: 'newest step written', signal, timeoutMs: TIMEOUT_MS }),
  );
  return rows.u32();
}

/**
 * The newest step of which the tables have everything. Of a step that is published and not yet done some rows are still
 * to come (streams/project/writer.ts). 0 before there is one.
 */
export async function newestDone(clickhouse: Tables, signal: AbortSignal): Promise<number> {
  const sql = 'SELECT mc_seqno FROM projection_state WHERE done ORDER BY number DESC LIMIT 1';
  const rows = new RowReader(await clickhouse.query(sql, { label: 'newest step done', signal, timeoutMs: TIMEOUT_MS }));
  return rows.done ? 0 : rows.u32();
}

/** Greatest lt and time of any block before a step; null when there is none. */
export async function endsBelow(
  clickhouse: Tables,
  mcSeqno: number,
  signal: AbortSignal,
): Promise<{ lt: bigint; utime: number } | null> {
  const sql = `SELECT max(end_lt), max(gen_utime), count() FROM blocks WHERE mc_seqno < ${mcSeqno}`;
  const rows = new RowReader(await clickhouse.query(sql, { label: 'newest block', signal, timeoutMs: TIMEOUT_MS }));
  const [lt, utime, count] = [BigInt(rows.u64()), rows.u32(), rows.u64()];
  return count === '0' ? null : { lt, utime };
}
