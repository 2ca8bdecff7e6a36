/** What actions ask of contracts (src/chain/actions/known.ts), from the tables of contracts: as of a step. */
import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { keySet } from '../../clickhouse/literal.ts';
import { KEYS_PER_QUERY, lotsOf } from '../../clickhouse/lots.ts';
import { RowReader } from '../../clickhouse/rowbinary.ts';
import { accountData, accounts as accountTable } from '../../clickhouse/tables/accounts.ts';
import { jettonWallets } from '../../clickhouse/tables/jettons.ts';
import { nftItems } from '../../clickhouse/tables/nfts.ts';
import { pastOf } from '../../clickhouse/tables/past.ts';
import { nftAuctions, nftSales } from '../../clickhouse/tables/sales.ts';
import { dedustPools, multisigOrders, nominatorPools } from '../../clickhouse/tables/services.ts';
import { columnNames } from '../../clickhouse/tables/sql.ts';
import {
  type Columns,
  partReaderOf,
  type RowOf,
  type Table,
  type TableOf,
  type TableWith,
} from '../../clickhouse/tables/table.ts';
import { transactions } from '../../clickhouse/tables/transactions.ts';
import { hashText } from '../../src/chain/actions/chain-trace.ts';
import type { KnownContracts } from '../../src/chain/actions/known.ts';
import type { RawAddress } from '../../src/chain/actions/trace.ts';
import { parseAddress, rawAddress } from '../../src/chain/address.ts';
import type { ContractSource } from '../../src/chain/contract-records.ts';
import { hashKey } from '../../src/chain/hash.ts';
import { CellView } from '../../src/chain/layouts/cell-view.ts';
import type { Address, Decimal } from '../../src/chain/model.ts';
import type { BatchPlace } from './accounts.ts';
import type { LikelyTables } from './code-kinds.ts';
import { createFew, type Few } from './few.ts';
import { byKind, createKindCache, entriesOf } from './kind-cache.ts';
import { READ_TIMEOUT_MS } from './patience.ts';
import type { GrowingRows } from './step-rows.ts';

const CACHED = 200_000;
/** The bits of an id below the step of the first detection. */
const STEP_SHIFT = 24n;

const orNone = (address: Address | null): RawAddress | null => address && rawAddress(address);

const content = z.object({ uri: z.string().optional() });

/** A table, the columns that are read of it, and what they say. */
interface Source {
  table: TableWith<{ address: Address; id: Decimal }>;
  columns: readonly string[];
  /** Reads the columns. */
  read(rows: RowReader): object;
  /** What the rows of a step say, by the contract. */
  of(rows: GrowingRows): Iterable<readonly [Address, object]>;
  /** What a row says. */
  say(row: object): object;
}

function source<
  const C extends Columns,
  R extends RowOf<C> & { address: Address; id: Decimal },
  K extends keyof C & string,
>(table: TableOf<C, R>, columns: readonly K[], say: (row: Pick<RowOf<C>, K>) => object): Source {
  const read = partReaderOf(table.columns, columns);
  return {
    table: table as Source['table'],
    columns: columnNames(columns),
    read: (rows) => say(read(rows)),
    of: (rows) => rows.of(table).map((row) => [row.address, say(row)] as const),
    say: (row) => say(row as never),
  };
}

const SOURCES = {
  jettonWallet: source(jettonWallets, ['owner', 'jetton'], ({ owner, jetton }) => ({
    owner: rawAddress(owner),
    jetton: rawAddress(jetton),
  })),
  nftItem: source(nftItems, ['nftIndex', 'collectionAddress', 'content', 'codeHash'], (row) => ({
    index: row.nftIndex,
    collection: orNone(row.collectionAddress),
    uri: content.parse(JSON.parse(row.content)).uri ?? null,
    codeHash: hashText(row.codeHash),
  })),
  nftSale: source(nftSales, ['nftAddress', 'nftOwner', 'marketplace', 'fullPrice', 'codeHash'], (row) => ({
    nft: rawAddress(row.nftAddress),
    owner: orNone(row.nftOwner),
    marketplace: orNone(row.marketplace),
    fullPrice: row.fullPrice,
    codeHash: hashText(row.codeHash),
  })),
  nftAuction: source(nftAuctions, ['nftAddress', 'nftOwner', 'marketplace', 'lastBid', 'codeHash'], (row) => ({
    nft: rawAddress(row.nftAddress),
    owner: orNone(row.nftOwner),
    marketplace: orNone(row.marketplace),
    lastBid: row.lastBid,
    codeHash: hashText(row.codeHash),
  })),
  multisigOrder: source(multisigOrders, ['signers'], ({ signers }) => ({ signers: signers.map(rawAddress) })),
  dedustPool: source(dedustPools, ['asset0', 'asset1'], ({ asset0, asset1 }) => ({
    assets: [orNone(asset0), orNone(asset1)] as const,
  })),
  nominatorPool: source(nominatorPools, [], () => ({})),
};

type Kind = keyof typeof SOURCES | 'data';

/** As it is remembered: null for a contract that is none of the kind. */
type Said = object | null;

/** Which contracts were asked for and are not known to be known or not, by kind. */
type Missing = Map<Kind, Set<RawAddress>>;

const KINDS = Object.keys(SOURCES) as (keyof typeof SOURCES)[];
const ASKED: readonly Kind[] = [...KINDS, 'data'];

/** What a row of a table of contracts says to actions; null for a table that says nothing. */
export function saidOf({ name }: Pick<Table, 'name'>, row: object): { kind: Kind; said: object } | null {
  const kind = KINDS.find((one) => SOURCES[one].table.name === name);
  return kind === undefined ? null : { kind, said: SOURCES[kind].say(row) };
}

/** Asked for of accounts of any code. */
const LOOKED_UP: ReadonlySet<Kind> = new Set(['nftItem', 'nftAuction'] as const);

/** Of the traces that a batch may complete. */
export interface BatchContracts {
  all: ReadonlySet<RawAddress>;
  /** Tables that may have them, by their codes. */
  likely: ReadonlyMap<RawAddress, LikelyTables>;
  /** Those that items and auctions are asked for. */
  looked: ReadonlySet<RawAddress>;
}

export type KnownStore = ReturnType<typeof createKnownStore>;

interface StoreOptions {
  /** Contracts that are remembered: room for all of them is taken at once. */
  cached?: number;
  /** Whether the rows of all batches are taken here, and nobody else writes any. Default: not. */
  takesAll?: boolean;
  /** Answers for contracts of most kinds in place of the tables, for those who ask behind whole steps. */
  shown?: Pick<ContractSource, 'tokens' | 'sellers'>;
}

/** Their newest states; null for a kind that only the tables have. */
async function askShown(
  shown: Pick<ContractSource, 'tokens' | 'sellers'>,
  kind: keyof typeof SOURCES,
  some: Address[],
  signal: AbortSignal,
): Promise<readonly { address: Address }[] | null> {
  const context = { signal, timeoutMs: READ_TIMEOUT_MS };
  const none = { items: [], collections: [], masters: [], wallets: [] };
  if (kind === 'jettonWallet') return (await shown.tokens({ ...none, wallets: some }, context)).wallets;
  if (kind === 'nftItem') return (await shown.tokens({ ...none, items: some }, context)).items;
  if (kind === 'nftSale') return (await shown.sellers(some, context)).sales;
  if (kind === 'nftAuction') return (await shown.sellers(some, context)).auctions;
  return null;
}

/** A bounded memory over the tables, and what batches on their way have said. */
export function createKnownStore(
  clickhouse: ClickHouse,
  { cached = CACHED, takesAll = false, shown }: StoreOptions = {},
) {
  const cache = createKindCache<object>(ASKED, cached);
  const unwritten = byKind<Kind, { said: Said; batch: number }>(ASKED);
  const few = new Map<Kind, Few>(
    takesAll ? KINDS.map((kind) => [kind, createFew(clickhouse, SOURCES[kind].table.name, rawAddress)]) : [],
  );
  /** Data that nobody asked for yet: it goes into the tables last, so what is there may be that of steps before. */
  const unasked = new Map<RawAddress, { boc: Buffer; batch: number }>();

  function find(kind: Kind, address: RawAddress): Said | undefined {
    if (kind === 'data') readUnasked(address);
    const fresh = entriesOf(unwritten, kind).get(address);
    return fresh === undefined ? cache.get(kind, address) : fresh.said;
  }

  function readUnasked(address: RawAddress): void {
    const found = unasked.get(address);
    if (found === undefined) return;
    unasked.delete(address);
    entriesOf(unwritten, 'data').set(address, { said: CellView.parse(found.boc), batch: found.batch });
  }

  async function read(kind: keyof typeof SOURCES, some: readonly Address[], batch: BatchPlace, signal: AbortSignal) {
    const { table, columns, read: readRow, say } = SOURCES[kind];
    const newest = shown && (await askShown(shown, kind, [...some], signal));
    if (newest) {
      for (const row of newest) cache.set(kind, rawAddress(row.address), say(row));
      return;
    }
    const rewritten: Address[] = [];
    const sql = `SELECT ${['address', 'id', 'mc_seqno', ...columns].join(', ')} FROM ${table.name} WHERE address IN ${keySet(some)} ORDER BY last_transaction_lt`;
    const rows = new RowReader(
      await clickhouse.query(sql, { label: `reading ${table.name} for actions`, signal, timeoutMs: READ_TIMEOUT_MS }),
    );
    while (!rows.done) {
      const account = Buffer.from(rows.fixed(36));
      const id = BigInt(rows.u64());
      const mcSeqno = rows.u32();
      const said = readRow(rows);
      // First detected by this batch, which is repeated, or later.
      if (Number(id >> STEP_SHIFT) >= batch.firstMcSeqno) continue;
      if (mcSeqno >= batch.firstMcSeqno) rewritten.push(account);
      cache.set(kind, rawAddress(account), said);
    }
    if (rewritten.length > 0) await readBefore(kind, rewritten, batch, signal);
  }

  /** As they were before a batch that was written in part before a crash; what has no history does not change either. */
  async function readBefore(
    kind: keyof typeof SOURCES,
    some: readonly Address[],
    { firstMcSeqno }: BatchPlace,
    signal: AbortSignal,
  ): Promise<void> {
    const { table, columns, read: readRow } = SOURCES[kind];
    const past = pastOf(table);
    if (past === null) return;
    const sql = `SELECT ${['address', ...columns].join(', ')} FROM ${past.name}
      WHERE address IN ${keySet(some)} AND mc_seqno < ${firstMcSeqno}
      ORDER BY address, ${past.lt} DESC LIMIT 1 BY address`;
    const label = `reading ${past.name} before an unfinished batch`;
    const rows = new RowReader(await clickhouse.query(sql, { label, signal, timeoutMs: READ_TIMEOUT_MS }));
    while (!rows.done) cache.set(kind, rawAddress(rows.fixed(36)), readRow(rows));
  }

  async function readData(some: readonly Address[], signal: AbortSignal): Promise<void> {
    const sql = `SELECT account, boc FROM account_data WHERE account IN ${keySet(some)} ORDER BY lt`;
    const rows = new RowReader(
      await clickhouse.query(sql, { label: 'reading data for actions', signal, timeoutMs: READ_TIMEOUT_MS }),
    );
    while (!rows.done) cache.set('data', rawAddress(rows.fixed(36)), CellView.parse(Buffer.from(rows.bytes())));
  }

  async function load(kind: Kind, wanted: Iterable<RawAddress>, batch: BatchPlace, signal: AbortSignal): Promise<void> {
    const missing = [...wanted].filter((address) => find(kind, address) === undefined);
    const asked = missing.filter((address) => few.get(kind)?.may(address) ?? true);
    for (const lot of lotsOf(asked, KEYS_PER_QUERY)) {
      const some = lot.flatMap((address) => parseAddress(address) ?? []);
      await (kind === 'data' ? readData(some, signal) : read(kind, some, batch, signal));
    }
    // Behind the reading: of what could not be read nothing is known.
    for (const address of missing) if (cache.get(kind, address) === undefined) cache.set(kind, address, null);
  }

  return {
    /**
     * Brings what is known of contracts into memory: of each where its code says that it may be, of those that are looked
     * at also in the tables that are asked for any such. In others a contract is looked up when it is asked for.
     */
    async begin({ all, likely, looked }: BatchContracts, batch: BatchPlace, signal: AbortSignal): Promise<void> {
      const wanted = (kind: keyof typeof SOURCES) => {
        const { table } = SOURCES[kind];
        const some = [...all].filter((account) => likely.get(account)?.has(table) ?? true);
        return LOOKED_UP.has(kind) ? new Set([...some, ...looked]) : some;
      };
      await Promise.all([...few.values()].map((one) => one.load(signal)));
      await Promise.all(KINDS.map((kind) => load(kind, wanted(kind), batch, signal)));
    },
    /** The contracts that a step shows for the first time as what they are, though it did not make them. */
    learned(rows: GrowingRows): Address[] {
      const found = new Map<string, Address>();
      for (const kind of KINDS) {
        for (const row of rows.of(SOURCES[kind].table)) {
          if (Number(BigInt(row.id) >> STEP_SHIFT) === rows.mcSeqno) found.set(hashKey(row.address), row.address);
        }
      }
      const changed = new Set(rows.of(accountTable).map(({ account }) => hashKey(account)));
      for (const { account } of rows.of(accountData)) {
        if (!changed.has(hashKey(account))) found.set(hashKey(account), account);
      }
      if (found.size === 0) return [];
      const met = new Set<string>();
      for (const { account, transaction } of rows.of(transactions)) {
        const key = hashKey(account);
        if (!met.has(key) && transaction.origStatus !== 'active') found.delete(key);
        met.add(key);
      }
      return [...found.values()].sort(Buffer.compare);
    },
    async loadMissing(missing: Missing, batch: BatchPlace, signal: AbortSignal): Promise<void> {
      await Promise.all([...missing].map(([kind, accounts]) => load(kind, accounts, batch, signal)));
    },
    /** What a step says of contracts counts from here on. */
    take(rows: GrowingRows, batch: number): void {
      for (const kind of KINDS) {
        for (const [address, said] of SOURCES[kind].of(rows)) {
          const key = rawAddress(address);
          few.get(kind)?.add(key);
          entriesOf(unwritten, kind).set(key, { said, batch });
        }
      }
      const asked = entriesOf(unwritten, 'data');
      for (const { account, boc } of rows.of(accountData)) {
        const address = rawAddress(account);
        // Few are ever asked for: only of those it is opened.
        if (asked.has(address) || cache.get('data', address) !== undefined)
          asked.set(address, { said: CellView.parse(boc), batch });
        else unasked.set(address, { boc, batch });
      }
    },
    /** Answers from memory, and notes what it cannot answer, and which contracts are none of what was asked for. */
    known(): { contracts: KnownContracts; missing: Missing; unknown: Set<RawAddress> } {
      const missing: Missing = new Map();
      const unknown = new Set<RawAddress>();
      const ask = <V>(kind: Kind, address: RawAddress): V | undefined => {
        const said = find(kind, address);
        if (said === undefined) missing.set(kind, (missing.get(kind) ?? new Set()).add(address));
        if (said === null) unknown.add(address);
        return (said ?? undefined) as V | undefined;
      };
      const contracts: KnownContracts = {
        jettonWallet: (address) => ask('jettonWallet', address),
        nftItem: (address) => ask('nftItem', address),
        nftSale: (address) => ask('nftSale', address),
        nftAuction: (address) => ask('nftAuction', address),
        multisigOrder: (address) => ask('multisigOrder', address),
        dedustPool: (address) => ask('dedustPool', address),
        isNominatorPool: (address) => ask('nominatorPool', address) !== undefined,
        data: (address) => ask('data', address),
      };
      return { contracts, missing, unknown };
    },
    written(batch: number): void {
      for (const [address, { batch: of }] of unasked) if (of <= batch) unasked.delete(address);
      for (const [kind, entries] of unwritten) {
        for (const [address, { said, batch: of }] of entries) {
          if (of > batch) continue;
          cache.set(kind, address, said);
          entries.delete(address);
        }
      }
    },
  };
}
