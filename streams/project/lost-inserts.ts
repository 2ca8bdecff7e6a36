/**
 * A server that is killed between noting an insert's token and keeping its rows forgets the rows and remembers the
 * token: every further try is taken for a repetition and does nothing. So after any doubt the tables are asked.
 */
import type { Logger } from 'pino';
import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { bytes, identifier, list } from '../../clickhouse/literal.ts';
import type { Batch } from './position.ts';
import type { Insert } from './rows.ts';

/** As in the migrations. */
const DEDUPLICATION_WINDOW = 1000;

/** Tables that views fill, by the table whose inserts they follow. */
export const FILLED_BY_VIEWS: Record<string, readonly string[]> = {
  blocks: ['blocks_by_id', 'blocks_by_time', 'blocks_by_hash'],
  transactions: ['transactions_by_lt', 'transactions_by_time', 'transactions_by_hash', 'account_states_by_hash'],
  messages: [
    'messages_by_hash',
    'messages_by_source',
    'messages_by_destination',
    'messages_by_body',
    'messages_by_time',
  ],
  account_codes: ['account_codes_by_step'],
};

/** Tables that name no step: the hashes they should hold for a batch, and their column. */
const HASHES: Record<string, (batch: Batch) => { wanted: string; column: string }> = {
  transactions_by_hash: (batch) => ({
    wanted: `SELECT hash AS wanted FROM transactions WHERE ${inStep('mc_seqno', batch)}`,
    column: 'hash',
  }),
  account_states_by_hash: (batch) => ({
    wanted: `SELECT state_after AS wanted FROM transactions WHERE ${inStep('mc_seqno', batch)} AND state_after != toFixedString('', 32)`,
    column: 'hash',
  }),
  messages_by_hash: (batch) => ({
    wanted: `SELECT hash AS wanted FROM messages WHERE ${inStep('out_mc_seqno', batch)} OR ${inStep('in_mc_seqno', batch)}`,
    column: 'key',
  }),
};

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
    const sources = inserts.filter(({ table }) =>
      [table, ...(FILLED_BY_VIEWS[table] ?? [])].some((name) => lost.includes(name)),
    );
    await Promise.all(sources.map(insertInto));
    lost = await findLost(clickhouse, batch, inserts, signal);
  }
  if (lost.length > 0) throw new Error(`rows of step ${batch.mcSeqno} do not stay in ${lost.join(', ')}`);
}

async function forgetTokens(clickhouse: ClickHouse, table: string, signal: AbortSignal): Promise<void> {
  for (const window of [0, DEDUPLICATION_WINDOW]) {
    const sql = `ALTER TABLE ${identifier(table)} MODIFY SETTING non_replicated_deduplication_window = ${window}`;
    await clickhouse.command(sql, { label: `forgetting the tokens of ${table}`, signal });
  }
}

async function findLost(clickhouse: ClickHouse, batch: Batch, inserts: Insert[], signal: AbortSignal) {
  const questions = inserts.flatMap((insert) =>
    [insert.table, ...(FILLED_BY_VIEWS[insert.table] ?? [])].map(
      (name) => `SELECT '${name}' AS name, ${missing(name, batch, insert)} AS missing`,
    ),
  );
  if (questions.length === 0) return [];
  const label = 'looking whether the rows of a batch are there';
  const found = await clickhouse.json(questions.join('\nUNION ALL '), row, { label, timeoutMs: 60_000, signal });
  return found.filter(({ missing }) => missing).map(({ name }) => name);
}

function missing(table: string, batch: Batch, { keys }: Insert): string {
  if (table === 'codes') {
    const wanted = [...new Set(keys.map(bytes))];
    return `(SELECT uniqExact(code_hash) FROM codes WHERE code_hash IN ${list(wanted)}) < ${wanted.length}`;
  }
  const hashes = HASHES[table]?.(batch);
  if (hashes) {
    const held = `SELECT ${hashes.column} FROM ${table} WHERE ${hashes.column} IN (${hashes.wanted})`;
    return `(SELECT count() FROM (${hashes.wanted}) WHERE wanted NOT IN (${held})) > 0`;
  }
  return `(SELECT count() FROM ${table} WHERE ${ofBatch(table, batch)}) = 0`;
}

function ofBatch(table: string, batch: Batch): string {
  if (table.startsWith('messages')) return `${inStep('out_mc_seqno', batch)} OR ${inStep('in_mc_seqno', batch)}`;
  return `${inStep('mc_seqno', batch)}${table === 'balances' ? ' AND sign = 1' : ''}`;
}

function inStep(column: string, { firstMcSeqno, mcSeqno }: Batch): string {
  return `${column} BETWEEN ${firstMcSeqno} AND ${mcSeqno}`;
}
