import { rawAddress } from '../../src/chain/address.ts';
import { isWalletCode } from '../../src/chain/contracts/wallets.ts';
import { compareDecimal } from '../../src/chain/decimal.ts';
import { distinct, hashKey } from '../../src/chain/hash.ts';
import type { Address, Hash } from '../../src/chain/model.ts';
import type {
  AccountCells,
  AccountRecord,
  BalanceRecord,
  KnownState,
  Page,
  QueryContext,
} from '../../src/chain/records.ts';
import { bytes, u32 } from '../literal.ts';
import type { RowReader } from '../rowbinary.ts';
import { AFTER_ALONE, decodeState, decodeStates } from '../states.ts';
import { balances } from '../tables/accounts.ts';
import { perTables } from '../tables-id.ts';
import { createAddressBook } from './address-book.ts';
import { reached } from './at-step.ts';
import { HeadBehind } from './head.ts';
import { addresses, hashes } from './keys.ts';
import type { NewestReading } from './reading.ts';
import { createStandingRows } from './signed-order.ts';

interface Stored<S> {
  account: Address;
  lt: string;
  mcSeqno: number;
  hash: Hash;
  lastTransactionHash: Hash;
  state: S;
}

type Known = Stored<KnownState>;

/** The newest data of an account, and what transaction left it. */
export interface DataCell {
  lt: string;
  hash: Hash;
  boc: Buffer;
}

/** Whether data read after a state belongs to a later one: the account has changed in between. */
export function isOfLaterState(data: DataCell | undefined, { lt, dataHash }: { lt: string; dataHash: Hash | null }) {
  return data !== undefined && dataHash !== null && !data.hash.equals(dataHash) && compareDecimal(data.lt, lt) > 0;
}

/**
 * Whether a state has one of these codes; any has where none is named. Of the newest states alone: the tables may still
 * have the one before beside it.
 */
export function hasCodeAmong(codeHashes: readonly Hash[]): (state: Pick<KnownState, 'codeHash'>) => boolean {
  const codes = new Set(codeHashes.map(hashKey));
  return ({ codeHash }) => codes.size === 0 || (codeHash !== null && codes.has(hashKey(codeHash)));
}

export type AccountQueries = ReturnType<typeof accountQueries>;

export function accountQueries(reading: NewestReading) {
  const bookOf = perTables(() => createAddressBook(reading));
  const addressBook = () => bookOf(reading.head.tables);
  const standingRows = createStandingRows(reading);

  /** Newest states. The table holds one version: a row of a step that is being written is waited for. */
  async function newestStates(accounts: Address[], codeHashes: Hash[], context: QueryContext): Promise<Known[]> {
    const written = waitingFor(reading, context);
    const hasCode = hasCodeAmong(codeHashes);
    for (;;) {
      const sql = `SELECT account, lt, mc_seqno, hash, last_transaction_hash, state FROM accounts WHERE account IN ${addresses(accounts)}`;
      const newest = new Map<string, Known>();
      let ahead = 0;
      for (const rows = await reading.rows(sql, 'account states', context); !rows.done; ) {
        const row = readState(rows, decodeState);
        keepNewest(newest, row);
        ahead = Math.max(ahead, row.mcSeqno);
      }
      if (ahead <= reading.head.inTables) return [...newest.values()].filter(({ state }) => hasCode(state));
      await written(ahead);
    }
  }

  async function bocs(accounts: Address[], codeHashes: Hash[], context: QueryContext) {
    const [data, code] = await Promise.all([
      accounts.length === 0
        ? null
        : reading.rows(
            `SELECT account, lt, data_hash, boc FROM account_data WHERE account IN ${addresses(accounts)} ORDER BY account, lt DESC LIMIT 1 BY account`,
            'account data',
            context,
          ),
      codeHashes.length === 0
        ? null
        : reading.rows(
            `SELECT code_hash, boc FROM codes WHERE code_hash IN ${hashes(codeHashes)} LIMIT 1 BY code_hash`,
            'codes',
            context,
          ),
    ]);
    const dataOf = new Map<string, DataCell>();
    while (data && !data.done) {
      dataOf.set(hashKey(data.fixed(36)), { lt: data.u64(), hash: data.fixed(32), boc: data.bytes() });
    }
    const codeOf = new Map<string, Buffer>();
    while (code && !code.done) codeOf.set(hashKey(code.fixed(32)), code.bytes());
    return { dataOf, codeOf };
  }

  /** What the last transaction up to a step has left, or where there is none, what a node was asked for. */
  async function statesAt(accounts: Address[], mcSeqno: number, context: QueryContext): Promise<Known[]> {
    const some = `account IN ${addresses(accounts)} AND mc_seqno <= ${u32(mcSeqno)}`;
    const own = `SELECT account, lt, mc_seqno, state_after, hash, states FROM transactions WHERE (account, lt) IN (
        SELECT account, max(lt) FROM transactions WHERE ${some} AND state_after != toFixedString('', 32) GROUP BY account)
      UNION ALL SELECT account, lt, mc_seqno, hash, last_transaction_hash, concat(${bytes(AFTER_ALONE)}, state)
        FROM learned_accounts WHERE ${some}`;
    const found = new Map<string, Known>();
    for (const rows = await reading.rows(own, 'past account states', context); !rows.done; ) {
      const row = readState(rows, (states) => decodeStates(states).after);
      if (isKnown(row)) keepNewest(found, row);
    }
    return [...found.values()];
  }

  function cellsOf(
    known: readonly Known[],
    wanted: Exclude<AccountCells, 'none'>,
    codes: Hash[],
    context: QueryContext,
  ) {
    const isAll = wanted === 'all';
    const accounts = known.flatMap(({ account, state }) => (isAll || isWalletCode(state.codeHash) ? [account] : []));
    return bocs(accounts, isAll ? codes : [], context);
  }

  /** In the order in which they were asked for. With those whose data was read only after it had changed again. */
  async function records(
    known: Known[],
    wanted: readonly Address[],
    wantedCells: AccountCells,
    context: QueryContext,
  ): Promise<{ found: AccountRecord[]; changed: Known[] }> {
    const codes = distinct(known.flatMap(({ state }) => (state.codeHash ? [state.codeHash] : [])));
    const [cells, methods] = await Promise.all([
      wantedCells === 'none' ? null : cellsOf(known, wantedCells, codes, context),
      addressBook().methodsOf(codes, context),
    ]);
    const byAccount = new Map(known.map((one) => [hashKey(one.account), one]));
    const found: AccountRecord[] = [];
    const changed: Known[] = [];
    for (const account of wanted) {
      const key = hashKey(account);
      const one = byAccount.get(key);
      if (one === undefined) continue;
      const { lt, state } = one;
      const data = cells?.dataOf.get(key);
      if (isOfLaterState(data, { lt, dataHash: state.dataHash })) changed.push(one);
      const code = state.codeHash === null ? null : hashKey(state.codeHash);
      found.push(
        recordOf(one, {
          codeBoc: code === null ? null : (cells?.codeOf.get(code) ?? null),
          dataBoc: data && state.dataHash?.equals(data.hash) ? data.boc : null,
          methods: code === null ? null : (methods.get(code) ?? null),
        }),
      );
    }
    return { found, changed };
  }

  return {
    book: (some: Address[], context: QueryContext) => addressBook().book(some, context),
    accountCodes: (some: readonly Address[], context: QueryContext) => addressBook().accountCodes(some, context),
    methodsOf: (codes: readonly Hash[], context: QueryContext) => addressBook().methodsOf(codes, context),
    /** Newest data by account and codes by hash, with keys as latin1 text. */
    cells: bocs,

    async accountStates(
      accounts: Address[],
      codeHashes: Hash[],
      cells: AccountCells,
      context: QueryContext,
    ): Promise<AccountRecord[]> {
      const wanted = distinct(accounts);
      if (wanted.length === 0) return [];
      const giveUpAt = performance.now() + context.timeoutMs;
      for (let before: Known[] = []; ; ) {
        const { standing, noteCode } = addressBook();
        const stood = standing();
        const known = await newestStates(wanted, codeHashes, context);
        for (const { account, state } of known) noteCode(account, state.codeHash, stood);
        const { found, changed } = await records(known, wanted, cells, context);
        const isAsBefore = ({ account, lt }: Known): boolean =>
          before.some((one) => one.account.equals(account) && one.lt === lt);
        // States and data are two statements: a step may have come between them. Where the state stays, the log has shown
        // no later one that the data would be of.
        if (changed.every(isAsBefore)) return found;
        before = changed;
        if (performance.now() > giveUpAt) {
          const { account, mcSeqno } = changed[0];
          throw new HeadBehind(`account ${rawAddress(account)} changes faster than it is read, since step ${mcSeqno}`);
        }
      }
    },

    async accountStatesAt(
      accounts: Address[],
      codeHashes: Hash[],
      cells: AccountCells,
      mcSeqno: number,
      context: QueryContext,
    ): Promise<AccountRecord[]> {
      const wanted = distinct(accounts);
      if (wanted.length === 0) return [];
      await reached(reading, mcSeqno, context);
      const hasCode = hasCodeAmong(codeHashes);
      const known = (await statesAt(wanted, mcSeqno, context)).filter(({ state }) => hasCode(state));
      return (await records(known, wanted, cells, context)).found;
    },

    /**
     * From `balances`, where rows that cancel stand in the order of the balance: rows beyond the page are read so that
     * what was withdrawn can be taken out, more of them when that was not enough.
     */
    async topBalances(page: Page, context: QueryContext): Promise<BalanceRecord[]> {
      const order = {
        table: balances,
        address: 'account',
        sort: { balance: 'desc', address: 'asc' },
        where: [],
        within: [],
        label: 'top balances',
        readBalance: (row: RowReader) => row.u128(),
      } as const;
      const rows = await standingRows(order, page, context);
      return rows.map(({ balance, address }) => ({ account: address, balance }));
    },
  };
}

type OfCells = Pick<AccountRecord, 'codeBoc' | 'dataBoc' | 'methods'>;

/** Member by member: a thousand spread objects take 4 ms. */
function recordOf(
  { account, lt, hash, lastTransactionHash, state }: Known,
  { codeBoc, dataBoc, methods }: OfCells,
): AccountRecord {
  const { status, balance, extraCurrencies, learnedExtra, frozenHash, codeHash, dataHash } = state;
  const record: AccountRecord = {
    status,
    balance,
    extraCurrencies,
    frozenHash,
    codeHash,
    dataHash,
    account,
    hash,
    lastTransactionHash,
    lastTransactionLt: lt,
    codeBoc,
    dataBoc,
    methods,
  };
  if (learnedExtra) record.learnedExtra = learnedExtra;
  return record;
}

/** Waits for steps that are being written: for one or several in all as long as a query of the request may take. */
function waitingFor({ head }: NewestReading, { timeoutMs, signal }: QueryContext): (seqno: number) => Promise<void> {
  const giveUpAt = performance.now() + timeoutMs;
  return (seqno) => head.reach(seqno, Math.max(0, giveUpAt - performance.now()), signal);
}

/** Of the same state more may be known since a later step. */
function isNewer(a: Known, b: Known): boolean {
  return (compareDecimal(a.lt, b.lt) || a.mcSeqno - b.mcSeqno) > 0;
}

function keepNewest(newest: Map<string, Known>, row: Known): void {
  const key = hashKey(row.account);
  const other = newest.get(key);
  if (!other || isNewer(row, other)) newest.set(key, row);
}

const isKnown = (row: Stored<KnownState | null>): row is Known => row.state !== null;

function readState<S>(rows: RowReader, decode: (state: Buffer) => S): Stored<S> {
  return {
    account: rows.fixed(36),
    lt: rows.u64(),
    mcSeqno: rows.u32(),
    hash: rows.fixed(32),
    lastTransactionHash: rows.fixed(32),
    state: decode(rows.bytes()),
  };
}
