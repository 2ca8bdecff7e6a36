/**
 * A server that is killed between noting an insert's token and keeping its rows forgets the rows and remembers the
 * token: every further try is taken for a repetition and does nothing. So after any doubt the tables are asked.
 */
import type { Logger } from 'pino';
import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { identifier, list } from '../../clickhouse/literal.ts';
import { columnName, columnNames, indexSelect, indexSteps } from '../../clickhouse/tables/sql.ts';
import type { Index, Table } from '../../clickhouse/tables/table.ts';
import { READ_TIMEOUT_MS } from './patience.ts';
import type { Batch } from './position.ts';
import type { Insert } from './rows.ts';

/** As in the migrations. */
const DEDUPLICATION_WINDOW = 1000;

const row = z.object({ name: z.string(), missing: z.coerce.boolean() });

/** Inserts the rows of a batch into one table, under their token. */
export type InsertInto = (insert: Insert) => Promise<void>;

/**
 * Finds tables without the rows of a batch that has just been inserted, lets them forget their tokens and inserts
 * again. An insert is one part, there as a whole or not at all, so one row tells of all.
 *
 * @throws Error naming the tables when rows are still missing
 */
export async function restoreLost(
  clickhouse: ClickHouse,
  { batch, inserts }: { batch: Batch; inserts: Insert[] },
  insertInto: InsertInto,
  { logger, signal }: { logger: Pick<Logger, 'warn'>; signal: AbortSignal },
): Promise<void> {
  let lost = await findLost(clickhouse, batch, inserts, signal);
  // What a view should have filled shows once the table above it is whole: one round for each.
  for (let round = 0; lost.length > 0 && round < 2; round++) {
    logger.warn({ tables: lost, step: batch.mcSeqno }, 'a killed ClickHouse lost rows, they are inserted again');
    for (const table of lost) await forgetTokens(clickhouse, table, signal);
    const sources = inserts.filter(({ table }) => [table, ...table.indexes].some(({ name }) => lost.includes(name)));
    await Promise.all(sources.map(insertInto));
    lost = await findLost(clickhouse, batch, inserts, signal);
  }
  if (lost.length > 0) throw new Error(`rows of step ${batch.mcSeqno} do not stay in ${lost.join(', ')}`);
}

async function forgetTokens(clickhouse: ClickHouse, table: string, signal: AbortSignal): Promise<void> {
  for (const window of [0, DEDUPLICATION_WINDOW]) await setWindow(clickhouse, table, window, signal);
}

async function setWindow(clickhouse: ClickHouse, table: string, window: number, signal: AbortSignal): Promise<void> {
  const sql = `ALTER TABLE ${identifier(table)} MODIFY SETTING non_replicated_deduplication_window = ${window}`;
  await clickhouse.command(sql, { label: `forgetting the tokens of ${table}`, signal });
}

const forgetful = z.object({ name: z.string() });

/** A kill in the middle of forgetting tokens leaves a table that notes none: from here on it does. */
export async function noteTokens(clickhouse: ClickHouse, signal: AbortSignal): Promise<void> {
  const found = await clickhouse.json(
    `SELECT name FROM system.tables
     WHERE database = currentDatabase() AND match(engine_full, 'non_replicated_deduplication_window = 0\\\\b')`,
    forgetful,
    { label: 'looking which tables note no tokens', signal },
  );
  for (const { name } of found) await setWindow(clickhouse, name, DEDUPLICATION_WINDOW, signal);
}

async function findLost(clickhouse: ClickHouse, batch: Batch, inserts: Insert[], signal: AbortSignal) {
  const questions = inserts.flatMap((insert) => [
    question(insert.table.name, missingRows(batch, insert)),
    ...insert.table.indexes.map((index) => question(index.name, missingEntries(insert.table, index, batch))),
  ]);
  if (questions.length === 0) return [];
  const label = 'looking whether the rows of a batch are there';
  const found = await clickhouse.json(questions.join('\nUNION ALL '), row, {
    label,
    timeoutMs: READ_TIMEOUT_MS,
    signal,
  });
  return found.filter(({ missing }) => missing).map(({ name }) => name);
}

function question(name: string, missing: string): string {
  return `SELECT '${name}' AS name, ${missing} AS missing`;
}

function missingRows(batch: Batch, { table, keys }: Insert): string {
  const { name, key, sign } = table;
  if (table.steps.length === 0) {
    const wanted = [...new Set(keys)];
    const columns = columnNames(key).join(', ');
    return `(SELECT uniqExact(${columns}) FROM ${name} WHERE (${columns}) IN ${list(wanted)}) < ${wanted.length}`;
  }
  const written = sign === undefined ? '' : ` AND ${columnName(sign)} = 1`;
  return `(SELECT count() FROM ${name} WHERE (${inSteps(columnNames(table.steps), batch)})${written}) = 0`;
}

/** Where the entries name no step, their keys must be those of the batch's rows. Not every row need have one. */
function missingEntries(table: Table, index: Index, batch: Batch): string {
  const steps = indexSteps(table, index);
  const [first] = index.key;
  const { columns, where } = indexSelect(table, index, [first]);
  const rows = `(${inSteps(columnNames(table.steps), batch)})${where ? ` AND ${where}` : ''}`;
  if (steps.length > 0) {
    const none = `(SELECT count() FROM ${index.name} WHERE ${inSteps(steps, batch)}) = 0`;
    return where ? `${none} AND (SELECT count() FROM ${table.name} WHERE ${rows}) > 0` : none;
  }
  const wanted = `SELECT ${columns} FROM ${table.name} WHERE ${rows}`;
  const key = columnName(first);
  const held = `SELECT ${key} FROM ${index.name} WHERE ${key} IN (${wanted})`;
  return `(SELECT count() FROM (${wanted}) WHERE ${key} NOT IN (${held})) > 0`;
}

function inSteps(columns: readonly string[], { firstMcSeqno, mcSeqno }: Batch): string {
  return columns.map((column) => `${column} BETWEEN ${firstMcSeqno} AND ${mcSeqno}`).join(' OR ');
}
