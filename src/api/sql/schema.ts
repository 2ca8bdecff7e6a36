/** What can be asked: the views with types and meanings, the functions, the limits, and queries to begin with. */
import { z } from 'zod';
import type { ClickHouse } from '../../../clickhouse/client.ts';
import { textLiteral } from '../../../clickhouse/literal.ts';
import { VIEWS } from '../../../clickhouse/views/all.ts';
import { EXAMPLES } from './examples.ts';
import { FORMATS } from './formats.ts';
import { FUNCTIONS } from './functions.ts';
import type { SqlLimits } from './queries.ts';

const columnRow = z.object({ table: z.string(), name: z.string(), type: z.string() });

/** What Dune's tables have and these views do not, with the reason or the place where it is. */
const MISSING = [
  'transactions: account_state_balance_after and account_state_code_hash_after are in account_transactions alone, whose order is that of accounts; hashes of the machine before and after (compute_vm_init_state_hash …), hashes of states and the lists of actions and split_info are in its boc alone: nobody filters by them, and each hash costs 32 bytes a transaction',
  'messages: body_boc and init_state_boc are parts of boc; extra_flags is there, too',
  'jetton_events: tx_hash and trace_id are in account_transactions, where account = jetton_wallet and lt = tx_lt; query_id, forward_ton_amount and comment are in the body of its message, decoded in actions (details); mints are actions of type jetton_mint',
  'nft_events: sales and auctions are actions (nft_purchase, auction_bid …); tx_hash and trace_id as of jetton_events',
  'dex_trades: pool_address, router_address: which accounts took part is in actions (accounts); volume_usd and volume_ton want prices, which are on no chain',
  'dex_pools and prices: reserves are known of some exchanges alone, prices are on no chain',
];

export async function schemaJson(clickhouse: ClickHouse, database: string, limits: SqlLimits): Promise<string> {
  const rows = await clickhouse.json(
    `SELECT table, name, type FROM system.columns WHERE database = ${textLiteral(database)} ORDER BY table, position`,
    columnRow,
    { label: 'reading the columns of the views' },
  );
  const types = new Map(rows.map(({ table, name, type }) => [`${table}.${name}`, type]));
  const views = VIEWS.map(({ name, about, columns, as, changes }) => ({
    name: `${database}.${name}`,
    about,
    as_of:
      as === 'newest'
        ? 'newest state: each row names its step'
        : `exact at every step${changes ? `, but: ${changes}` : ''}`,
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
