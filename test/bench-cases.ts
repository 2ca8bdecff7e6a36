/** The requests of the API benchmark, with parameters drawn from the tables. */
import { z } from 'zod';
import type { ClickHouse } from '../clickhouse/client.ts';
import { makeCursor } from '../clickhouse/queries/keys.ts';
import { actionCases } from './bench-action-cases.ts';
import { tokenCases } from './bench-token-cases.ts';

export interface ApiCase {
  name: string;
  /** Asked in turn. */
  paths: string[];
  /** Requests a second over eight connections to all workers that are to be reached. */
  reach?: number;
  /**
   * Those of the reference service (Postgres, tuned, 7.2 million transactions, two cores, eight connections), where it
   * was measured.
   */
  reference?: number;
}

export const DRAWN = 400;
const API = '/api/v3';

const row = z.record(z.string(), z.union([z.string(), z.number()]));
export type Row = z.output<typeof row>;

/** What wallets, explorers and dashboards ask most. The same seed over the same tables draws the same. */
export async function askedMost(clickhouse: ClickHouse, seed: number): Promise<ApiCase[]> {
  const rows = rowsOf(clickhouse);
  const path = `${API}/transactions`;
  const drawn = await rows(drawnTransactions(seed));
  const accounts = (await rows(drawnAccounts(seed))).map(text('account'));
  const steps = await rows(
    `SELECT mc_seqno FROM blocks GROUP BY mc_seqno HAVING sum(tx_count) BETWEEN 30 AND 60 ORDER BY cityHash64(mc_seqno, ${seed}) LIMIT ${DRAWN}`,
  );
  const messages = await rows(drawnMessages(seed));
  const ofAccounts = async (limit: number): Promise<string[]> => {
    const busy = await rows(
      `SELECT ${addressText('t.account')} AS account FROM transactions AS t GROUP BY t.account HAVING count() >= ${limit}
       ORDER BY cityHash64(t.account, ${seed}) LIMIT ${DRAWN}`,
    );
    return busy.map((a) => `${path}?account=${a.account}&limit=${limit}`);
  };
  const states = (size: number): string[] =>
    group(accounts, size).map((some) => `${API}/accountStates?address=${some.join(',')}`);
  const fifties = group(accounts, 50).map((some) => `${path}?account=${some.join(',')}&limit=100`);
  const behind = drawn.map((t) => `${path}?limit=100&cursor=${cursorOf(t)}`);
  return [
    { name: 'transaction by hash', reach: 4_000, reference: 889, paths: drawn.map((t) => `${path}?hash=${t.hash}`) },
    { name: 'transactions of an account, 10', reach: 4_000, reference: 1_293, paths: await ofAccounts(10) },
    { name: 'transactions of an account, 100', reach: 1_200, reference: 214, paths: await ofAccounts(100) },
    { name: 'transactions of an account, 1000', reach: 120, reference: 19, paths: await ofAccounts(1000) },
    { name: 'transactions of 50 accounts, 100', reach: 800, reference: 397, paths: fifties },
    {
      name: 'transactions of a mc_seqno, 30 to 60 rows',
      reach: 2_500,
      reference: 293,
      paths: steps.map((t) => `${path}?mc_seqno=${t.mc_seqno}&limit=100`),
    },
    { name: 'latest transactions, 100', reach: 800, paths: [`${path}?limit=100`] },
    {
      name: 'message by hash',
      reach: 4_000,
      reference: 1_403,
      paths: messages.map((m) => `${API}/messages?msg_hash=${m.hash}`),
    },
    { name: 'state of 1 account', reach: 8_000, reference: 2_280, paths: states(1).slice(0, DRAWN) },
    { name: 'states of 1000 accounts', reach: 200, reference: 40, paths: states(1000) },
    { name: 'top balances, 100', reach: 3_000, reference: 3_167, paths: [`${API}/topAccountsByBalance?limit=100`] },
    {
      name: 'top balances at offset 10,000, 100',
      reach: 3_000,
      reference: 476,
      paths: [`${API}/topAccountsByBalance?limit=100&offset=10000`],
    },
    { name: 'masterchain info', reach: 10_000, paths: [`${API}/masterchainInfo`] },
    {
      name: 'transactions at offset 100,000, 100',
      reach: 150,
      reference: 15,
      paths: [`${path}?limit=100&offset=100000`],
    },
    { name: 'transactions behind any cursor, 100', reach: 100, paths: behind },
  ];
}

const rowsOf =
  (clickhouse: ClickHouse) =>
  (sql: string): Promise<Row[]> =>
    clickhouse.json(sql, row, { timeoutMs: 60_000 });

/** SQL for the raw form of an address column. */
export const addressText = (column: string): string =>
  `concat(toString(toInt64(reinterpretAsUInt32(reverse(substring(${column}, 1, 4)))) - 2147483648), ':', hex(substring(${column}, 5)))`;

const drawnTransactions = (seed: number, where = '1'): string =>
  `SELECT lower(hex(t.hash)) AS hash, lower(hex(t.account)) AS key, lt, now, mc_seqno
   FROM transactions AS t WHERE ${where} ORDER BY cityHash64(t.hash, ${seed}) LIMIT ${DRAWN}`;

const drawnAccounts = (seed: number): string =>
  `SELECT ${addressText('a.account')} AS account FROM accounts AS a FINAL ORDER BY cityHash64(a.account, ${seed}) LIMIT 20000`;

const drawnMessages = (seed: number, where = '1'): string =>
  `SELECT lower(hex(m.hash)) AS hash, ${addressText('m.source')} AS source, ${addressText('m.destination')} AS destination, created_lt, created_at
   FROM messages AS m WHERE m.source != toFixedString('', 36) AND m.destination != toFixedString('', 36) AND ${where}
   ORDER BY cityHash64(m.hash, ${seed}) LIMIT ${DRAWN}`;

const cursorOf = (t: Row): string =>
  makeCursor(
    'lt',
    ['now', 'lt', 'key'].map((name) => text(name)(t)),
  );

/**
 * What wallets ask most of what lies below the first step of a window, above it, and on both sides. Below are accounts
 * whose last transaction is, across are those that fill a page of ten from both sides.
 */
export async function borderCases(clickhouse: ClickHouse, seed: number, first: number): Promise<ApiCase[]> {
  const rows = rowsOf(clickhouse);
  const accountsWith = async (having: string): Promise<string[]> => {
    const found = await rows(
      `SELECT ${addressText('t.account')} AS account FROM transactions AS t GROUP BY t.account HAVING ${having}
       ORDER BY cityHash64(t.account, ${seed}) LIMIT ${DRAWN * 10}`,
    );
    return found.map(text('account'));
  };
  const pageOf = (account: string): string => `${API}/transactions?account=${account}&limit=10`;
  const above = `countIf(mc_seqno >= ${first})`;
  const sides = [
    { side: 'below', condition: `mc_seqno < ${first}`, having: `${above} = 0` },
    { side: 'above', condition: `mc_seqno >= ${first}`, having: `${above} >= 10` },
  ];
  const cases: ApiCase[] = [];
  for (const { side, condition, having } of sides) {
    const drawn = await rows(drawnTransactions(seed, condition));
    const accounts = await accountsWith(having);
    const messages = await rows(drawnMessages(seed, `in_${condition} AND out_${condition} AND out_mc_seqno > 0`));
    const steps = [...new Set(drawn.map((t) => t.mc_seqno))];
    const state = (some: readonly string[]): string => `${API}/accountStates?address=${some.join(',')}`;
    const some: ApiCase[] = [
      { name: 'transaction by hash', paths: drawn.map((t) => `${API}/transactions?hash=${t.hash}`) },
      { name: 'transactions of an account, 10', paths: accounts.slice(0, DRAWN).map(pageOf) },
      { name: 'transactions of a mc_seqno', paths: steps.map((n) => `${API}/transactions?mc_seqno=${n}&limit=100`) },
      { name: 'message by hash', paths: messages.map((m) => `${API}/messages?msg_hash=${m.hash}`) },
      { name: 'state of 1 account', paths: accounts.slice(0, DRAWN).map((account) => state([account])) },
      { name: 'states of 1000 accounts', paths: group(accounts, 1000).map(state) },
    ];
    cases.push(...some.map((one) => ({ ...one, name: `${side}: ${one.name}` })));
  }
  const across = await accountsWith(`${above} BETWEEN 1 AND 9 AND count() >= 10`);
  cases.push(
    { name: 'across: transactions of an account, 10', paths: across.slice(0, DRAWN).map(pageOf) },
    {
      name: 'across: transactions of 50 accounts, 100',
      paths: group(across, 50).map((some) => `${API}/transactions?account=${some.join(',')}&limit=100`),
    },
  );
  return cases.filter(({ paths }) => paths.length > 0);
}

/** What is asked most, and all other kinds. The same seed over the same tables draws the same. */
export async function apiCases(clickhouse: ClickHouse, seed: number): Promise<ApiCase[]> {
  const rows = rowsOf(clickhouse);
  const drawn = await rows(drawnTransactions(seed));
  const accounts = (await rows(drawnAccounts(seed))).map(text('account'));
  const hot = await rows(
    `SELECT ${addressText('t.account')} AS account FROM transactions AS t GROUP BY t.account HAVING count() >= 1000 ORDER BY count() DESC LIMIT 20`,
  );
  const messages = await rows(drawnMessages(seed));
  const joined = await rows(
    `SELECT lower(hex(m.out_tx_hash)) AS hash FROM messages AS m WHERE in_mc_seqno > 0 AND out_mc_seqno > 0
     ORDER BY cityHash64(m.hash, ${seed}) LIMIT ${DRAWN}`,
  );
  const blocks = await rows(
    `SELECT gen_utime, workchain, shard, seqno, mc_seqno FROM blocks ORDER BY cityHash64(root_hash, ${seed}) LIMIT ${DRAWN}`,
  );
  return [
    ...(await askedMost(clickhouse, seed)),
    ...transactionCases(drawn, hot, accounts),
    { name: 'adjacent transactions', paths: joined.map((t) => `${API}/adjacentTransactions?hash=${t.hash}`) },
    ...messageCases(messages),
    ...otherCases(blocks, accounts, drawn),
    ...(await actionCases(clickhouse, seed)),
    ...(await tokenCases(clickhouse, seed)),
  ];
}

export const text =
  (name: string) =>
  (from: Row): string =>
    String(from[name]);

function transactionCases(drawn: Row[], hot: Row[], accounts: string[]): ApiCase[] {
  const path = `${API}/transactions`;
  const ofHot = (limit: number): string[] => hot.map((a) => `${path}?account=${a.account}&limit=${limit}`);
  return [
    {
      name: 'transactions of a rare account, 10',
      paths: accounts.slice(0, DRAWN).map((account) => `${path}?account=${account}&limit=10`),
    },
    ...[10, 100, 1000].map((limit) => ({ name: `transactions of a busy account, ${limit}`, paths: ofHot(limit) })),
    {
      name: 'transactions except 50 accounts, 100',
      paths: group(accounts, 50).map((some) => `${path}?exclude_account=${some.join(',')}&limit=100`),
    },
    { name: 'transactions of a mc_seqno, 100', paths: drawn.map((t) => `${path}?mc_seqno=${t.mc_seqno}&limit=100`) },
    {
      name: 'transactions in a utime window, 100',
      paths: drawn.map((t) => `${path}?start_utime=${t.now}&end_utime=${Number(t.now) + 600}&limit=100`),
    },
    {
      name: 'transactions in an lt window, 100',
      paths: drawn.map((t) => `${path}?start_lt=${t.lt}&end_lt=${Number(t.lt) + 100_000_000}&limit=100`),
    },
    { name: 'transactions at offset 10,000, 100', paths: [`${path}?limit=100&offset=10000`] },
    {
      name: 'transactions of a masterchain block',
      paths: drawn.map((t) => `${path}ByMasterchainBlock?seqno=${t.mc_seqno}&limit=100`),
    },
  ];
}

function messageCases(messages: Row[]): ApiCase[] {
  const path = `${API}/messages`;
  return [
    { name: 'transactions by message', paths: messages.map((m) => `${API}/transactionsByMessage?msg_hash=${m.hash}`) },
    { name: 'messages of a source, 100', paths: messages.map((m) => `${path}?source=${m.source}&limit=100`) },
    {
      name: 'messages to a destination, 100',
      paths: messages.map((m) => `${path}?destination=${m.destination}&limit=100`),
    },
    {
      name: 'messages in a utime window, 100',
      paths: messages.map(
        (m) => `${path}?start_utime=${m.created_at}&end_utime=${Number(m.created_at) + 600}&limit=100`,
      ),
    },
    { name: 'latest messages, 100', paths: [`${path}?limit=100`] },
    {
      name: 'messages behind a deep cursor, 100',
      paths: messages.map(
        (m) => `${path}?limit=100&cursor=${makeCursor('created_lt', [String(m.created_lt), String(m.hash)])}`,
      ),
    },
  ];
}

function otherCases(blocks: Row[], accounts: string[], drawn: Row[]): ApiCase[] {
  return [
    {
      name: 'states of 1000 accounts without cells',
      paths: group(accounts, 1000).map((some) => `${API}/accountStates?include_boc=false&address=${some.join(',')}`),
    },
    {
      name: 'block by id',
      paths: blocks.map((b) => `${API}/blocks?workchain=${b.workchain}&shard=${b.shard}&seqno=${b.seqno}`),
    },
    { name: 'blocks of a mc_seqno', paths: drawn.map((t) => `${API}/blocks?mc_seqno=${t.mc_seqno}`) },
    { name: 'latest blocks, 100', paths: [`${API}/blocks?limit=100`] },
  ];
}

export function group<T>(values: T[], size: number): T[][] {
  return Array.from({ length: Math.floor(values.length / size) }, (_, i) => values.slice(i * size, (i + 1) * size));
}
