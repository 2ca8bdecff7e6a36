/**
 * Statistics: what hours and days of the chain add up to, counted out of the other tables.
 *
 * A bucket is counted at the first step whose time has passed its end by `GRACE_SECONDS`, and again at each later step
 * that brings something of it (the blocks of a shard may come late). A row counts what was visible at its step, so it
 * follows from bucket and step alone: whoever counts again writes the same row under the same key.
 */

import { nullable, oneOf, text, u32, u64, u256 } from './columns.ts';
import { columnName, tableColumns } from './sql.ts';
import { table } from './table.ts';

export const RESOLUTIONS = { hour: 3_600, day: 86_400 } as const;
export type Resolution = keyof typeof RESOLUTIONS;

/** Shard blocks are registered some seconds after their time: nearly all of a bucket is there when it is counted. */
export const GRACE_SECONDS = 120;

/** Of opcodes so many are told of an hour, those of most messages; the others together as `other`. */
const OPCODES_AN_HOUR = 256;

export const chainStatistics = table({
  name: 'chain_statistics',
  columns: {
    resolution: oneOf('hour', 'day'),
    /** Where it begins, seconds since 1970. */
    bucket: u32,
    /** Step as of which it was counted. */
    mcSeqno: u32,
    blocks: u64,
    transactions: u64,
    /** Aborted transactions. */
    failed: u64,
    /** Received by transactions, or sent out of the chain. */
    messages: u64,
    externalIn: u64,
    /** Begun. */
    traces: u64,
    newAccounts: u64,
    /** Accounts that became active. */
    deployments: u64,
    gas: u64,
    fees: u256,
    /** Of the internal messages that were received. */
    value: u256,
    /** Accounts with a transaction. */
    activeAccounts: u64,
  },
  kind: 'fact',
  key: ['resolution', 'bucket', 'mcSeqno'],
  carried: false,
});

export const SUBJECT_KINDS = ['opcode', 'jetton', 'action'] as const;
export type SubjectKind = (typeof SUBJECT_KINDS)[number];

export const subjectStatistics = table({
  name: 'subject_statistics',
  columns: {
    kind: oneOf(...SUBJECT_KINDS),
    bucket: u32,
    /**
     * `opcode`: of internal messages, by the time they were sent; `0x` and eight digits, empty for none, `other` for the
     * rest. `jetton`: address of a master, by its transfers. `action`: a type, of actions that are no part of others;
     * empty, with a count of 0, where something else was told, so that an hour of which nothing is left has a row, too.
     */
    subject: text,
    mcSeqno: u32,
    count: u64,
    /** Null for opcodes. */
    failed: nullable(u64),
    /** Of what did not fail. Null for actions. */
    amount: nullable(u256),
    /** Different ones. Null for actions. */
    senders: nullable(u64),
    receivers: nullable(u64),
  },
  kind: 'fact',
  key: ['kind', 'bucket', 'subject', 'mcSeqno'],
  carried: false,
});

/** What is counted: times and step as SQL, so that they may be literals or be looked up. */
export interface Counted {
  /** Seconds since 1970, whole buckets: from `from` on, before `to`. */
  from: string;
  to: string;
  /** Step up to which rows count. */
  upTo: string;
  /** The full name of a table. Default: the name. */
  of?: (name: string) => string;
}

const NO_ADDRESS = "toFixedString('', 36)";
const bucketOf = (column: string, resolution: Resolution): string =>
  `toUInt32(intDiv(${column}, ${RESOLUTIONS[resolution]}) * ${RESOLUTIONS[resolution]})`;

const during = (column: string, { from, to }: Counted): string => `${column} >= ${from} AND ${column} < ${to}`;

/**
 * Logical times of the blocks of these times: what a table in their order is narrowed by. Blocks of other times may lie
 * between them.
 */
function ltsOf(column: string, counted: Counted): string {
  const { of = plain } = counted;
  const within = (what: string) =>
    `(SELECT ${what} FROM ${of('blocks_by_time')} AS i WHERE ${during('i.gen_utime', counted)})`;
  const steps = `b.mc_seqno BETWEEN ${within('min(i.mc_seqno)')} AND ${within('max(i.mc_seqno)')}`;
  const last = `(SELECT max(b.end_lt) FROM ${of('blocks')} AS b WHERE ${steps} AND ${during('b.gen_utime', counted)})`;
  return `${column} BETWEEN ${within('min(i.start_lt)')} AND ${last}`;
}

const plain = (name: string): string => name;

/** What blocks add up to, by name. */
export const SUMS = [
  'blocks',
  'transactions',
  'failed',
  'messages',
  'externalIn',
  'traces',
  'newAccounts',
  'deployments',
  'gas',
  'fees',
  'value',
] as const;

const WIDE: ReadonlySet<string> = new Set(['fees', 'value']);

function sumOf(name: (typeof SUMS)[number]): string {
  if (name === 'blocks') return 'count()';
  const column = name === 'transactions' ? 'b.tx_count' : `b.${columnName(name)}`;
  return `sum(${WIDE.has(name) ? 'toUInt256' : 'toUInt64'}(${column}))`;
}

/** A SELECT of `bucket` and `SUMS`; buckets without a block have no row. */
export function countSums(resolution: Resolution, counted: Counted): string {
  const { upTo, of = plain } = counted;
  const within = (what: string) =>
    `(SELECT ${what} FROM ${of('blocks_by_time')} AS i WHERE ${during('i.gen_utime', counted)})`;
  return `
      SELECT ${bucketOf('b.gen_utime', resolution)} AS bucket, ${SUMS.map((name) => `${sumOf(name)} AS ${columnName(name)}`).join(', ')}
      FROM ${of('blocks')} AS b FINAL
      WHERE b.mc_seqno BETWEEN ${within('min(i.mc_seqno)')} AND least(${within('max(i.mc_seqno)')}, ${upTo})
        AND ${during('b.gen_utime', counted)}
      GROUP BY bucket`;
}

/** A SELECT of `bucket` and `active_accounts`. */
export function countAccounts(resolution: Resolution, counted: Counted): string {
  const { upTo, of = plain } = counted;
  return `
      SELECT ${bucketOf('t.now', resolution)} AS bucket, uniqExact(t.account) AS active_accounts
      FROM ${of('transactions_by_lt')} AS t
      WHERE ${ltsOf('t.lt', counted)} AND ${during('t.now', counted)} AND t.mc_seqno <= ${upTo}
      GROUP BY bucket`;
}

/** A SELECT of rows of `chain_statistics`, the columns in their order. */
export function countChain(resolution: Resolution, counted: Counted): string {
  const sums = SUMS.map((name) => `s.${columnName(name)} AS ${columnName(name)}`);
  return `
    SELECT '${resolution}' AS resolution, s.bucket AS bucket, toUInt32(${counted.upTo}) AS mc_seqno, ${sums.join(', ')},
      a.active_accounts AS active_accounts
    FROM (${countSums(resolution, counted)}) AS s
    LEFT JOIN (${countAccounts(resolution, counted)}) AS a ON a.bucket = s.bucket`;
}

/** A SELECT of rows of `subject_statistics`, the columns in their order. What is shown of them has `count > 0`. */
export function countSubjects(kind: SubjectKind, counted: Counted): string {
  return { opcode: countOpcodes, jetton: countJettons, action: countActions }[kind](counted);
}

function countOpcodes(counted: Counted): string {
  const { upTo, of = plain } = counted;
  const subject = "if(isNull(m.opcode), '', concat('0x', leftPad(lower(hex(assumeNotNull(m.opcode))), 8, '0')))";
  const each = `
      SELECT ${bucketOf('m.created_at', 'hour')} AS bucket, ${subject} AS name, count() AS messages,
        sum(toUInt256(m.value)) AS amount, uniqExactState(m.source) AS sources, uniqExactState(m.destination) AS destinations
      FROM ${of('messages')} AS m FINAL
      WHERE ${ltsOf('m.created_lt', counted)} AND ${during('m.created_at', counted)}
        AND m.source != ${NO_ADDRESS} AND m.destination != ${NO_ADDRESS} AND m.out_mc_seqno BETWEEN 1 AND ${upTo}
      GROUP BY bucket, name`;
  const ranked = `SELECT *, row_number() OVER (PARTITION BY bucket ORDER BY messages DESC, name) AS place FROM (${each})`;
  return `
    SELECT 'opcode' AS kind, r.bucket AS bucket, if(r.place <= ${OPCODES_AN_HOUR}, r.name, 'other') AS subject,
      toUInt32(${upTo}) AS mc_seqno, sum(r.messages) AS count, CAST(NULL AS Nullable(UInt64)) AS failed,
      toNullable(sum(r.amount)) AS amount, toNullable(uniqExactMerge(r.sources)) AS senders,
      toNullable(uniqExactMerge(r.destinations)) AS receivers
    FROM (${ranked}) AS r GROUP BY bucket, subject`;
}

function countJettons(counted: Counted): string {
  const { upTo, of = plain } = counted;
  const master =
    "concat(toString(toInt64(reinterpretAsUInt32(reverse(substring(j.jetton_master, 1, 4)))) - 2147483648), ':', " +
    'hex(substring(j.jetton_master, 5, 32)))';
  return `
    SELECT 'jetton' AS kind, ${bucketOf('j.transaction_now', 'hour')} AS bucket, ${master} AS subject,
      toUInt32(${upTo}) AS mc_seqno, count() AS count, toNullable(countIf(j.transaction_aborted)) AS failed,
      toNullable(sumIf(toUInt256(j.amount), NOT j.transaction_aborted)) AS amount,
      toNullable(uniqExactIf(j.source, j.source != ${NO_ADDRESS})) AS senders,
      toNullable(uniqExactIf(j.destination, j.destination != ${NO_ADDRESS})) AS receivers
    FROM ${of('jetton_transfers')} AS j FINAL
    WHERE ${ltsOf('j.transaction_lt', counted)} AND ${during('j.transaction_now', counted)} AND j.mc_seqno <= ${upTo}
    GROUP BY bucket, subject`;
}

/** Of a number that was told again the newest telling counts, which says by an empty type that there is none. */
function countActions(counted: Counted): string {
  const { upTo, of = plain } = counted;
  return `
    SELECT 'action' AS kind, ${bucketOf('n.utime', 'hour')} AS bucket, if(n.told.3, toString(n.told.1), '') AS subject,
      toUInt32(${upTo}) AS mc_seqno, countIf(subject != '') AS count,
      toNullable(countIf(subject != '' AND NOT n.told.2)) AS failed,
      CAST(NULL AS Nullable(UInt256)) AS amount, CAST(NULL AS Nullable(UInt64)) AS senders,
      CAST(NULL AS Nullable(UInt64)) AS receivers
    FROM (
      SELECT a.trace_end_utime AS utime, argMax((a.type, a.success, empty(a.ancestors)), a.mc_seqno) AS told
      FROM ${of('actions')} AS a
      WHERE a.trace_end_lt >= ${firstLt(counted)} AND ${during('a.trace_end_utime', counted)} AND a.mc_seqno <= ${upTo}
      GROUP BY a.trace_end_utime, a.trace_end_lt, a.trace_id, a.number
    ) AS n GROUP BY bucket, subject`;
}

/**
 * The end of a trace is not below the lt of the transaction that its time is of, which may be another than the one of
 * the greatest lt.
 */
function firstLt(counted: Counted): string {
  const { of = plain } = counted;
  return `(SELECT min(i.start_lt) FROM ${of('blocks_by_time')} AS i WHERE ${during('i.gen_utime', counted)})`;
}

/** Where the buckets begin that are not counted yet when a step of this time is the newest. */
export function firstOpen(resolution: Resolution, time: number): number {
  const size = RESOLUTIONS[resolution];
  return Math.max(0, Math.floor((time - GRACE_SECONDS) / size) * size);
}

/** A SELECT of the rows that count of `chain_statistics`: as they stood at a step. */
export function keptChain(resolution: Resolution, counted: Counted): string {
  const { of = plain } = counted;
  const columns = tableColumns(chainStatistics).map((name) => `k.${name} AS ${name}`);
  return `
    SELECT ${columns.join(', ')} FROM ${of(chainStatistics.name)} AS k FINAL
    WHERE k.resolution = '${resolution}' AND ${during('k.bucket', counted)}
      AND (k.bucket, k.mc_seqno) IN (${newestOf(chainStatistics, `n.resolution = '${resolution}'`, counted)})`;
}

/**
 * Of `subject_statistics`: all subjects of a kind and hour are written together, each time it is counted. What is shown
 * of them has `count > 0`.
 */
export function keptSubjects(kind: SubjectKind, counted: Counted): string {
  const { of = plain } = counted;
  const columns = tableColumns(subjectStatistics).map((name) => `k.${name} AS ${name}`);
  return `
    SELECT ${columns.join(', ')} FROM ${of(subjectStatistics.name)} AS k FINAL
    WHERE k.kind = '${kind}' AND ${during('k.bucket', counted)}
      AND (k.bucket, k.mc_seqno) IN (${newestOf(subjectStatistics, `n.kind = '${kind}'`, counted)})`;
}

function newestOf({ name }: { name: string }, which: string, counted: Counted): string {
  const { upTo, of = plain } = counted;
  return `SELECT n.bucket, max(n.mc_seqno) FROM ${of(name)} AS n
      WHERE ${which} AND ${during('n.bucket', counted)} AND n.mc_seqno <= ${upTo} GROUP BY n.bucket`;
}

/** Where the buckets begin that are counted from the facts as of a step, as SQL. */
export function openAt(resolution: Resolution, { upTo, of = plain }: Pick<Counted, 'upTo' | 'of'>): string {
  const size = RESOLUTIONS[resolution];
  const step = `(SELECT n.mc_seqno FROM ${of('blocks')} AS n WHERE n.mc_seqno <= ${upTo} ORDER BY n.mc_seqno DESC LIMIT 1)`;
  const time = `(SELECT max(b.gen_utime) FROM ${of('blocks')} AS b WHERE b.mc_seqno = ${step})`;
  return `toUInt32(intDiv(greatest(${time}, ${GRACE_SECONDS}) - ${GRACE_SECONDS}, ${size}) * ${size})`;
}
