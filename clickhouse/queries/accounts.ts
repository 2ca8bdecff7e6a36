import { LRUCache } from 'lru-cache';
import { compareDecimal } from '../../src/chain/decimal.ts';
import type { Address, Hash } from '../../src/chain/model.ts';
import type { AccountRecord, BalanceRecord, BookRecord, Page, QueryContext } from '../../src/chain/records.ts';
import type { RowReader } from '../rowbinary.ts';
import { decodeState } from '../states.ts';
import { addresses, hashes } from './keys.ts';
import { collect, type NewestReading, type Reading } from './reading.ts';

const NO_HASH = Buffer.alloc(32);
/** Codes and accounts the API remembers. */
const CACHED_CODES = 20_000;
const CACHED_ACCOUNTS = 200_000;
/** A step count above which a cache is emptied rather than brought up to date. */
const CATCH_UP_STEPS = 1_000;

interface StoredState {
  account: Address;
  lt: string;
  mcSeqno: number;
  hash: Hash;
  lastTransactionHash: Hash;
  state: Buffer;
}

export type AccountQueries = ReturnType<typeof accountQueries>;

export function accountQueries(reading: NewestReading) {
  const methods = new LRUCache<string, number[]>({ max: CACHED_CODES });
  const sharedHash = createSharedHashes();

  /** Get-method ids of codes; a code that was never seen is missing. */
  async function methodsOf(codeHashes: Hash[], context: QueryContext): Promise<void> {
    const missing = distinct(codeHashes).filter((hash) => !methods.has(key(hash)));
    if (missing.length === 0) return;
    const sql = `SELECT code_hash, methods FROM codes WHERE code_hash IN ${hashes(missing)} LIMIT 1 BY code_hash`;
    const rows = await reading.rows(sql, 'methods of codes', context);
    while (!rows.done) methods.set(key(rows.fixed(32)), readNumbers(rows));
  }

  /** Newest states. The table holds one version: a row of a step that is being written is waited for. */
  async function newestStates(accounts: Address[], codeHashes: Hash[], context: QueryContext): Promise<StoredState[]> {
    const code = codeHashes.length === 0 ? '' : ` AND code_hash IN ${hashes(codeHashes)}`;
    const written = waitingFor(reading, context);
    for (;;) {
      const sql = `SELECT account, lt, mc_seqno, hash, last_transaction_hash, state FROM accounts WHERE account IN ${addresses(accounts)}${code}`;
      const newest = new Map<string, StoredState>();
      for (const row of collect(await reading.rows(sql, 'account states', context), readState)) {
        const other = newest.get(key(row.account));
        if (!other || compareDecimal(other.lt, row.lt) < 0) newest.set(key(row.account), row);
      }
      const states = [...newest.values()];
      const ahead = Math.max(0, ...states.map((row) => row.mcSeqno));
      if (ahead <= reading.head.inTables) return states;
      await written(ahead);
    }
  }

  /** Code hashes of accounts as the tables know them, whatever the head is; accounts never seen with a code are missing. */
  async function accountCodes(accounts: readonly Address[], context: QueryContext): Promise<Map<string, Hash>> {
    const found = new Map<string, Hash>();
    if (accounts.length === 0) return found;
    const sql = `SELECT account, code_hash FROM account_codes WHERE account IN ${addresses(accounts)} ORDER BY account, lt DESC LIMIT 1 BY account`;
    const rows = await reading.rows(sql, 'codes of accounts', context);
    while (!rows.done) {
      const account = key(rows.fixed(36));
      const code = rows.fixed(32);
      if (!code.equals(NO_HASH)) found.set(account, sharedHash(code));
    }
    return found;
  }

  async function bocs(accounts: Address[], codeHashes: Hash[], context: QueryContext) {
    const [data, code] = await Promise.all([
      accounts.length === 0
        ? null
        : reading.rows(
            `SELECT account, data_hash, boc FROM account_data WHERE account IN ${addresses(accounts)} ORDER BY account, lt DESC LIMIT 1 BY account`,
            'account data',
            context,
          ),
      codeHashes.length === 0
        ? null
        : reading.rows(
            `SELECT code_hash, boc FROM codes WHERE code_hash IN ${hashes(distinct(codeHashes))} LIMIT 1 BY code_hash`,
            'codes',
            context,
          ),
    ]);
    const dataOf = new Map<string, { hash: Hash; boc: Buffer }>();
    while (data && !data.done) dataOf.set(key(data.fixed(36)), { hash: data.fixed(32), boc: data.bytes() });
    const codeOf = new Map<string, Buffer>();
    while (code && !code.done) codeOf.set(key(code.fixed(32)), code.bytes());
    return { dataOf, codeOf };
  }

  const { book, standing, noteCode } = createBook(reading, { methods, methodsOf, sharedHash });

  return {
    book,
    accountCodes,
    /** Newest data by account and codes by hash, with keys as latin1 text. */
    cells: bocs,
    /** Get-method ids of these codes by their hash as latin1 text; codes never seen are missing. */
    async methodsOf(codeHashes: Hash[], context: QueryContext): Promise<Map<string, number[]>> {
      await methodsOf(codeHashes, context);
      return new Map(
        codeHashes.flatMap((hash) => (methods.has(key(hash)) ? [[key(hash), methods.get(key(hash))!]] : [])),
      );
    },

    async accountStates(
      accounts: Address[],
      codeHashes: Hash[],
      includeBoc: boolean,
      context: QueryContext,
    ): Promise<AccountRecord[]> {
      const wanted = distinct(accounts);
      if (wanted.length === 0) return [];
      const stood = standing();
      const states = await newestStates(wanted, codeHashes, context);
      const known = states.map((row) => ({ row, state: decodeState(row.state) }));
      for (const { row, state } of known) noteCode(row.account, state.codeHash, stood);
      const codes = known.flatMap(({ state }) => (state.codeHash ? [state.codeHash] : []));
      const [cells] = await Promise.all([
        includeBoc && states.length > 0
          ? bocs(
              states.map(({ account }) => account),
              codes,
              context,
            )
          : null,
        methodsOf(codes, context),
      ]);
      const position = new Map(wanted.map((account, i) => [key(account), i]));
      known.sort((a, b) => position.get(key(a.row.account))! - position.get(key(b.row.account))!);
      return known.map(({ row, state }) => {
        const data = cells?.dataOf.get(key(row.account));
        return {
          ...state,
          account: row.account,
          hash: row.hash,
          lastTransactionHash: row.lastTransactionHash,
          lastTransactionLt: row.lt,
          codeBoc: (state.codeHash && cells?.codeOf.get(key(state.codeHash))) ?? null,
          dataBoc: data && state.dataHash?.equals(data.hash) ? data.boc : null,
          methods: (state.codeHash && methods.get(key(state.codeHash))) ?? null,
        };
      });
    },

    /**
     * From the signed table in balance order (clickhouse.md 5.4): rows beyond the page are read so that what was
     * withdrawn can be taken out, more of them when that was not enough.
     */
    async topBalances(page: Page, context: QueryContext): Promise<BalanceRecord[]> {
      const needed = page.offset + page.limit;
      const written = waitingFor(reading, context);
      for (let read = Math.ceil(needed * 1.3) + 200; ; read *= 2) {
        const sql = `SELECT balance, account, toInt64(sum(sign)), max(mc_seqno), sum(count) FROM (
            SELECT balance, account, sign, mc_seqno, 1 AS count FROM balances ORDER BY balance DESC, account LIMIT ${read})
          GROUP BY balance, account ORDER BY balance DESC, account`;
        const rows = await reading.rows(sql, 'top balances', context);
        const { found, total, ahead } = readBalances(rows);
        if (ahead > reading.head.inTables) {
          await written(ahead);
          read /= 2;
          continue;
        }
        const complete = total < read;
        // The last account may be cut between its rows.
        const sure = complete ? found : found.slice(0, -1);
        const positive = sure.filter(({ sign }) => sign > 0);
        if (complete || positive.length >= needed) {
          return positive.slice(page.offset, needed).map(({ account, balance }) => ({ account, balance }));
        }
      }
    },
  };
}

/** Waits for steps that are being written: for one or several in all as long as a query of the request may take. */
function waitingFor({ head }: NewestReading, { timeoutMs, signal }: QueryContext): (seqno: number) => Promise<void> {
  const giveUpAt = performance.now() + timeoutMs;
  return (seqno) => head.reach(seqno, Math.max(0, giveUpAt - performance.now()), signal);
}

interface Codes {
  methods: LRUCache<string, number[]>;
  methodsOf: (codeHashes: Hash[], context: QueryContext) => Promise<void>;
  sharedHash: (hash: Hash) => Hash;
}

/** Code hashes of accounts, for the address book: a cache that follows the steps. */
function createBook(reading: Reading, { methods, methodsOf, sharedHash }: Codes) {
  const codes = new LRUCache<string, Hash>({ max: CACHED_ACCOUNTS });
  let current = 0;
  let catchingUp: Promise<void> = Promise.resolve();

  /** Brings the cache from the head it stands at to the newest. */
  function catchUp(context: QueryContext): Promise<void> {
    catchingUp = catchingUp
      .catch(() => undefined)
      .then(async () => {
        const to = reading.head.seqno;
        if (to === current) return;
        if (codes.size > 0 && to - current <= CATCH_UP_STEPS) await applyChanges(current, to, context);
        else codes.clear();
        current = to;
      });
    return catchingUp;
  }

  async function applyChanges(from: number, to: number, context: QueryContext): Promise<void> {
    const sql = `SELECT account, code_hash FROM account_codes_by_step WHERE mc_seqno > ${from} AND mc_seqno <= ${to} ORDER BY mc_seqno, account, lt`;
    const rows = await reading.rows(sql, 'changed codes', context);
    while (!rows.done) {
      const account = key(rows.fixed(36));
      const code = rows.fixed(32);
      if (codes.has(account)) codes.set(account, sharedHash(code));
    }
  }

  /**
   * Takes over what another query has read, unless the cache has moved on from where it stood before that query:
   * then a newer code may be there already.
   */
  function noteCode(account: Address, codeHash: Hash | null, stood: number): void {
    if (stood === current) codes.set(key(account), sharedHash(codeHash ?? NO_HASH));
  }

  async function book(accounts: Address[], context: QueryContext): Promise<BookRecord[]> {
    await catchUp(context);
    const missing = distinct(accounts).filter((account) => !codes.has(key(account)));
    const found = new Map<string, Hash>();
    if (missing.length > 0) {
      const at = current;
      const sql = `SELECT account, code_hash FROM account_codes WHERE account IN ${addresses(missing)} AND mc_seqno <= ${at} ORDER BY account, lt DESC LIMIT 1 BY account`;
      const rows = await reading.rows(sql, 'codes of accounts', context);
      while (!rows.done) found.set(key(rows.fixed(36)), sharedHash(rows.fixed(32)));
      for (const account of missing) {
        const code = found.get(key(account)) ?? NO_HASH;
        found.set(key(account), code);
        if (at === current) codes.set(key(account), code);
      }
    }
    const codeOf = (account: Address): Hash | null => {
      const code = codes.get(key(account)) ?? found.get(key(account)) ?? NO_HASH;
      return code.equals(NO_HASH) ? null : code;
    };
    const records = accounts.map((account) => ({ account, codeHash: codeOf(account) }));
    await methodsOf(
      records.flatMap(({ codeHash }) => (codeHash ? [codeHash] : [])),
      context,
    );
    return records.map((record) => ({
      ...record,
      methods: (record.codeHash && methods.get(key(record.codeHash))) ?? null,
    }));
  }

  return { book, standing: () => current, noteCode };
}

/**
 * One copy of each code hash for all accounts that have it, in memory of its own: a small buffer out of Node's pool
 * would keep all 8 KB it was cut from for as long as the account is remembered.
 */
function createSharedHashes(): (hash: Hash) => Hash {
  const known = new LRUCache<string, Hash>({ max: CACHED_CODES });
  return (hash) => {
    const text = key(hash);
    let shared = known.get(text);
    if (shared === undefined) {
      shared = Buffer.allocUnsafeSlow(hash.length);
      shared.set(hash);
      known.set(text, shared);
    }
    return shared;
  };
}

const key = (value: Buffer): string => value.toString('latin1');

function distinct(values: readonly Buffer[]): Buffer[] {
  return [...new Map(values.map((value) => [key(value), value])).values()];
}

function readState(rows: RowReader): StoredState {
  return {
    account: rows.fixed(36),
    lt: rows.u64(),
    mcSeqno: rows.u32(),
    hash: rows.fixed(32),
    lastTransactionHash: rows.fixed(32),
    state: rows.bytes(),
  };
}

function readNumbers(rows: RowReader): number[] {
  return Array.from({ length: rows.arrayLength() }, () => rows.u32());
}

function readBalances(rows: RowReader) {
  const found: (BalanceRecord & { sign: number })[] = [];
  let total = 0;
  let ahead = 0;
  while (!rows.done) {
    const balance = rows.u128();
    const account = rows.fixed(36);
    const sign = Number(rows.i64());
    ahead = Math.max(ahead, rows.u32());
    total += Number(rows.u64());
    found.push({ account, balance, sign });
  }
  return { found, total, ahead };
}
