/** Which tables of contracts may have a row of an account, told by the codes that a batch shows it with. */
import { LRUCache } from 'lru-cache';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { bytes, list } from '../../clickhouse/literal.ts';
import { LARGE_KEYS_PER_QUERY, lotsOf } from '../../clickhouse/lots.ts';
import { RowReader } from '../../clickhouse/rowbinary.ts';
import { accounts as accountTable, codes as codeTable } from '../../clickhouse/tables/accounts.ts';
import { arrayOf, u32 } from '../../clickhouse/tables/columns.ts';
import type { Table } from '../../clickhouse/tables/table.ts';
import { atMost } from '../../src/at-most.ts';
import type { RawAddress } from '../../src/chain/actions/trace.ts';
import { rawAddress } from '../../src/chain/address.ts';
import { hashKey } from '../../src/chain/hash.ts';
import type { Hash } from '../../src/chain/model.ts';
import { KINDS } from './contracts/detection.ts';
import { READ_TIMEOUT_MS } from './patience.ts';
import type { GrowingRows } from './step-rows.ts';

const CACHED_CODES = 50_000;
const methodIds = arrayOf(u32);

/** Null: any. */
export type LikelyTables = ReadonlySet<Pick<Table, 'name'>> | null;

export type CodeKinds = ReturnType<typeof createCodeKinds>;

/**
 * A hint: a contract may have had another code before, and rows stay. It spares looking up most accounts, which are
 * wallets of people, in the table of every kind.
 */
export function createCodeKinds(clickhouse: Pick<ClickHouse, 'query'>) {
  const cache = new LRUCache<string, { tables: LikelyTables }>(atMost(CACHED_CODES));

  function note(codeHash: Hash, methods: readonly number[]): void {
    const hash = codeHash.toString('hex');
    const may = KINDS.filter((kind) => kind.codes.has(hash) || methods.some((id) => kind.methods.has(id)));
    // Of library cells, and of code that does not begin as compilers make it begin, no methods are known.
    const tables = methods.length === 0 ? null : new Set(may.map(({ table }) => table));
    cache.set(hashKey(codeHash), { tables });
  }

  async function read(hashes: readonly Hash[], signal: AbortSignal): Promise<void> {
    for (const hash of hashes) cache.set(hashKey(hash), { tables: null });
    for (const some of lotsOf(hashes, LARGE_KEYS_PER_QUERY)) {
      const keys = list(some.map(bytes));
      const result = await clickhouse.query(`SELECT code_hash, methods FROM codes WHERE code_hash IN ${keys}`, {
        label: 'reading the methods of codes',
        signal,
        timeoutMs: READ_TIMEOUT_MS,
      });
      for (const rows = new RowReader(result); !rows.done; ) note(Buffer.from(rows.fixed(32)), methodIds.read(rows));
    }
  }

  return {
    /** For the accounts whose state changes in these steps. Those without code may be of no kind. */
    async of(steps: readonly GrowingRows[], signal: AbortSignal): Promise<Map<RawAddress, LikelyTables>> {
      const asked = new Map<string, Hash>();
      for (const rows of steps) {
        for (const { codeHash, methods } of rows.of(codeTable)) note(codeHash, methods);
        for (const { codeHash } of rows.of(accountTable)) if (codeHash) asked.set(hashKey(codeHash), codeHash);
      }
      await read(
        [...asked].flatMap(([key, hash]) => (cache.has(key) ? [] : [hash])),
        signal,
      );
      const found = new Map<RawAddress, LikelyTables>();
      for (const rows of steps) {
        for (const { account, codeHash } of rows.of(accountTable)) {
          const tables: LikelyTables = codeHash ? (cache.get(hashKey(codeHash))?.tables ?? null) : new Set();
          const address = rawAddress(account);
          const before = found.get(address);
          const either = before && tables ? new Set([...before, ...tables]) : null;
          found.set(address, before === undefined ? tables : either);
        }
      }
      return found;
    },
  };
}
