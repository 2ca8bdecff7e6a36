import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { u32, u64 } from '../../clickhouse/literal.ts';
import { NO_LT } from '../../streams/project/rows.ts';

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

const NO_HASH = "toFixedString('', 32)";
const TIMEOUT_MS = 600_000;

/**
 * Key tables must have the rows of the tables they come from; accounts and balances must follow from the history.
 *
 * What was written of steps after `done` is left out, whichever tables have it: a projector that was stopped inside a
 * batch leaves some tables with it and some without, and repeats the batch when it starts.
 *
 * @param done sequence number of the masterchain block of the last step that every table has
 */
export async function compareTables(clickhouse: ClickHouse, done: number, signal: AbortSignal): Promise<Difference[]> {
  const options = { label: 'comparing tables', signal, timeoutMs: TIMEOUT_MS };
  const [{ lt, later }] = await clickhouse.json(
    `SELECT (${leastLtAfter(done)}) AS lt, (${rowsAfter(done)}) AS later`,
    z.object({ lt: z.string(), later: z.coerce.number() }),
    options,
  );
  const differences: Difference[] = [];
  const row = z.object({ actual: z.string(), expected: z.string() });
  for (const { name, actual, expected } of pairs(done, { begun: later > 0, lt: u64(lt) })) {
    const [{ actual: found, expected: wanted }] = await clickhouse.json(
      `SELECT (${actual}) AS actual, (${expected}) AS expected`,
      row,
      options,
    );
    if (found !== wanted) differences.push({ table: name, text: `${name}: ${found}; it should have ${wanted}` });
  }
  return differences;
}

function rowsAfter(done: number): string {
  const later = ['blocks', 'transactions', 'transactions_by_time'].map(
    (table) => `SELECT count() AS n FROM ${table} WHERE mc_seqno > ${done}`,
  );
  for (const table of ['messages', 'messages_by_time']) {
    later.push(`SELECT count() AS n FROM ${table} WHERE out_mc_seqno > ${done} OR in_mc_seqno > ${done}`);
  }
  return `SELECT sum(n) FROM (${later.join(' UNION ALL ')})`;
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

function pairs(done: number, bound: Bound): Pair[] {
  return [...blockPairs(done), ...transactionPairs(done, bound), ...messagePairs(done, bound), ...accountPairs(done)];
}

/** A table that a view fills (002_keys.sql), with the step in each row. */
function stepPair(done: number, table: string, columns: string, source: string, selected = columns): Pair {
  return {
    name: table,
    actual: rowsText(columns, `${table} FINAL WHERE mc_seqno <= ${done}`),
    expected: rowsText(columns, `(SELECT ${selected} FROM ${source} FINAL WHERE mc_seqno <= ${done})`),
  };
}

function blockPairs(done: number): Pair[] {
  const hashes = 'arrayJoin([root_hash, file_hash]) AS hash, mc_seqno, workchain, shard, seqno';
  return [
    stepPair(done, 'blocks_by_id', 'workchain, shard, seqno, mc_seqno, start_lt, end_lt', 'blocks'),
    stepPair(done, 'blocks_by_time', 'gen_utime, workchain, shard, seqno, mc_seqno, start_lt', 'blocks'),
    stepPair(done, 'blocks_by_hash', 'hash, mc_seqno, workchain, shard, seqno', 'blocks', hashes),
  ];
}

function transactionPairs(done: number, { begun, lt }: Bound): Pair[] {
  const newest = (columns: string) => `SELECT ${columns} FROM transactions WHERE mc_seqno <= ${done} AND lt >= ${lt}`;
  // A later step may have come back to a state, and taken its row over.
  const moved = `SELECT state_after FROM transactions
    WHERE mc_seqno <= ${done} AND state_after IN (SELECT hash FROM account_states_by_hash WHERE lt >= ${lt})`;
  return [
    stepPair(done, 'transactions_by_lt', 'lt, account, mc_seqno, now, shard, seqno, in_opcode', 'transactions'),
    stepPair(done, 'transactions_by_time', 'now, lt, account, mc_seqno, shard, seqno', 'transactions'),
    {
      name: 'transactions_by_hash',
      actual: rowsText(
        'hash, account, lt',
        `transactions_by_hash FINAL WHERE ${begun ? `lt < ${lt} OR (account, lt) IN (${newest('account, lt')})` : 'true'}`,
      ),
      expected: rowsText('hash, account, lt', `transactions FINAL WHERE mc_seqno <= ${done}`),
    },
    {
      name: 'account_states_by_hash',
      actual: `SELECT toString(count()) FROM account_states_by_hash FINAL WHERE ${begun ? `lt < ${lt} OR hash IN (${moved})` : 'true'}`,
      expected: `SELECT toString(uniqExact(state_after)) FROM transactions WHERE mc_seqno <= ${done} AND state_after != ${NO_HASH}`,
    },
    stepPair(done, 'account_codes_by_step', 'mc_seqno, account, lt, code_hash', 'account_codes'),
  ];
}

function messagePairs(done: number, { begun, lt }: Bound): Pair[] {
  const sides = `if(out_mc_seqno <= ${done}, out_mc_seqno, 0) AS sent, if(in_mc_seqno <= ${done}, in_mc_seqno, 0) AS received`;
  const isDone = `(out_mc_seqno BETWEEN 1 AND ${done} OR in_mc_seqno BETWEEN 1 AND ${done})`;
  const byKey = (table: string, columns: string): Pair => {
    // Received a second time by a later step, an external message has lost the row of the first time.
    const overwritten = ['messages', table].map(
      (name) => `SELECT hash FROM ${name} WHERE created_lt = ${NO_LT} AND in_mc_seqno > ${done}`,
    );
    const from = (name: string) =>
      `(SELECT ${columns}, ${sides} FROM ${name} FINAL WHERE ${isDone}
        AND NOT (created_lt = ${NO_LT} AND hash IN (${overwritten.join(' UNION ALL ')})))`;
    const all = `${columns}, sent, received`;
    return { name: table, actual: rowsText(all, from(table)), expected: rowsText(all, from('messages')) };
  };
  const receivedOnly = ['messages', 'messages_by_time']
    .map((name) => `SELECT hash FROM ${name} WHERE out_mc_seqno = 0 AND in_mc_seqno > ${done}`)
    .join(' UNION ALL ');
  const newest = `SELECT created_lt, hash FROM messages FINAL WHERE created_lt >= ${lt} AND ${isDone}`;
  return [
    {
      name: 'messages_by_hash',
      actual: rowsText(
        'key, created_lt, hash',
        `messages_by_hash FINAL WHERE ${begun ? `(created_lt < ${lt} AND hash NOT IN (${receivedOnly})) OR (created_lt, hash) IN (${newest})` : 'true'}`,
      ),
      expected: rowsText(
        'key, created_lt, hash',
        `(SELECT arrayJoin(if(hash_norm = ${NO_HASH}, [hash], [hash, hash_norm])) AS key, created_lt, hash
          FROM messages FINAL WHERE ${isDone})`,
      ),
    },
    byKey('messages_by_source', 'source, created_lt, hash, destination'),
    byKey('messages_by_destination', 'destination, created_lt, hash, source'),
    byKey('messages_by_body', 'body_hash, created_lt, hash, opcode'),
    byKey('messages_by_time', 'created_at, created_lt, hash, opcode'),
  ];
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
        `(SELECT account, max(lt) AS last, argMax(state_after, lt) AS state FROM transactions
          WHERE mc_seqno <= ${done} AND state_after != ${NO_HASH} AND ${isStill} GROUP BY account)`,
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
        AND mc_seqno <= ${done} AND mc_seqno <= (SELECT if(count() = 0, toUInt32(-1), min(mc_seqno)) FROM gaps)`,
      expected: "SELECT '0'",
    },
  ];
}

function rowsText(columns: string, from: string): string {
  return `SELECT concat(toString(count()), ' rows, hash ', lower(hex(sum(cityHash64(toString(tuple(${columns}))))))) FROM ${from}`;
}
