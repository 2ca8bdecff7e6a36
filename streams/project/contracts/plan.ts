import { decodeState } from '../../../clickhouse/states.ts';
import {
  accountData,
  accounts as accountTable,
  codes as codeTable,
  learnedAccounts,
} from '../../../clickhouse/tables/accounts.ts';
import { hashKey } from '../../../src/chain/hash.ts';
import type { Address, Hash } from '../../../src/chain/model.ts';
import type { AccountStore, BatchAccounts, BatchPlace } from '../accounts.ts';
import type { GrowingRows } from '../step-rows.ts';
import type { CodeStore, KnownCode } from './codes.ts';
import { KINDS, kindsOf, mayConfirm } from './detection.ts';
import { possibleEvents } from './events.ts';
import type { Kind } from './kinds.ts';
import type { KnownRows } from './known.ts';
import { missingCode, runningOf } from './subject.ts';
import type { Waits } from './waits.ts';

export interface Memory {
  batch: BatchPlace;
  store: AccountStore;
  codes: CodeStore;
  known: KnownRows;
  waits: Waits;
  signal: AbortSignal;
}

/** What contracts with a code can be. */
export interface Candidates {
  kinds: readonly Kind[];
  /** Whether others may be what they are by what these say. */
  confirms: boolean;
}

const NOTHING: Candidates = { kinds: [], confirms: false };

/** By the code that runs and the hash it was found under. */
const candidatesByCode = new WeakMap<KnownCode, Map<string, Candidates>>();

/** What an account with this code can be; null when the code is not known. */
export function candidatesOf(codes: CodeStore, codeHash: Hash | null): Candidates | null {
  if (codeHash === null) return NOTHING;
  const running = runningOf(codes, codeHash);
  if (running === null) return null;
  const byHash = candidatesByCode.get(running) ?? new Map<string, Candidates>();
  candidatesByCode.set(running, byHash);
  const key = hashKey(codeHash);
  const found = byHash.get(key) ?? {
    kinds: kindsOf(codeHash, running),
    confirms: mayConfirm(codeHash, running),
  };
  byHash.set(key, found);
  return found;
}

/** Accounts that a node was asked for as a whole: others wait for what they are, whatever that is. */
export function learnedIn(rows: GrowingRows): Set<string> {
  return new Set(rows.of(learnedAccounts).map(({ account }) => hashKey(account)));
}

/**
 * Brings into memory what the steps of a batch will ask for, a query for each table: codes, the accounts that may be of
 * some kind as they were before the batch, those who wait for what it shows, and the rows that all of these have.
 */
export async function planBatch(made: readonly GrowingRows[], memory: Memory): Promise<BatchAccounts> {
  const { batch, store, codes, known, waits, signal } = memory;
  codes.clear();
  const hashes = new Map<string, Hash>();
  for (const rows of made) {
    for (const { codeHash } of rows.of(accountTable)) if (codeHash) hashes.set(hashKey(codeHash), codeHash);
  }
  await codes.loadWithLibraries(hashes.values(), signal);
  const interesting = mayBeSomething(made, codes);
  const before = await store.begin(batch, [...interesting.values()], signal);
  waits.clear();
  const waiting = await waits.begin(shownBy(made, interesting.values(), before), batch, signal);
  // A contract whose code is shown at last may be what others wait for.
  waiting.push(...(await waits.begin(waiting, batch, signal)));
  for (const account of waiting) interesting.set(hashKey(account), account);
  const accounts = await store.begin(batch, [...interesting.values()], signal);
  // Of those who wait, and of those whose data alone a node was asked for, the batch shows no code.
  await codes.loadWithLibraries(codesOf([...interesting.values()], accounts), signal);
  await known.begin(asked(made, interesting, accounts, codes), batch, signal);
  return accounts;
}

/**
 * Accounts that change and that are something, or may confirm others, by a code that is known or shown in the batch,
 * and those that a node was asked for.
 */
function mayBeSomething(made: readonly GrowingRows[], codes: CodeStore): Map<string, Address> {
  const fresh = new Set(made.flatMap((rows) => rows.of(codeTable).map(({ codeHash }) => hashKey(codeHash))));
  const isSomething = (codeHash: Hash): boolean => {
    const can = candidatesOf(codes, codeHash);
    // What stands behind a library cell may be shown in the batch, too.
    return can === null ? fresh.size > 0 : can.kinds.length > 0 || can.confirms;
  };
  const found = new Map<string, Address>();
  for (const rows of made) {
    const changed = new Set<string>();
    const learned = learnedIn(rows);
    for (const { account, codeHash } of rows.of(accountTable)) {
      changed.add(hashKey(account));
      const isNeeded = learned.has(hashKey(account)) || (codeHash !== null && isSomething(codeHash));
      if (isNeeded) found.set(hashKey(account), account);
    }
    for (const { account } of rows.of(accountData)) {
      if (!changed.has(hashKey(account))) found.set(hashKey(account), account);
    }
  }
  return found;
}

/** What the batch may show for the first time. */
function shownBy(made: readonly GrowingRows[], accounts: Iterable<Address>, before: BatchAccounts): Buffer[] {
  const shown = made.flatMap((rows) => rows.of(codeTable).map(({ codeHash }) => missingCode(codeHash)));
  const learned = new Set(made.flatMap((rows) => rows.of(accountData).map(({ account }) => hashKey(account))));
  for (const account of accounts) {
    if (before.get(account) === null || learned.has(hashKey(account))) shown.push(account);
  }
  return shown;
}

/** Hashes of the codes that accounts have. */
export function codesOf(accounts: readonly Address[], held: BatchAccounts): Hash[] {
  return accounts.flatMap((account) => {
    const stored = held.get(account);
    const codeHash = stored && decodeState(stored.state).codeHash;
    return codeHash ? [codeHash] : [];
  });
}

/** The rows that may be there, by kind. A code that the batch shows may make its accounts anything. */
function asked(
  made: readonly GrowingRows[],
  interesting: ReadonlyMap<string, Address>,
  accounts: BatchAccounts,
  codes: CodeStore,
): Map<Kind, Set<Address>> {
  const wanted = new Map<Kind, Map<string, Address>>();
  const add = (kind: Kind, account: Address): void => {
    const others = wanted.get(kind) ?? new Map<string, Address>();
    others.set(hashKey(account), account);
    wanted.set(kind, others);
  };
  const addAll = (account: Address, codeHash: Hash | null): void => {
    if (codeHash === null) return;
    for (const kind of candidatesOf(codes, codeHash)?.kinds ?? KINDS) add(kind, account);
  };
  for (const account of interesting.values()) {
    const stored = accounts.get(account);
    if (stored) addAll(account, decodeState(stored.state).codeHash);
  }
  for (const rows of made) {
    for (const { account, codeHash } of rows.of(accountTable)) {
      if (interesting.has(hashKey(account))) addAll(account, codeHash);
    }
    for (const { row, kind } of possibleEvents(rows)) {
      const of = KINDS.find(({ name }) => name === kind);
      if (of) add(of, row.account);
    }
  }
  return new Map([...wanted].map(([kind, found]) => [kind, new Set(found.values())]));
}
