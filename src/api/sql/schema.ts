/** What can be asked: the views with types and meanings, the functions, the limits, and queries to begin with. */
import { z } from 'zod';
import type { ClickHouse } from '../../../clickhouse/client.ts';
import { text } from '../../../clickhouse/literal.ts';
import { VIEWS } from '../../../clickhouse/views/all.ts';
import { EXAMPLES } from './examples.ts';
import { FORMATS } from './formats.ts';
import { FUNCTIONS } from './functions.ts';
import type { SqlLimits } from './queries.ts';

const columnRow = z.object({ table: z.string(), name: z.string(), type: z.string() });

/** Columns of Dune's tables that are missing here, and why; a query that names one is told so by the engine. */
const MISSING = [
  'transactions: descr, the phases (compute_*, action_*, storage_*, credit_*, bounce), orig_status and balances are in account_transactions or in its boc',
  'messages: fwd_fee, ihr_fee, import_fee, bounce, bounced, comment and init_state are in boc',
  'blocks: version, flags and all that the block header has besides',
  'balances_history: jettons are in jetton_balances, by wallet',
  'jetton_events: mint, query_id, forward_ton_amount, comment, tx_hash and trace_id',
  'nft_events: sales and auctions, which are in actions',
  'dex_trades: pool_address, router_address, volume_usd and volume_ton; prices are on no chain',
  'dex_pools, prices',
];

export async function schemaJson(clickhouse: ClickHouse, database: string, limits: SqlLimits): Promise<string> {
  const rows = await clickhouse.json(
    `SELECT table, name, type FROM system.columns WHERE database = ${text(database)} ORDER BY table, position`,
    columnRow,
    { label: 'reading the columns of the views' },
  );
  const types = new Map(rows.map(({ table, name, type }) => [`${table}.${name}`, type]));
  const views = VIEWS.map(({ name, about, columns, as }) => ({
    name: `${database}.${name}`,
    about,
    as_of: as === 'at step' ? 'exact at every step' : 'newest state: each row names its step',
    columns: Object.entries(columns).map(([column, meaning]) => ({
      name: column,
      type: types.get(`${name}.${column}`) ?? null,
      meaning,
    })),
  }));
  return JSON.stringify({
    dialect: 'ClickHouse SQL: one SELECT or WITH; no SETTINGS, FORMAT, table functions',
    forms: {
      address: 'workchain, a colon, 64 hex digits in upper case',
      hash: 'base64',
      amount: 'Decimal(38, 0), in the smallest units',
      opcode: 'signed 32 bits',
    },
    formats: Object.keys(FORMATS),
    limits: {
      seconds: limits.timeoutMs / 1000,
      rows: limits.rows,
      rows_in_files: limits.fileRows,
    },
    views,
    missing: MISSING,
    examples: EXAMPLES,
    functions: FUNCTIONS,
  });
}
