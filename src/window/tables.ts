import { mkdirSync } from 'node:fs';
import { type Database, open, type RootDatabase, type Transaction } from 'lmdb';

/** Keys and values are bytes: keys sort as they are read (keys.ts), values are laid out in entries.ts. */
export type Table = Database<Buffer, Buffer>;

const NAMES = [
  /** Masterchain seqno to what the step has and takes. */
  'steps',
  /** (step, workchain, shard, seqno) to the block; and that key by id, by hash, by time. */
  'blocks',
  'blocksById',
  'blocksByHash',
  'blocksByTime',
  /** Step to the tops of all shards. */
  'tops',
  /** Number of the transaction, in the order of the steps, to the transaction; and its place by four keys. */
  'transactions',
  'transactionsByAccount',
  'transactionsByLt',
  'transactionsByTime',
  'transactionsByHash',
  /** (created lt, hash) to the message with both its sides; and that key by five others. */
  'messages',
  'messagesByHash',
  'messagesBySource',
  'messagesByDestination',
  'messagesByBody',
  'messagesByTime',
  /** The newest state of each account that a step here has changed, and its data where a step here showed it. */
  'accounts',
  'accountData',
  /** Codes by hash. */
  'codes',
] as const;

export type TableName = (typeof NAMES)[number];

export interface Tables extends Record<TableName, Table> {
  root: RootDatabase<Buffer, Buffer>;
  /** Small things by name. */
  meta: Table;
}

const bytes = { encoding: 'binary', keyEncoding: 'binary' } as const;

/** Opens the folder, which is made when it is not there. On a local disk: lmdb maps its file into memory. */
export function openTables(folder: string): Tables {
  mkdirSync(folder, { recursive: true });
  const root = open<Buffer, Buffer>({ path: folder, noSubdir: false, maxDbs: NAMES.length + 4, ...bytes });
  const table = (name: string): Table => root.openDB<Buffer, Buffer>({ name, ...bytes });
  const tables = NAMES.map((name): [TableName, Table] => [name, table(name)]);
  return { root, meta: table('meta'), ...byName(tables) };
}

function byName(tables: readonly [TableName, Table][]): Record<TableName, Table> {
  const find = (wanted: TableName): Table => {
    const found = tables.find(([name]) => name === wanted);
    if (!found) throw new Error(`no table ${wanted}`);
    return found[1];
  };
  return {
    steps: find('steps'),
    blocks: find('blocks'),
    blocksById: find('blocksById'),
    blocksByHash: find('blocksByHash'),
    blocksByTime: find('blocksByTime'),
    tops: find('tops'),
    transactions: find('transactions'),
    transactionsByAccount: find('transactionsByAccount'),
    transactionsByLt: find('transactionsByLt'),
    transactionsByTime: find('transactionsByTime'),
    transactionsByHash: find('transactionsByHash'),
    messages: find('messages'),
    messagesByHash: find('messagesByHash'),
    messagesBySource: find('messagesBySource'),
    messagesByDestination: find('messagesByDestination'),
    messagesByBody: find('messagesByBody'),
    messagesByTime: find('messagesByTime'),
    accounts: find('accounts'),
    accountData: find('accountData'),
    codes: find('codes'),
  };
}

/** Empties every table. Inside a write transaction. */
export function clearTables(tables: Tables): void {
  for (const name of NAMES) tables[name].clearSync();
  tables.meta.clearSync();
}

/** An entry of a range. */
export interface Entry {
  key: Buffer;
  value: Buffer;
}

/**
 * Entries from `low` up to, not including, `high`, in either direction. Both bounds are keys or prefixes of keys.
 */
export function* entries(
  table: Table,
  transaction: Transaction,
  range: { low: Buffer; high: Buffer | null; reverse?: boolean },
): Generator<Entry> {
  const { low, high, reverse = false } = range;
  if (high && low.compare(high) >= 0) return;
  const found = reverse
    ? table.getRange({
        ...(high ? { start: high, exclusiveStart: true } : {}),
        end: low,
        inclusiveEnd: true,
        reverse: true,
        transaction,
      })
    : table.getRange({ start: low, ...(high ? { end: high } : {}), transaction });
  for (const { key, value } of found) yield { key, value };
}
