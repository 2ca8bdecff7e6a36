/** Rows of address books, the ones asked for lately kept: the same wallets and contracts are in page after page. */
import { LRUCache } from 'lru-cache';
import { atMost } from '../../../at-most.ts';
import { friendlyAddress, isStandard, rawAddress } from '../../../chain/address.ts';
import { interfacesOf, isBounceable } from '../../../chain/interfaces.ts';
import type { Placeholder } from '../../../chain/layouts/addresses.ts';
import type { BookRecord } from '../../../chain/records.ts';
import { isLasting } from '../../../lasting.ts';

export interface BookRows {
  /** JSON text of the row with its key in front of it. `domain`: the name of the account, where it has one. */
  line(record: BookRecord, testOnly: boolean, domain?: string | null): string;
  /** Memory of what is kept, about. */
  readonly bytes: number;
}

/** A line, and what it was made of besides the address. */
interface Kept {
  code: string | null;
  methods: readonly number[] | null;
  domain: string | null;
  testOnly: boolean;
  line: string;
}

/** With its key, in memory. */
const ROW_BYTES = 600;
/** Some 10 MB. */
export const KEPT_BOOK_ROWS = 16_384;

/** Makes each line anew. */
export const UNKEPT_BOOK_ROWS: BookRows = {
  bytes: 0,
  line: (record, testOnly, domain = null) => bookLine(record, domain, testOnly),
};

/** @param most lines to keep */
export function createBookRows(most: number): BookRows {
  const kept = new LRUCache<string, Kept>(atMost(most));
  // A source mostly gives the same record again: then nothing of it is compared.
  const byRecord = new WeakMap<BookRecord, Kept>();
  return {
    get bytes() {
      return kept.size * ROW_BYTES;
    },
    line(record, testOnly, domain = null) {
      const same = byRecord.get(record);
      if (same?.testOnly === testOnly && same.domain === domain) return same.line;
      const { account, methods } = record;
      const key = account.toString('latin1');
      const code = codeKey(record);
      const found = kept.get(key);
      if (
        found?.testOnly === testOnly &&
        found.code === code &&
        found.domain === domain &&
        isSame(found.methods, methods)
      ) {
        if (isLasting(record)) byRecord.set(record, found);
        return found.line;
      }
      const made = { code, methods, domain, testOnly, line: bookLine(record, domain, testOnly) };
      kept.set(key, made);
      if (isLasting(record)) byRecord.set(record, made);
      return made.line;
    },
  };
}

/** As text: the hash may be a part of something larger, and a copy part of Node's pool, which would stay alive with it. */
function codeKey({ codeHash }: Pick<BookRecord, 'codeHash'>): string | null {
  return codeHash === null ? null : codeHash.toString('latin1');
}

function isSame(a: Kept['methods'], b: Kept['methods']): boolean {
  if (a === b) return true;
  return a !== null && b !== null && a.length === b.length && a.every((method, i) => method === b[i]);
}

function bookLine(record: BookRecord, domain: string | null, testOnly: boolean): string {
  return `"${rawAddress(record.account)}":${bookRow(record, domain, testOnly)}`;
}

/** @param domain the name of the account, where it has one */
export function bookRow(record: BookRecord, domain: string | null, testOnly: boolean): string {
  const { account, codeHash } = record;
  // With a workchain that it has no room for it would be that of another account.
  const friendly = isStandard(account)
    ? `"${friendlyAddress(account, { bounceable: isBounceable(codeHash), testOnly })}"`
    : 'null';
  return `{"user_friendly":${friendly},"domain":${JSON.stringify(domain)},"interfaces":${interfacesJson(record)}}`;
}

/** The row of what is printed where the chain has no internal address, with its key (spec v3 semantics 4.1 and 6.3). */
export function placeholderLine(placeholder: Placeholder): string {
  return `"${placeholder}":{"user_friendly":"addr_none","domain":null,"interfaces":[]}`;
}

/** What is said of a text that is no address. */
export const UNREADABLE_ROW = '{"user_friendly":null,"domain":null,"interfaces":[]}';

/** By the list of methods, of which a source mostly has one for all accounts of a code. */
const lastInterfaces = new WeakMap<readonly number[], { code: string | null; json: string }>();

export function interfacesJson(record: Pick<BookRecord, 'codeHash' | 'methods'>): string {
  const { codeHash, methods } = record;
  const code = codeKey(record);
  const last = methods === null ? undefined : lastInterfaces.get(methods);
  if (last?.code === code) return last.json;
  const marks = interfacesOf(codeHash, methods);
  const json = marks.length === 0 ? '[]' : `["${marks.join('","')}"]`;
  if (methods !== null) lastInterfaces.set(methods, { code, json });
  return json;
}
