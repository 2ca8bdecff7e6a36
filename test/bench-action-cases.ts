/** Requests of the API benchmark about traces, actions and tokens, with parameters drawn from the tables. */
import { z } from 'zod';
import type { ClickHouse } from '../clickhouse/client.ts';
import { makeCursor } from '../clickhouse/queries/keys.ts';
import { type ApiCase, addressText, DRAWN, group, type Row, text } from './bench-cases.ts';

const API = '/api/v3';
/** Accounts asked for at once. */
const MANY = 50;

const hex = (column: string, name: string): string => `lower(hex(${column})) AS ${name}`;

/** Cases of which the tables hold nothing are left out: not every load has tokens. */
export async function actionCases(clickhouse: ClickHouse, seed: number): Promise<ApiCase[]> {
  const row = z.record(z.string(), z.union([z.string(), z.number()]));
  const rows = (sql: string): Promise<Row[]> => clickhouse.json(sql, row, { timeoutMs: 60_000 });
  const by = (column: string): string => `ORDER BY cityHash64(${column}, ${seed}) LIMIT ${DRAWN}`;
  // Each trace is as likely as any other: most transactions of the load are in a few large ones.
  const drawn = await rows(
    `SELECT ${hex('any(t.hash)', 'hash')} FROM transactions AS t
     WHERE t.trace_id IN (SELECT trace_id FROM traces WHERE state = 'complete') GROUP BY t.trace_id ${by('t.trace_id')}`,
  );
  const accounts = async (table: string, least: number): Promise<string[]> => {
    const found = await rows(
      `SELECT ${addressText('a.account')} AS account FROM ${table} AS a GROUP BY a.account HAVING count() >= ${least}
       ORDER BY cityHash64(a.account, ${seed}) LIMIT ${DRAWN * MANY}`,
    );
    return found.map(text('account'));
  };
  const actors = await accounts('action_accounts', 1);
  const ofAccounts = (found: readonly string[], limit: number): string[] =>
    found.slice(0, DRAWN).map((account) => `${API}/actions?account=${account}&limit=${limit}`);
  const types = await rows("SELECT type FROM actions WHERE type != '' GROUP BY type ORDER BY type");
  const steps = await rows(`SELECT end_mc_seqno AS mc_seqno FROM actions GROUP BY mc_seqno ${by('mc_seqno')}`);
  const ends = await rows(
    `SELECT trace_end_lt, ${hex('a.trace_id', 'trace')}, number FROM actions AS a ${by('a.action_id')}`,
  );
  const cases: ApiCase[] = [
    { name: 'traces by transaction', reach: 1_500, paths: drawn.map((t) => `${API}/traces?tx_hash=${t.hash}`) },
    {
      name: 'traces of an account, 10',
      paths: (await accounts('trace_accounts', 10))
        .slice(0, DRAWN)
        .map((account) => `${API}/traces?account=${account}&limit=10`),
    },
    {
      name: 'actions of an account, 10',
      reach: 2_500,
      paths: ofAccounts(await accounts('action_accounts', 10), 10),
    },
    { name: 'actions of an account, 100', paths: ofAccounts(await accounts('action_accounts', 100), 100) },
    {
      name: 'actions of 50 accounts, 100',
      reach: 700,
      paths: group(actors, MANY).map((some) => `${API}/actions?account=${some.join(',')}&limit=100`),
    },
    { name: 'actions of a type, 100', paths: types.map((t) => `${API}/actions?action_type=${t.type}&limit=100`) },
    { name: 'actions of a mc_seqno', paths: steps.map((t) => `${API}/actions?mc_seqno=${t.mc_seqno}&limit=100`) },
    { name: 'actions by transaction', paths: drawn.map((t) => `${API}/actions?tx_hash=${t.hash}`) },
    {
      name: 'actions behind any cursor, 100',
      paths: ends.map(
        (t) =>
          `${API}/actions?limit=100&cursor=${makeCursor(
            'lt',
            ['trace_end_lt', 'trace', 'number'].map((n) => text(n)(t)),
          )}`,
      ),
    },
    ...(await tokenCases(rows, by)),
  ];
  return cases.filter(({ paths }) => paths.length > 0);
}

async function tokenCases(rows: (sql: string) => Promise<Row[]>, by: (column: string) => string): Promise<ApiCase[]> {
  const drawn = async (table: string, column: string): Promise<string[]> => {
    const sql = `SELECT ${addressText(`t.${column}`)} AS address FROM ${table} AS t WHERE t.${column} != toFixedString('', 36)
      GROUP BY t.${column} ${by(`t.${column}`)}`;
    return (await rows(sql)).map(text('address'));
  };
  const owners = await drawn('jetton_wallets', 'owner');
  const senders = await drawn('jetton_transfers', 'source');
  const masters = await drawn('jetton_transfers', 'jetton_master');
  const collectors = await drawn('nft_items', 'owner_address');
  return [
    { name: 'jetton wallets of an owner', paths: owners.map((one) => `${API}/jetton/wallets?owner_address=${one}`) },
    {
      name: 'jetton transfers of an owner, 10',
      reach: 1_500,
      paths: senders.map((one) => `${API}/jetton/transfers?owner_address=${one}&limit=10`),
    },
    {
      name: 'jetton transfers of a jetton, 100',
      paths: masters.map((one) => `${API}/jetton/transfers?jetton_master=${one}&limit=100`),
    },
    { name: 'NFT items of an owner', paths: collectors.map((one) => `${API}/nft/items?owner_address=${one}`) },
  ];
}
