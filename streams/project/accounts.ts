import { LRUCache } from 'lru-cache';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { bytes, keySet } from '../../clickhouse/literal.ts';
import { KEYS_PER_QUERY, lotsOf } from '../../clickhouse/lots.ts';
import { RowReader } from '../../clickhouse/rowbinary.ts';
import { decodeStates, encodeState } from '../../clickhouse/states.ts';
import { atMost } from '../../src/at-most.ts';
import { compareDecimal } from '../../src/chain/decimal.ts';
import { hashKey } from '../../src/chain/hash.ts';
import type { Address, Decimal, Hash } from '../../src/chain/model.ts';
import { createUnwritten } from './held.ts';
import type { StoredAccount } from './packed.ts';
import { type PackedAccount, packAccount, packBytes, unpackAccount, unpackBytes } from './packed.ts';

export interface AccountStoreOptions {
  clickhouse: ClickHouse;
  cachedAccounts: number;
  cachedDataBytes: number;
}

/** The accounts of one batch, all in memory from its begin to its end, whatever the cache drops meanwhile. */
export interface BatchAccounts {
  get(account: Address): StoredAccount | null;
  put(account: Address, stored: StoredAccount): void;
  /** The newest data that is known in full, to fill what a block leaves out. */
  dataOf(account: Address, signal: AbortSignal): Promise<Buffer | null>;
  /** @param keep `lasting` is false for what need not be remembered once the tables have it */
  putData(account: Address, boc: Buffer, keep?: { lasting: boolean }): void;
}

/** A batch by its place in the order of batches and the first step in it. */
export interface BatchPlace {
  number: number;
  firstMcSeqno: number;
}

export type AccountStore = ReturnType<typeof createAccountStore>;

/** Key, links and headers of an entry in the cache of data. */
const ENTRY_BYTES = 256;
/** A hot account's whole history may have to be passed over after a crash. */
const HISTORY_TIMEOUT_MS = 120_000;

/**
 * The states before a batch: a bounded cache over the tables. What batches still being written changed is held apart
 * until they are done, so an eviction never leads to a read of rows that are not there yet.
 */
export function createAccountStore({ clickhouse, cachedAccounts, cachedDataBytes }: AccountStoreOptions) {
  /** Whether it has all accounts there are: the tables had none, and none was dropped since. Null before that was asked. */
  let isWhole: boolean | null = null;
  const cache = new LRUCache<string, PackedAccount | 'unknown'>({
    ...atMost(cachedAccounts),
    noDisposeOnSet: true,
    dispose: () => {
      isWhole = false;
    },
  });
  const data = new LRUCache<string, string>({
    maxSize: cachedDataBytes,
    sizeCalculation: (boc) => boc.length + ENTRY_BYTES,
  });
  const unwritten = createUnwritten<StoredAccount>();
  const unwrittenData = createUnwritten<{ boc: Buffer; lasting: boolean }>();

  async function dataOf(account: Address, signal: AbortSignal): Promise<Buffer | null> {
    const key = hashKey(account);
    const held = unwrittenData.get(key)?.boc;
    if (held) return held;
    const cached = data.get(key);
    if (cached !== undefined) return unpackBytes(cached);
    const boc = await readData(clickhouse, account, signal);
    if (boc) data.set(key, packBytes(boc));
    return boc;
  }

  return {
    /** Brings the accounts of a batch into memory. What the tables hold of this batch and later ones is looked past. */
    async begin(batch: BatchPlace, accounts: Address[], signal: AbortSignal): Promise<BatchAccounts> {
      const held = new Map<string, StoredAccount | null>();
      const missing: Address[] = [];
      for (const account of accounts) {
        const key = hashKey(account);
        const fresh = unwritten.get(key);
        const found = fresh ? undefined : cache.get(key);
        if (fresh) held.set(key, fresh);
        else if (found === undefined) missing.push(account);
        else held.set(key, found === 'unknown' ? null : unpackAccount(found));
      }
      isWhole ??= await hasNone(clickhouse, signal);
      for (const some of lotsOf(isWhole ? [] : missing, KEYS_PER_QUERY)) {
        const known = await readAccounts(clickhouse, some, batch.firstMcSeqno, signal);
        for (const account of some) {
          const key = hashKey(account);
          const stored = known.get(key) ?? null;
          held.set(key, stored);
          cache.set(key, stored ? packAccount(stored) : 'unknown');
        }
      }
      return {
        get: (account) => held.get(hashKey(account)) ?? null,
        put(account, stored) {
          const key = hashKey(account);
          held.set(key, stored);
          unwritten.put(key, stored, batch.number);
        },
        dataOf,
        putData(account, boc, { lasting } = { lasting: true }) {
          unwrittenData.put(hashKey(account), { boc, lasting }, batch.number);
        },
      };
    },
    /** Every table has the batch now, and those before it. */
    written(batch: number): void {
      unwritten.written(batch, (key, account) => cache.set(key, packAccount(account)));
      unwrittenData.written(batch, (key, { boc, lasting }) => {
        if (lasting) data.set(key, packBytes(boc));
        else data.delete(key);
      });
    },
    get size(): number {
      return cache.size;
    },
  };
}

/** The packed state of a stored account, when it is the one with this hash. */
export function stateWithHash(stored: StoredAccount | null, hash: Hash): Buffer | null {
  return stored?.hash.equals(hash) ? stored.state : null;
}

async function hasNone(clickhouse: ClickHouse, signal: AbortSignal): Promise<boolean> {
  const found = await clickhouse.query('SELECT 1 FROM accounts LIMIT 1', { label: 'asking for any account', signal });
  return found.length === 0;
}

async function readData(clickhouse: ClickHouse, account: Address, signal: AbortSignal): Promise<Buffer | null> {
  const result = await clickhouse.query(
    `SELECT boc FROM account_data WHERE account = ${bytes(account)} ORDER BY lt DESC LIMIT 1`,
    { label: 'reading account data', signal },
  );
  const rows = new RowReader(result);
  return rows.done ? null : Buffer.from(rows.bytes());
}

async function readAccounts(
  clickhouse: ClickHouse,
  accounts: Address[],
  firstMcSeqno: number,
  signal: AbortSignal,
): Promise<Map<string, StoredAccount>> {
  const keys = keySet(accounts);
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
  if (rewritten.length > 0) {
    const before = await readStatesBefore(clickhouse, rewritten, firstMcSeqno, signal);
    for (const [key, account] of before) known.set(key, account);
  }
  for (const [key, row] of readDataHashes(stored)) {
    const account = known.get(key);
    if (account) account.storedData = row;
  }
  return known;
}

/**
 * States before a batch that was written in part before a crash: table `accounts` may have the batch's own rows
 * already, the history in `transactions` still has the earlier ones, and `learned_accounts` what no transaction left or
 * shows as a whole.
 */
async function readStatesBefore(
  clickhouse: ClickHouse,
  accounts: Address[],
  firstMcSeqno: number,
  signal: AbortSignal,
): Promise<Map<string, StoredAccount>> {
  const earlier = `account IN ${keySet(accounts)} AND mc_seqno < ${firstMcSeqno}`;
  const options = { label: 'reading account states before an unfinished batch', signal, timeoutMs: HISTORY_TIMEOUT_MS };
  const known = new Map<string, StoredAccount>();
  const learned = new RowReader(
    await clickhouse.query(
      `SELECT account, lt, hash, state FROM learned_accounts WHERE ${earlier}
       ORDER BY account, lt DESC, mc_seqno DESC LIMIT 1 BY account`,
      options,
    ),
  );
  while (!learned.done) {
    const key = hashKey(learned.fixed(36));
    const lt = learned.u64();
    known.set(key, { lt, hash: Buffer.from(learned.fixed(32)), state: Buffer.from(learned.bytes()), storedData: null });
  }
  const result = await clickhouse.query(
    `SELECT account, lt, state_after, states FROM transactions
     WHERE (account, lt) IN (
       SELECT account, max(lt) FROM transactions WHERE ${earlier} AND state_after != toFixedString('', 32) GROUP BY account
     )`,
    options,
  );
  const rows = new RowReader(result);
  while (!rows.done) {
    const key = hashKey(rows.fixed(36));
    const lt = rows.u64();
    const hash = Buffer.from(rows.fixed(32));
    const { after } = decodeStates(rows.bytes());
    const other = known.get(key);
    if (after === null || (other && compareDecimal(other.lt, lt) >= 0)) continue;
    known.set(key, { lt, hash, state: encodeState(after), storedData: null });
  }
  return known;
}

function readNewest(result: Buffer, firstMcSeqno: number): { known: Map<string, StoredAccount>; rewritten: Address[] } {
  const rows = new RowReader(result);
  const known = new Map<string, StoredAccount>();
  const steps = new Map<string, number>();
  const rewritten = new Map<string, Address>();
  while (!rows.done) {
    const account = rows.fixed(36);
    const lt = rows.u64();
    const mcSeqno = rows.u32();
    const hash = Buffer.from(rows.fixed(32));
    const state = Buffer.from(rows.bytes());
    const key = hashKey(account);
    if (mcSeqno >= firstMcSeqno) {
      // A merge may have removed the row before this one and left an older one still.
      rewritten.set(key, Buffer.from(account));
      known.delete(key);
      continue;
    }
    if (rewritten.has(key)) continue;
    const other = known.get(key);
    // Of the same state more may be known since a later step.
    const isOlder = other !== undefined && (compareDecimal(lt, other.lt) || mcSeqno - (steps.get(key) ?? 0)) < 0;
    if (isOlder) continue;
    known.set(key, { lt, hash, state, storedData: null });
    steps.set(key, mcSeqno);
  }
  return { known, rewritten: [...rewritten.values()] };
}

function readDataHashes(result: Buffer): Map<string, { hash: Hash; lt: Decimal }> {
  const rows = new RowReader(result);
  const newest = new Map<string, { hash: Hash; lt: Decimal }>();
  while (!rows.done) {
    const key = hashKey(rows.fixed(36));
    const lt = rows.u64();
    const hash = Buffer.from(rows.fixed(32));
    const other = newest.get(key);
    if (!other || BigInt(other.lt) < BigInt(lt)) newest.set(key, { hash, lt });
  }
  return newest;
}
