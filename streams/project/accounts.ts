import { LRUCache } from 'lru-cache';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { bytes, list } from '../../clickhouse/literal.ts';
import { RowReader } from '../../clickhouse/rowbinary.ts';
import { decodeState, decodeStates, encodeState } from '../../clickhouse/states.ts';
import type { Address, Decimal, Hash } from '../../src/chain/model.ts';
import type { KnownState } from '../../src/chain/records.ts';
import { hashKey } from './traces.ts';

/** The newest state of an account as the projector remembers it. */
export interface StoredAccount {
  lt: Decimal;
  hash: Hash;
  /** Packed KnownState. */
  state: Buffer;
  /** Hash of the data that table `account_data` holds; null when it holds none. */
  storedDataHash: Hash | null;
}

export interface AccountStoreOptions {
  clickhouse: ClickHouse;
  cachedAccounts: number;
  cachedDataBytes: number;
}

export type AccountStore = ReturnType<typeof createAccountStore>;

/** Keys of one lookup query; more are asked in turn. */
const KEYS_PER_QUERY = 5_000;

/**
 * The states before a batch: a bounded cache over the tables. What batches still being written changed is held apart
 * until they are done, so an eviction never leads to a read of rows that are not there yet.
 */
export function createAccountStore({ clickhouse, cachedAccounts, cachedDataBytes }: AccountStoreOptions) {
  const cache = new LRUCache<string, StoredAccount | 'unknown'>({ max: cachedAccounts });
  const data = new LRUCache<string, Buffer>({ maxSize: cachedDataBytes, sizeCalculation: (boc) => boc.length + 64 });
  const unwritten = new Map<string, { account: StoredAccount; batch: number }>();
  const unwrittenData = new Map<string, { boc: Buffer; batch: number }>();

  function get(account: Address): StoredAccount | null {
    const key = hashKey(account);
    const found = unwritten.get(key)?.account ?? cache.get(key) ?? null;
    return found === 'unknown' ? null : found;
  }

  function isLoaded(account: Address): boolean {
    const key = hashKey(account);
    return unwritten.has(key) || cache.has(key);
  }

  /** Reads what the cache lacks. Rows of the batch that begins at `firstMcSeqno` and later ones are looked past. */
  async function load(accounts: Address[], firstMcSeqno: number, signal: AbortSignal): Promise<void> {
    for (let i = 0; i < accounts.length; i += KEYS_PER_QUERY) {
      await loadSome(accounts.slice(i, i + KEYS_PER_QUERY), firstMcSeqno, signal);
    }
  }

  async function loadSome(accounts: Address[], firstMcSeqno: number, signal: AbortSignal): Promise<void> {
    const keys = list(accounts.map(bytes));
    const [states, stored] = await Promise.all([
      clickhouse.query(`SELECT account, lt, mc_seqno, hash, state FROM accounts WHERE account IN ${keys}`, {
        label: 'reading account states',
        signal,
      }),
      clickhouse.query(`SELECT account, lt, data_hash FROM account_data WHERE account IN ${keys}`, {
        label: 'reading the hashes of stored account data',
        signal,
      }),
    ]);
    const { known, rewritten } = readNewest(states, firstMcSeqno);
    if (rewritten.length > 0) await loadBefore(rewritten, firstMcSeqno, known, signal);
    for (const [key, hash] of readDataHashes(stored)) {
      const account = known.get(key);
      if (account) account.storedDataHash = hash;
    }
    for (const account of accounts) {
      const key = hashKey(account);
      cache.set(key, known.get(key) ?? 'unknown');
    }
  }

  /**
   * States before a batch that was written in part before a crash: table `accounts` may have the batch's own rows
   * already, the history in `transactions` still has the earlier ones.
   */
  async function loadBefore(
    accounts: Address[],
    firstMcSeqno: number,
    known: Map<string, StoredAccount>,
    signal: AbortSignal,
  ): Promise<void> {
    const result = await clickhouse.query(
      `SELECT account, lt, state_after, states FROM transactions
       WHERE account IN ${list(accounts.map(bytes))} AND mc_seqno < ${firstMcSeqno} AND state_after != toFixedString('', 32)
       ORDER BY account, lt DESC LIMIT 1 BY account`,
      { label: 'reading account states before an unfinished batch', signal },
    );
    const rows = new RowReader(result);
    while (!rows.done) {
      const account = rows.fixed(36);
      const lt = rows.u64();
      const hash = Buffer.from(rows.fixed(32));
      const { after } = decodeStates(rows.bytes());
      if (after) known.set(hashKey(account), { lt, hash, state: encodeState(after), storedDataHash: null });
    }
  }

  return {
    get,
    isLoaded,
    load,
    /** The newest data that is known in full, to fill what a block leaves out. */
    async dataOf(account: Address, signal: AbortSignal): Promise<Buffer | null> {
      const key = hashKey(account);
      const held = unwrittenData.get(key)?.boc ?? data.get(key);
      if (held) return held;
      const result = await clickhouse.query(
        `SELECT boc FROM account_data WHERE account = ${bytes(account)} ORDER BY lt DESC LIMIT 1`,
        { label: 'reading account data', signal },
      );
      const rows = new RowReader(result);
      if (rows.done) return null;
      const boc = Buffer.from(rows.bytes());
      data.set(key, boc);
      return boc;
    },
    put(account: Address, stored: StoredAccount, batch: number): void {
      unwritten.set(hashKey(account), { account: stored, batch });
    },
    putData(account: Address, boc: Buffer, batch: number): void {
      unwrittenData.set(hashKey(account), { boc, batch });
    },
    /** Every table has the batch now. */
    written(batch: number): void {
      for (const [key, entry] of unwritten) {
        if (entry.batch > batch) continue;
        cache.set(key, entry.account);
        unwritten.delete(key);
      }
      for (const [key, entry] of unwrittenData) {
        if (entry.batch > batch) continue;
        data.set(key, entry.boc);
        unwrittenData.delete(key);
      }
    },
    get size(): number {
      return cache.size;
    },
  };
}

/** The known state of a stored account, when it is the one with this hash. */
export function stateWithHash(stored: StoredAccount | null, hash: Hash): KnownState | null {
  return stored?.hash.equals(hash) ? decodeState(stored.state) : null;
}

function readNewest(result: Buffer, firstMcSeqno: number): { known: Map<string, StoredAccount>; rewritten: Address[] } {
  const rows = new RowReader(result);
  const known = new Map<string, StoredAccount>();
  const rewritten = new Map<string, Address>();
  while (!rows.done) {
    const account = rows.fixed(36);
    const lt = rows.u64();
    const mcSeqno = rows.u32();
    const hash = Buffer.from(rows.fixed(32));
    const state = Buffer.from(rows.bytes());
    const key = hashKey(account);
    if (mcSeqno >= firstMcSeqno) {
      rewritten.set(key, Buffer.from(account));
      continue;
    }
    const other = known.get(key);
    if (!other || BigInt(other.lt) < BigInt(lt)) known.set(key, { lt, hash, state, storedDataHash: null });
  }
  return { known, rewritten: [...rewritten.values()] };
}

function readDataHashes(result: Buffer): Map<string, Hash> {
  const rows = new RowReader(result);
  const newest = new Map<string, { lt: bigint; hash: Hash }>();
  while (!rows.done) {
    const key = hashKey(rows.fixed(36));
    const lt = BigInt(rows.u64());
    const hash = Buffer.from(rows.fixed(32));
    const other = newest.get(key);
    if (!other || other.lt < lt) newest.set(key, { lt, hash });
  }
  return new Map([...newest].map(([key, row]) => [key, row.hash]));
}
