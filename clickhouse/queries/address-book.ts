/** The address book: codes of accounts and methods of codes, and all that is remembered of them. */
import { LRUCache } from 'lru-cache';
import { atMost } from '../../src/at-most.ts';
import { ownCopy } from '../../src/chain/bytes.ts';
import { distinct, hashKey } from '../../src/chain/hash.ts';
import type { Address, Hash } from '../../src/chain/model.ts';
import type { BookRecord, QueryContext } from '../../src/chain/records.ts';
import { arrayOf, hashOrNone, u32 } from '../tables/columns.ts';
import { addresses, hashes } from './keys.ts';
import type { Reading } from './reading.ts';

/** Codes and accounts that are remembered. */
const CACHED_CODES = 20_000;
const CACHED_ACCOUNTS = 200_000;
/** A step count above which what is known of accounts is dropped rather than brought up to date. */
const CATCH_UP_STEPS = 1_000;

/** Before every head. */
const NEVER = -1;

/** One for all accounts that have it. */
interface Code {
  readonly hash: Hash;
  /** Get-method ids; null until the tables have the code. */
  methods: number[] | null;
  /** The head at which the tables did not have it: they are not asked again before there is another. */
  absentAt: number;
}

export type AddressBook = ReturnType<typeof createAddressBook>;

const methodIds = arrayOf(u32);

export function createAddressBook(reading: Reading) {
  const codes = new LRUCache<string, Code>(atMost(CACHED_CODES));
  /** As of the step `current`. */
  const accounts = new LRUCache<string, Code | 'none'>(atMost(CACHED_ACCOUNTS));
  let current = 0;
  let catchingUp: Promise<void> = Promise.resolve();

  function codeWith(hash: Hash): Code {
    const key = hashKey(hash);
    let code = codes.get(key);
    if (code === undefined) {
      code = { hash: ownCopy(hash), methods: null, absentAt: NEVER };
      codes.set(key, code);
    }
    return code;
  }

  const codeOrNone = (hash: Hash | null): Code | 'none' => (hash === null ? 'none' : codeWith(hash));

  /** Reads what is not known of them. */
  async function learnMethods(wanted: readonly Code[], context: QueryContext): Promise<void> {
    const head = reading.head.seqno;
    const isUnknown = ({ methods, absentAt }: Code): boolean => methods === null && absentAt !== head;
    const missing = new Map(wanted.filter(isUnknown).map((code) => [hashKey(code.hash), code]));
    if (missing.size === 0) return;
    const keys = hashes([...missing.values()].map(({ hash }) => hash));
    const sql = `SELECT code_hash, methods FROM codes WHERE code_hash IN ${keys} LIMIT 1 BY code_hash`;
    const rows = await reading.rows(sql, 'methods of codes', context);
    while (!rows.done) {
      const code = missing.get(hashKey(rows.fixed(32)));
      const methods = methodIds.read(rows);
      if (code) code.methods = methods;
    }
    for (const code of missing.values()) if (code.methods === null) code.absentAt = head;
  }

  /** @param condition which rows of the accounts count, all unless given */
  async function readCodes(
    some: readonly Address[],
    context: QueryContext,
    condition = '',
  ): Promise<Map<string, Code | 'none'>> {
    const found = new Map<string, Code | 'none'>();
    if (some.length === 0) return found;
    const sql = `SELECT account, code_hash FROM account_codes WHERE account IN ${addresses(some)}${condition} ORDER BY account, lt DESC LIMIT 1 BY account`;
    const rows = await reading.rows(sql, 'codes of accounts', context);
    while (!rows.done) found.set(hashKey(rows.fixed(36)), codeOrNone(hashOrNone.read(rows)));
    return found;
  }

  /** Brings what is remembered from the head it stands at to the newest. */
  function catchUp(context: QueryContext): Promise<void> {
    catchingUp = catchingUp
      .catch(() => undefined)
      .then(async () => {
        const to = reading.head.seqno;
        if (to === current) return;
        if (accounts.size > 0 && to - current <= CATCH_UP_STEPS) await applyChanges(current, to, context);
        else accounts.clear();
        current = to;
      });
    return catchingUp;
  }

  async function applyChanges(from: number, to: number, context: QueryContext): Promise<void> {
    const sql = `SELECT account, code_hash FROM account_codes_by_step WHERE mc_seqno > ${from} AND mc_seqno <= ${to} ORDER BY mc_seqno, account, lt`;
    const rows = await reading.rows(sql, 'changed codes', context);
    while (!rows.done) {
      const account = hashKey(rows.fixed(36));
      const code = hashOrNone.read(rows);
      if (accounts.has(account)) accounts.set(account, codeOrNone(code));
    }
  }

  return {
    /** The step that what is remembered of accounts is of. */
    standing: () => current,

    /**
     * Takes over what another query has read, unless the book has moved on from where it stood before that query: then
     * a newer code may be there already.
     */
    noteCode(account: Address, codeHash: Hash | null, stood: number): void {
      if (stood === current) accounts.set(hashKey(account), codeOrNone(codeHash));
    },

    /**
     * Code hashes of accounts as the tables know them, whatever the head is; accounts never seen with a code are
     * missing.
     */
    async accountCodes(some: readonly Address[], context: QueryContext): Promise<Map<string, Hash>> {
      const found = await readCodes(some, context);
      return new Map([...found].flatMap(([account, code]) => (code === 'none' ? [] : [[account, code.hash]])));
    },

    /** Get-method ids of these codes by their hash as latin1 text; codes never seen are missing. */
    async methodsOf(codeHashes: readonly Hash[], context: QueryContext): Promise<Map<string, number[]>> {
      const wanted = codeHashes.map(codeWith);
      await learnMethods(wanted, context);
      return new Map(wanted.flatMap(({ hash, methods }) => (methods === null ? [] : [[hashKey(hash), methods]])));
    },

    async book(some: Address[], context: QueryContext): Promise<BookRecord[]> {
      await catchUp(context);
      const missing = distinct(some).filter((account) => !accounts.has(hashKey(account)));
      const at = current;
      const found = await readCodes(missing, context, ` AND mc_seqno <= ${at}`);
      for (const account of missing) {
        const code = found.get(hashKey(account)) ?? 'none';
        found.set(hashKey(account), code);
        if (at === current) accounts.set(hashKey(account), code);
      }
      const entries = some.map((account) => {
        const code = accounts.get(hashKey(account)) ?? found.get(hashKey(account)) ?? 'none';
        return { account, code: code === 'none' ? null : code };
      });
      await learnMethods(
        entries.flatMap(({ code }) => code ?? []),
        context,
      );
      return entries.map(({ account, code }) => ({
        account,
        codeHash: code?.hash ?? null,
        methods: code?.methods ?? null,
      }));
    },
  };
}
