import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';

/** Tables that views fill: their columns as they follow from the table they come from (002_keys.sql). */
const KEY_TABLES: [table: string, columns: string, source: string, selected?: string][] = [
  ['blocks_by_id', 'workchain, shard, seqno, mc_seqno, start_lt, end_lt', 'blocks'],
  ['blocks_by_time', 'gen_utime, workchain, shard, seqno, mc_seqno, start_lt', 'blocks'],
  [
    'blocks_by_hash',
    'hash, mc_seqno, workchain, shard, seqno',
    'blocks',
    'arrayJoin([root_hash, file_hash]) AS hash, mc_seqno, workchain, shard, seqno',
  ],
  ['transactions_by_lt', 'lt, account, mc_seqno, now, shard, seqno, in_opcode', 'transactions'],
  ['transactions_by_time', 'now, lt, account, mc_seqno, shard, seqno', 'transactions'],
  ['transactions_by_hash', 'hash, account, lt', 'transactions'],
  [
    'messages_by_hash',
    'key, created_lt, hash',
    'messages',
    "arrayJoin(if(hash_norm = toFixedString('', 32), [hash], [hash, hash_norm])) AS key, created_lt, hash",
  ],
  ['messages_by_source', 'source, created_lt, hash, destination, out_mc_seqno, in_mc_seqno', 'messages'],
  ['messages_by_destination', 'destination, created_lt, hash, source, out_mc_seqno, in_mc_seqno', 'messages'],
  ['messages_by_body', 'body_hash, created_lt, hash, opcode, out_mc_seqno, in_mc_seqno', 'messages'],
  ['messages_by_time', 'created_at, hash, created_lt, opcode, out_mc_seqno, in_mc_seqno', 'messages'],
  ['account_codes_by_step', 'mc_seqno, account, lt, code_hash', 'account_codes'],
];

const NO_HASH = "toFixedString('', 32)";

/** Pairs of queries with one text each that must be equal. */
const PAIRS: [name: string, actual: string, expected: string][] = [
  ...KEY_TABLES.map(([table, columns, source, selected = columns]): [string, string, string] => [
    table,
    rowsText(columns, `${table} FINAL`),
    rowsText(columns, `(SELECT ${selected} FROM ${source} FINAL)`),
  ]),
  [
    'account_states_by_hash',
    'SELECT toString(count()) FROM account_states_by_hash FINAL',
    `SELECT toString(uniqExact(state_after)) FROM transactions WHERE state_after != ${NO_HASH}`,
  ],
  [
    'accounts',
    rowsText('account, lt, hash', 'accounts FINAL'),
    rowsText(
      'account, last AS lt, state AS hash',
      `(SELECT account, max(lt) AS last, argMax(state_after, lt) AS state FROM transactions WHERE state_after != ${NO_HASH} GROUP BY account)`,
    ),
  ],
  [
    'balances',
    rowsText(
      'account, balance, toInt64(net)',
      '(SELECT account, balance, sum(sign) AS net FROM balances GROUP BY account, balance HAVING net != 0)',
    ),
    rowsText('account, balance, toInt64(1)', 'accounts FINAL'),
  ],
  [
    'account_data',
    // Behind a step that is left out, a node may have shown data of a transaction in it.
    `SELECT toString(count()) FROM account_data FINAL WHERE (account, lt) NOT IN (SELECT account, lt FROM transactions)
     AND mc_seqno <= (SELECT if(count() = 0, toUInt32(-1), min(mc_seqno)) FROM gaps)`,
    "SELECT '0'",
  ],
];

function rowsText(columns: string, from: string): string {
  return `SELECT concat(toString(count()), ' rows, hash ', lower(hex(sum(cityHash64(toString(tuple(${columns}))))))) FROM ${from}`;
}

/** Key tables must have the rows of the tables they come from; accounts and balances must follow from the history. */
export async function compareTables(clickhouse: ClickHouse, signal: AbortSignal): Promise<string[]> {
  const problems: string[] = [];
  const row = z.object({ actual: z.string(), expected: z.string() });
  for (const [name, actual, expected] of PAIRS) {
    const [texts] = await clickhouse.json(`SELECT (${actual}) AS actual, (${expected}) AS expected`, row, {
      label: 'comparing tables',
      signal,
      timeoutMs: 600_000,
    });
    if (texts.actual !== texts.expected) problems.push(`${name}: ${texts.actual}; it should have ${texts.expected}`);
  }
  return problems;
}
