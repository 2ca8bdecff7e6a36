import type { ClickHouse } from '../../../clickhouse/client.ts';
import { keySet } from '../../../clickhouse/literal.ts';
import { KEYS_PER_QUERY, lotsOf } from '../../../clickhouse/lots.ts';
import { RowReader } from '../../../clickhouse/rowbinary.ts';
import { address, i256 } from '../../../clickhouse/tables/columns.ts';
import { ID_STEP_BITS } from '../../../clickhouse/tables/detected.ts';
import { pastOf } from '../../../clickhouse/tables/past.ts';
import { hashKey } from '../../../src/chain/hash.ts';
import type { Address, Decimal } from '../../../src/chain/model.ts';
import type { BatchPlace } from '../accounts.ts';
import { createFew, type Few } from '../few.ts';
import { byKind, createKindCache, entriesOf } from '../kind-cache.ts';
import type { Kind, KnownRow, Tie } from './kinds.ts';

const CACHED_CONTRACTS = 300_000;
const NO_ADDRESS = Buffer.alloc(36);
/** Ids grow by step, then account: `place` among the first detections of the kind in the step. */
export function idOf(mcSeqno: number, place: number): Decimal {
  return ((BigInt(mcSeqno) << ID_STEP_BITS) + BigInt(place)).toString();
}

const stepOf = (id: Decimal): number => Number(BigInt(id) >> ID_STEP_BITS);

export type KnownRows = ReturnType<typeof createKnownRows>;

/** Which contracts have rows of which kind: a bounded cache over the tables, and what batches on their way wrote. */
export function createKnownRows(
  clickhouse: ClickHouse,
  kinds: readonly (Pick<Kind, 'name'> & { table: { name: string } })[],
) {
  const names = kinds.map(({ name }) => name);
  const cache = createKindCache<KnownRow>(names, CACHED_CONTRACTS);
  const unwritten = byKind<string, { row: KnownRow; batch: number }>(names);
  const few = new Map<string, Few>(kinds.map(({ name, table }) => [name, createFew(clickhouse, table.name, hashKey)]));
  /** Of the batch at work: everything that it asks about and that is of the kind. */
  let held = byKind<string, KnownRow>(names);

  async function read(kind: Kind, accounts: readonly Address[], batch: BatchPlace, signal: AbortSignal): Promise<void> {
    const { tie } = kind;
    const found = new Map<string, KnownRow>();
    const rewritten: Address[] = [];
    const rows = new RowReader(
      await clickhouse.query(
        `SELECT address, id, mc_seqno, last_transaction_lt${tie ? `, ${tie.columns}` : ''} FROM ${kind.table.name}
         WHERE address IN ${keySet(accounts)} ORDER BY last_transaction_lt`,
        { label: `reading ${kind.table.name}`, signal },
      ),
    );
    while (!rows.done) {
      const account = Buffer.from(rows.fixed(36));
      const id = rows.u64();
      const mcSeqno = rows.u32();
      const row: KnownRow = { id, lt: rows.u64(), tie: tie ? readTie(rows) : null };
      // A batch that is repeated: its own rows are looked past, but for what they tell of before it.
      if (stepOf(id) >= batch.firstMcSeqno) continue;
      if (mcSeqno >= batch.firstMcSeqno) {
        rewritten.push(account);
        row.lt = '0';
      }
      found.set(hashKey(account), row);
    }
    if (rewritten.length > 0) await restore(kind, found, rewritten, batch, signal);
    for (const account of accounts) {
      const key = hashKey(account);
      const row = found.get(key) ?? null;
      if (row !== null) entriesOf(held, kind.name).set(key, row);
      cache.set(kind.name, key, row);
    }
  }

  /** Rows as they were before a batch that was written in part before a crash, of kinds that have a history. */
  async function restore(
    kind: Kind,
    found: Map<string, KnownRow>,
    accounts: readonly Address[],
    { firstMcSeqno }: BatchPlace,
    signal: AbortSignal,
  ): Promise<void> {
    const past = pastOf(kind.table);
    if (past === null) return;
    const { tie } = kind;
    const rows = new RowReader(
      await clickhouse.query(
        `SELECT address, ${past.lt}${tie ? `, ${tie.columns}` : ''} FROM ${past.name}
         WHERE address IN ${keySet(accounts)} AND mc_seqno < ${firstMcSeqno}
         ORDER BY address, ${past.lt} DESC LIMIT 1 BY address`,
        { label: `reading ${past.name} before an unfinished batch`, signal },
      ),
    );
    while (!rows.done) {
      const row = found.get(hashKey(rows.fixed(36)));
      const lt = rows.u64();
      const before = tie ? readTie(rows) : null;
      if (row) Object.assign(row, { lt, tie: before });
    }
  }

  return {
    /** Brings the rows of some contracts into memory. */
    async begin(asked: ReadonlyMap<Kind, Iterable<Address>>, batch: BatchPlace, signal: AbortSignal): Promise<void> {
      held = byKind(names);
      await Promise.all([...few.values()].map((one) => one.load(signal)));
      const reads: Promise<void>[] = [];
      for (const [kind, accounts] of asked) {
        const missing = new Map<string, Address>();
        const [fresh, kept] = [entriesOf(unwritten, kind.name), entriesOf(held, kind.name)];
        for (const account of accounts) {
          const key = hashKey(account);
          const known = fresh.get(key)?.row ?? cache.get(kind.name, key);
          if (known) kept.set(key, known);
          else if (known === undefined && few.get(kind.name)?.may(key) !== false) missing.set(key, account);
        }
        for (const some of lotsOf([...missing.values()], KEYS_PER_QUERY)) reads.push(read(kind, some, batch, signal));
      }
      await Promise.all(reads);
    },
    get: (kind: string, account: Address): KnownRow | null => entriesOf(held, kind).get(hashKey(account)) ?? null,
    put(kind: string, account: Address, row: KnownRow, batch: number): void {
      const key = hashKey(account);
      few.get(kind)?.add(key);
      entriesOf(held, kind).set(key, row);
      entriesOf(unwritten, kind).set(key, { row, batch });
    },
    written(batch: number): void {
      for (const [kind, entries] of unwritten) {
        for (const [key, entry] of entries) {
          if (entry.batch > batch) continue;
          cache.set(kind, key, entry.row);
          entries.delete(key);
        }
      }
    },
  };
}

function readTie(rows: RowReader): Tie {
  const owner = orNull(address.read(rows));
  return { owner, of: orNull(address.read(rows)), balance: i256.read(rows) };
}

const orNull = (bytes: Address): Address | null => (bytes.equals(NO_ADDRESS) ? null : Buffer.from(bytes));
