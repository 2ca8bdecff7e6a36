import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { u32, u64 } from '../../clickhouse/literal.ts';
import { TABLES } from '../../clickhouse/tables/all.ts';
import { hashOrNone } from '../../clickhouse/tables/columns.ts';
import { columnName, columnNames, indexColumns, indexSelect, indexSteps } from '../../clickhouse/tables/sql.ts';
import type { Index, Table } from '../../clickhouse/tables/table.ts';
import type { TellProgress } from '../progress.ts';

/** Two queries with one text each that must be equal. */
interface Pair {
  name: string;
  actual: string;
  expected: string;
}

export interface Difference {
  table: string;
  text: string;
}

/** Tables that hold the newest only: they move on between the two sides of a comparison while a projector writes. */
export const NEWEST_ONLY = new Set(['accounts', 'balances']);

/** What tells rows up to `done` from later ones where a row has no step. */
interface Bound {
  /** Rows of later steps are there. */
  begun: boolean;
  /** No transaction of a later step has an lt below this. */
  lt: string;
}

const TIMEOUT_MS = 600_000;

/**
 * Key tables must have the rows of the tables they come from; accounts and balances must follow from the history.
 *
 * What was written of steps after `done` is left out, whichever tables have it: a projector that was stopped inside a
 * batch leaves some tables with it and some without, and repeats the batch when it starts.
 *
 * @param done sequence number of the masterchain block of the last step that every table has
 */
export async function compareTables(
  clickhouse: ClickHouse,
  done: number,
  signal: AbortSignal,
  { tables = TABLES, tell = () => undefined }: { tables?: readonly Table[]; tell?: TellProgress } = {},
): Promise<Difference[]> {
  const progress = (compared: number, total: number) => tell('comparing tables', 'tables', compared, total);
  progress(0, tables.length);
  const indexed = tables.filter(({ indexes }) => indexes.length > 0);
  const options = { label: 'comparing tables', signal, timeoutMs: TIMEOUT_MS };
  const [{ lt, later }] = await clickhouse.json(
    `SELECT (${leastLtAfter(done)}) AS lt, (${rowsAfter(indexed, done)}) AS later`,
    z.object({ lt: z.string(), later: z.coerce.number() }),
    options,
  );
  const differences: Difference[] = [];
  const row = z.object({ actual: z.string(), expected: z.string() });
  const all = pairs(indexed, done, { begun: later > 0, lt: u64(lt) });
  for (const [n, { name, actual, expected }] of all.entries()) {
    progress(n, all.length);
    const [{ actual: found, expected: wanted }] = await clickhouse.json(
      `SELECT (${actual}) AS actual, (${expected}) AS expected`,
      row,
      options,
    );
    if (found !== wanted) differences.push({ table: name, text: `${name}: ${found}; it should have ${wanted}` });
  }
  return differences;
}

function rowsAfter(indexed: readonly Table[], done: number): string {
  const later = indexed.flatMap((table) =>
    withSteps(table).map(
      ({ name, steps }) =>
        `SELECT count() AS n FROM ${name} WHERE ${steps.map((step) => `${step} > ${done}`).join(' OR ')}`,
    ),
  );
  return `SELECT sum(n) FROM (${later.join(' UNION ALL ')})`;
}

/** The table and its indexes, those whose rows name all their steps. */
function withSteps(table: Table): { name: string; steps: string[] }[] {
  const steps = columnNames(table.steps);
  const indexes = table.indexes.map((index) => ({ name: index.name, steps: indexSteps(table, index) }));
  return [{ name: table.name, steps }, ...indexes].filter((one) => one.steps.length === steps.length);
}

/**
 * The block of a transaction of a later step follows one of the newest that `done` knows, and begins after that
 * one's end. 0 when not all of these are in the tables.
 */
function leastLtAfter(done: number): string {
  const newest = `SELECT max(mc_seqno) FROM shard_tops WHERE mc_seqno <= ${u32(done)}`;
  const tops = `SELECT workchain, shard, seqno FROM shard_tops FINAL WHERE mc_seqno = (${newest})`;
  return `SELECT toString(if(count() = (SELECT count() FROM (${tops})), min(end_lt), 0))
    FROM blocks FINAL WHERE (workchain, shard, seqno) IN (${tops})`;
}

function pairs(indexed: readonly Table[], done: number, bound: Bound): Pair[] {
  const indexes = indexed.flatMap((table) =>
    table.indexes.map((index) => {
      if (index.stays) return rowPair(table, index, done);
      return indexSteps(table, index).length > 0 ? stepPair(table, index, done) : keyPair(table, index, done, bound);
    }),
  );
  return [...indexes, ...accountPairs(done)];
}

/** An index whose rows name their steps: a step above `done` counts as none, and rows of such steps alone not at all. */
function stepPair(table: Table, index: Index, done: number): Pair {
  const steps = indexSteps(table, index);
  const plain = indexColumns(index).filter((column) => !steps.includes(column));
  const shown = steps.map((step) => `if(${step} <= ${done}, ${step}, 0) AS shown_${step}`);
  const all = [...plain, ...steps.map((step) => `shown_${step}`)].join(', ');
  const { columns, where } = indexSelect(table, index);
  const conditions = [isDone(steps, done), ...notReplaced(table, index, done)];
  const distinct = index.shared ? 'DISTINCT ' : '';
  const from = (name: string, selected: string, asked: readonly string[]) =>
    `(SELECT ${distinct}${[selected, ...shown].join(', ')} FROM ${name} FINAL WHERE ${asked.join(' AND ')})`;
  return {
    name: index.name,
    actual: rowsText(all, from(index.name, plain.join(', '), conditions)),
    expected: rowsText(all, from(table.name, columns, where ? [...conditions, where] : conditions)),
  };
}

/** An index whose rows do not: those from the clock of later steps on must be of rows that are done. */
function keyPair(table: Table, index: Index, done: number, { begun, lt }: Bound): Pair {
  const steps = columnNames(table.steps);
  const clock = columnName(table.clock ?? '');
  const key = columnNames(table.key).join(', ');
  const rows = isDone(steps, done);
  const compared = index.shared ? columnNames(index.key) : indexColumns(index);
  const { columns, where } = indexSelect(table, index, index.shared ? index.key : undefined);
  const entries = `SELECT DISTINCT ${columns} FROM ${table.name} FINAL WHERE ${rows}${where ? ` AND ${where}` : ''}`;
  // Of rows with the same key a later step may have taken the entry over.
  const newest = index.shared
    ? `(${compared.join(', ')}) IN (${entries})`
    : `(${key}) IN (SELECT ${key} FROM ${table.name} FINAL WHERE ${clock} >= ${lt} AND ${rows})`;
  const later = withSteps(table)
    .map(({ name }) => `SELECT ${key} FROM ${name} WHERE NOT ${rows}`)
    .join(' UNION ALL ');
  const written = begun ? `(${clock} < ${lt} AND (${key}) NOT IN (${later})) OR ${newest}` : 'true';
  return {
    name: index.name,
    actual: rowsText(compared.join(', '), `${index.name} FINAL WHERE ${written}`),
    expected: rowsText(compared.join(', '), `(${entries})`),
  };
}

/** An index that also has entries of rows replaced since: each row has its own. */
function rowPair(table: Table, index: Index, done: number): Pair {
  const { columns, where } = indexSelect(table, index);
  const rows = [isDone(columnNames(table.steps), done), ...(where ? [where] : [])].join(' AND ');
  const names = indexColumns(index).join(', ');
  return {
    name: index.name,
    actual: `SELECT toString(count()) FROM (SELECT ${columns} FROM ${table.name} FINAL WHERE ${rows})
      WHERE (${names}) NOT IN (SELECT ${names} FROM ${index.name})`,
    expected: "SELECT '0'",
  };
}

function isDone(steps: readonly string[], done: number): string {
  return `(${steps.map((step) => `${step} BETWEEN 1 AND ${done}`).join(' OR ')})`;
}

/** Written a second time by a later step, a row without a clock (an external message) has lost that of the first time. */
function notReplaced({ name, key, kind, version, clock, columns }: Table, index: Index, done: number): string[] {
  const none = clock && columns[clock].none;
  if (kind !== 'newest' || !version || !clock || none === undefined) return [];
  const same = columnNames(key).join(', ');
  const without = `${columnName(clock)} = ${none}`;
  const replaced = [name, index.name].map(
    (from) => `SELECT ${same} FROM ${from} WHERE ${without} AND ${columnName(version)} > ${done}`,
  );
  return [`NOT (${without} AND (${same}) IN (${replaced.join(' UNION ALL ')}))`];
}

/** These tables hold the newest only: an account that a later step has changed is not compared. */
function accountPairs(done: number): Pair[] {
  const changed = ['accounts', 'balances'].map((name) => `SELECT account FROM ${name} WHERE mc_seqno > ${done}`);
  const isStill = `account NOT IN (${changed.join(' UNION ALL ')})`;
  return [
    {
      name: 'accounts',
      actual: rowsText('account, lt, hash', `accounts FINAL WHERE ${isStill}`),
      expected: rowsText(
        'account, last AS lt, state AS hash',
        `(SELECT account, max(lt) AS last, argMax(state_after, lt) AS state FROM (
            SELECT account, lt, state_after, mc_seqno FROM transactions WHERE state_after != ${hashOrNone.none}
            UNION ALL SELECT account, lt, hash, mc_seqno FROM learned_accounts)
          WHERE mc_seqno <= ${done} AND ${isStill} GROUP BY account)`,
      ),
    },
    {
      name: 'balances',
      actual: rowsText(
        'account, balance, toInt64(net)',
        `(SELECT account, balance, sum(sign) AS net FROM balances WHERE ${isStill} GROUP BY account, balance HAVING net != 0)`,
      ),
      expected: rowsText('account, balance, toInt64(1)', `accounts FINAL WHERE ${isStill}`),
    },
    {
      name: 'account_data',
      // Behind a step that is left out, a node may have shown data of a transaction in it.
      actual: `SELECT toString(count()) FROM account_data FINAL WHERE (account, lt) NOT IN (SELECT account, lt FROM transactions)
        AND (account, lt) NOT IN (SELECT account, lt FROM learned_accounts)
        AND mc_seqno <= ${done} AND mc_seqno <= (SELECT if(count() = 0, toUInt32(-1), min(mc_seqno)) FROM gaps)`,
      expected: "SELECT '0'",
    },
  ];
}

function rowsText(columns: string, from: string): string {
  return `SELECT concat(toString(count()), ' rows, hash ', lower(hex(sum(cityHash64(toString(tuple(${columns}))))))) FROM ${from}`;
}
