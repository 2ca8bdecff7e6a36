import { LRUCache } from 'lru-cache';
import { hasCodeAmong, isOfLaterState } from '../../clickhouse/queries/accounts.ts';
import type { BoundedSource } from '../../clickhouse/queries/source.ts';
import { atMost } from '../at-most.ts';
import { ownCopies, ownCopy } from '../chain/bytes.ts';
import { isWalletCode } from '../chain/contracts/wallets.ts';
import { distinct, hashKey } from '../chain/hash.ts';
import type { Address, Hash } from '../chain/model.ts';
import type { AccountCells, AccountRecord, BookRecord } from '../chain/records.ts';
import { isLasting } from '../lasting.ts';
import { createChanges } from './changes.ts';
import { createKept } from './kept.ts';
import { columnOf, layoutOf, restOf } from './kind.ts';
import { accountKind, dataKind } from './kinds.ts';
import { type StateRow, stateOf } from './rows.ts';
import type { Sides } from './sides.ts';
import type { View } from './view.ts';

/** Accounts that the window does not have, whose code the address book remembers. */
const REMEMBERED_ACCOUNTS = 200_000;
/** Records of the address book that are kept, with what is printed of them. */
const KEPT_RECORDS_BYTES = 24 * 1024 * 1024;
const RECORD_BYTES = 800;
/** Of states that are kept, with what is printed of them, for all choices of cells: some 25,000 with the cells of wallets. */
const KEPT_STATES_BYTES = 72 * 1024 * 1024;
/** Measured: 1.4 KB of a record, and its text. */
const STATE_BYTES = 1_800;
/** A cell is there as bytes and, in the text, as base64. */
const PRINTED = 3;
/** Codes of the window whose methods are remembered; the tables remember those they are asked for themselves. */
const REMEMBERED_CODES = 10_000;
/** A code never changes. */
const CODE_BYTES = 16 * 1024 * 1024;
/** Codes, and data of accounts, that the tables do not have either are not asked for again at once. */
const REMEMBERED_ABSENT = 50_000;
const ABSENT_MS = 10_000;
/** A state of which something may be learned yet is read anew after this time. */
const UNKNOWN_MS = 2_000;

const BY_ACCOUNT = layoutOf(accountKind, 'account');
const DATA_OF = layoutOf(dataKind, 'account');
const LT_BYTES = 8;

/** Hash of the account's code, null without code; undefined for an account that is not in the window. */
export function codeHashOf(view: View, account: Address): Hash | null | undefined {
  const beside = view.beside(BY_ACCOUNT, account);
  return beside === null ? undefined : accountKind.columns.codeHash.get(beside, LT_BYTES);
}

/** An account that the window has. */
interface Held {
  account: Address;
  stored: StateRow;
}

/** The same data may be of many accounts, and known of one of them only. */
const dataKey = (account: Address, hash: Hash): string => hashKey(account) + hashKey(hash);

/** Nothing of it can be learned later. */
function isWhole({ codeHash, codeBoc, dataHash, dataBoc, methods }: AccountRecord, wanted: AccountCells): boolean {
  if (codeHash !== null && methods === null) return false;
  if (wanted === 'all' && codeHash !== null && codeBoc === null) return false;
  const isDataWanted = wanted === 'all' || (wanted === 'wallets' && isWalletCode(codeHash));
  return !isDataWanted || dataHash === null || dataBoc !== null;
}

/** States and address book: from the window for the accounts it has seen, from the tables for the others. */
export function createAccounts(tables: Pick<BoundedSource, 'accountStates'>) {
  // True as long as no step since then has left the window: a change would be in the window.
  const codes = new LRUCache<string, { code: Hash | null; at: number }>(atMost(REMEMBERED_ACCOUNTS));
  const methodsByCode = new LRUCache<string, number[]>(atMost(REMEMBERED_CODES));
  const codeBocs = new LRUCache<string, Buffer>({ maxSize: CODE_BYTES, sizeCalculation: ({ length }) => length + 1 });
  const absent = new LRUCache<string, true>({ ...atMost(REMEMBERED_ABSENT), ttl: ABSENT_MS });
  const changes = createChanges(accountKind, 'account');
  const records = createKept<BookRecord>(changes, KEPT_RECORDS_BYTES, RECORD_BYTES, () => RECORD_BYTES);
  const states = createKept<AccountRecord>(
    changes,
    KEPT_STATES_BYTES,
    STATE_BYTES,
    ({ codeBoc, dataBoc }) => STATE_BYTES + PRINTED * ((codeBoc?.length ?? 0) + (dataBoc?.length ?? 0)),
  );

  /** In memory of its own. The code is one for all accounts that have it. */
  function ownState(record: AccountRecord): AccountRecord {
    const { account, hash, lastTransactionHash, frozenHash, codeHash, codeBoc, dataHash, dataBoc } = record;
    const own = ownCopies({ account, hash, lastTransactionHash, frozenHash, codeHash, dataHash, dataBoc });
    return { ...record, ...own, codeBoc: codeHash && codeBoc && ownCode(codeHash, codeBoc) };
  }

  function ownCode(hash: Hash, code: Buffer): Buffer {
    const known = codeBocs.get(hashKey(hash));
    if (known !== undefined) return known;
    const own = ownCopy(code);
    codeBocs.set(hashKey(hash), own);
    return own;
  }

  async function accountStates(
    accounts: Address[],
    codeHashes: Hash[],
    wantedCells: AccountCells,
    sides: Sides,
  ): Promise<AccountRecord[]> {
    const { view, whole, context } = sides;
    const isAllowed = hasCodeAmong(codeHashes);
    const found = new Map<string, AccountRecord | null>();
    const here: Held[] = [];
    const missing: Address[] = [];
    for (const account of accounts) {
      const key = hashKey(account);
      if (found.has(key)) continue;
      const known = states.get(view, key, wantedCells);
      found.set(key, known);
      if (known !== null) continue;
      const row = view.findByKey(accountKind, BY_ACCOUNT, account)?.row;
      if (row === undefined) missing.push(account);
      else here.push({ account, stored: stateOf(row) });
    }
    const [{ own, changed }, others] = await Promise.all([
      recordsOf(
        here.filter(({ stored }) => isAllowed(stored.state)),
        wantedCells,
        sides,
      ),
      // Nothing is below a window that begins with the chain: nobody knows more.
      missing.length === 0 || view.below === null ? [] : whole.accountStates(missing, codeHashes, wantedCells, context),
    ]);
    const newer = changed.length === 0 ? [] : await tables.accountStates(changed, codeHashes, wantedCells, context);
    // What is below stays so, too, until a step changes it.
    for (const record of [...own, ...others]) {
      const copy = (): AccountRecord => (isLasting(record) ? record : ownState(record));
      const forMs = isWhole(record, wantedCells) ? 0 : UNKNOWN_MS;
      states.offer(view, hashKey(record.account), copy, { which: wantedCells, forMs });
    }
    for (const record of [...own, ...newer, ...others]) found.set(hashKey(record.account), record);
    return [...found.values()].filter((record) => record !== null).filter(isAllowed);
  }

  /** As the view has them, and those whose data the tables know only as a step above the view has left it. */
  async function recordsOf(held: readonly Held[], wanted: AccountCells, sides: Sides) {
    const cells = wanted === 'none' ? null : await cellsOf(held, wanted, sides);
    const changed = cells?.changed ?? [];
    const found = changed.length === 0 ? held : held.filter(({ account }) => !changed.includes(account));
    const methods = await methodsOf(
      found.map(({ stored }) => stored.state.codeHash),
      sides,
    );
    // Named one by one: a spread of the state takes as long as reading it.
    const own: AccountRecord[] = found.map(({ account, stored: { state, hash, lastTransactionHash, lt } }) => ({
      account,
      status: state.status,
      balance: state.balance,
      extraCurrencies: state.extraCurrencies,
      frozenHash: state.frozenHash,
      codeHash: state.codeHash,
      dataHash: state.dataHash,
      hash,
      lastTransactionHash,
      lastTransactionLt: lt,
      codeBoc: cells?.codeOf(state.codeHash) ?? null,
      dataBoc: cells?.dataOf(account, state.dataHash) ?? null,
      methods: methods(state.codeHash),
    }));
    return { own, changed };
  }

  /** Code and data: from the window, in one question to the tables for what it does not have. */
  async function cellsOf(found: readonly Held[], wanted: Exclude<AccountCells, 'none'>, sides: Sides) {
    const { view, below, context } = sides;
    const codeOf = new Map<string, Buffer>();
    const dataOf = new Map<string, Buffer>();
    const askedCodes = new Map<string, Hash>();
    const askedData: { account: Address; lt: string; dataHash: Hash }[] = [];
    const changed: Address[] = [];
    for (const { account, stored } of found) {
      const { codeHash, dataHash } = stored.state;
      if (wanted === 'wallets' && !isWalletCode(codeHash)) continue;
      if (wanted === 'all' && codeHash && !codeOf.has(hashKey(codeHash)) && !askedCodes.has(hashKey(codeHash))) {
        const code = codeBocs.get(hashKey(codeHash)) ?? heldCode(view, codeHash);
        if (code) codeOf.set(hashKey(codeHash), code);
        else if (!absent.has(hashKey(codeHash))) askedCodes.set(hashKey(codeHash), codeHash);
      }
      if (dataHash === null) continue;
      const data = view.findByKey(dataKind, DATA_OF, account)?.row;
      if (data && columnOf(dataKind, data, 'dataHash').equals(dataHash)) {
        dataOf.set(hashKey(account), restOf(dataKind, data));
      } else if (!absent.has(dataKey(account, dataHash))) askedData.push({ account, lt: stored.lt, dataHash });
    }
    if (askedCodes.size > 0 || askedData.length > 0) {
      const accounts = askedData.map(({ account }) => account);
      const cells = await below.cells(accounts, [...askedCodes.values()], context);
      for (const key of askedCodes.keys()) {
        const code = cells.codeOf.get(key);
        note(codeOf, key, key, code);
        // It was cut from the whole result.
        if (code) codeBocs.set(key, ownCopy(code));
      }
      for (const asked of askedData) {
        const { account, dataHash } = asked;
        const data = cells.dataOf.get(hashKey(account));
        if (isOfLaterState(data, asked)) changed.push(account);
        else
          note(
            dataOf,
            hashKey(account),
            dataKey(account, dataHash),
            data?.hash.equals(dataHash) ? data.boc : undefined,
          );
      }
    }
    return {
      changed,
      codeOf: (hash: Hash | null) => hash && codeOf.get(hashKey(hash)),
      dataOf: (account: Address, hash: Hash | null) => hash && dataOf.get(hashKey(account)),
    };
  }

  /** One for all accounts that have it. */
  function heldCode(view: View, hash: Hash): Buffer | undefined {
    const code = view.code(hash)?.boc;
    // It was cut from more.
    return code && ownCode(hash, code);
  }

  /** What the tables answered, or that they do not have it either. */
  function note<T>(into: Map<string, T>, key: string, wanted: string, found: T | undefined): void {
    if (found === undefined) absent.set(wanted, true);
    else into.set(key, found);
  }

  /** The methods of a code never change: read once. */
  function heldMethods(view: View, key: string, hash: Hash): number[] | null {
    const known = methodsByCode.get(key);
    if (known !== undefined) return known;
    const found = view.methodsOf(hash);
    if (found !== null) methodsByCode.set(key, found);
    return found;
  }

  async function methodsOf(hashes: Iterable<Hash | null>, { view, below, context }: Sides) {
    const known = new Map<string, number[]>();
    const asked = new Map<string, Hash>();
    for (const hash of hashes) {
      if (hash === null) continue;
      const key = hashKey(hash);
      if (known.has(key) || asked.has(key)) continue;
      const held = heldMethods(view, key, hash);
      if (held !== null) known.set(key, held);
      else if (!absent.has(key)) asked.set(key, hash);
    }
    if (asked.size > 0) {
      const found = await below.methodsOf([...asked.values()], context);
      for (const key of asked.keys()) note(known, key, key, found.get(key));
    }
    return (hash: Hash | null): number[] | null => hash && (known.get(hashKey(hash)) ?? null);
  }

  async function book(accounts: Address[], sides: Sides): Promise<BookRecord[]> {
    const { view } = sides;
    const found = accounts.map((account) => records.get(view, hashKey(account)));
    const unknown = accounts.filter((_, i) => found[i] === null);
    if (unknown.length === 0) return found.filter((record) => record !== null);
    const read = await readBook(unknown, sides);
    let next = 0;
    return found.map((record) => record ?? read[next++]);
  }

  async function readBook(accounts: readonly Address[], sides: Sides): Promise<BookRecord[]> {
    const { view, below, context } = sides;
    const known = new Map<string, Hash | null>();
    const missing: Address[] = [];
    for (const account of accounts) {
      const key = hashKey(account);
      if (known.has(key)) continue;
      const held = codeHashOf(view, account);
      const remembered = held === undefined ? codes.get(key) : undefined;
      if (held !== undefined) known.set(key, held);
      else if (remembered && remembered.at >= view.first) known.set(key, remembered.code);
      else if (view.below === null) known.set(key, null);
      else missing.push(account);
    }
    if (missing.length > 0) {
      const found = await below.accountCodes(distinct(missing), context);
      for (const account of missing) {
        const code = found.get(hashKey(account)) ?? null;
        known.set(hashKey(account), code);
        codes.set(hashKey(account), { code, at: view.head });
      }
    }
    const methods = await methodsOf(known.values(), sides);
    return accounts.map((account) => {
      const key = hashKey(account);
      const codeHash = known.get(key) ?? null;
      const record = { account, codeHash, methods: methods(codeHash) };
      // Methods may be learned yet.
      if (codeHash === null || record.methods !== null) {
        records.offer(view, key, () => ({ ...ownCopies({ account, codeHash }), methods: record.methods }));
      }
      return record;
    });
  }

  return { accountStates, book };
}
