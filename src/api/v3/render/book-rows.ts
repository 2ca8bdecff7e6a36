/** Rows of address books, the ones asked for lately kept: the same wallets and contracts are in page after page. */
import { LRUCache } from 'lru-cache';
import { friendlyAddress, rawAddress } from '../../../chain/address.ts';
import { interfacesOf, isBounceable } from '../../../chain/interfaces.ts';
import type { Hash } from '../../../chain/model.ts';
import type { BookRecord } from '../../../chain/records.ts';

export interface BookRows {
  /** JSON text of the row with its key in front of it. */
  line(record: BookRecord, testOnly: boolean): string;
}

/** A line, and what it was made of besides the address. */
interface Kept {
  codeHash: Hash | null;
  methods: readonly number[] | null;
  testOnly: boolean;
  line: string;
}

/** @param most lines to keep, some 500 bytes each; 0 keeps none */
export function createBookRows(most: number): BookRows {
  const kept = most > 0 ? new LRUCache<string, Kept>({ max: most }) : null;
  return {
    line(record, testOnly) {
      if (kept === null) return bookLine(record, testOnly);
      const { codeHash, methods } = record;
      const key = record.account.toString('latin1');
      const found = kept.get(key);
      if (found !== undefined && found.testOnly === testOnly && isSame(found, record)) return found.line;
      const line = bookLine(record, testOnly);
      // The hash may be a part of something larger, which would stay alive with it.
      kept.set(key, { codeHash: codeHash && Buffer.from(codeHash), methods, testOnly, line });
      return line;
    },
  };
}

function isSame(kept: Kept, { codeHash, methods }: BookRecord): boolean {
  const sameCode = kept.codeHash === null ? codeHash === null : codeHash !== null && kept.codeHash.equals(codeHash);
  if (!sameCode || kept.methods === methods) return sameCode;
  if (kept.methods === null || methods === null || kept.methods.length !== methods.length) return false;
  return kept.methods.every((method, i) => method === methods[i]);
}

function bookLine(record: BookRecord, testOnly: boolean): string {
  return `"${rawAddress(record.account)}":${bookRow(record, testOnly)}`;
}

/** `domain` stays null until the service knows DNS items. */
export function bookRow(record: BookRecord, testOnly: boolean): string {
  const friendly = friendlyAddress(record.account, { bounceable: isBounceable(record.codeHash), testOnly });
  return `{"user_friendly":"${friendly}","domain":null,"interfaces":${interfacesJson(record)}}`;
}

/** What is said of a text that is no address. */
export const UNREADABLE_ROW = '{"user_friendly":null,"domain":null,"interfaces":[]}';

/** By the list of methods, of which a source mostly has one for all accounts of a code. */
const lastInterfaces = new WeakMap<readonly number[], { codeHash: Hash | null; json: string }>();

export function interfacesJson({ codeHash, methods }: Pick<BookRecord, 'codeHash' | 'methods'>): string {
  const last = methods === null ? undefined : lastInterfaces.get(methods);
  if (last && (last.codeHash === null ? codeHash === null : codeHash?.equals(last.codeHash))) return last.json;
  const marks = interfacesOf(codeHash, methods);
  const json = marks.length === 0 ? '[]' : `["${marks.join('","')}"]`;
  if (methods !== null) lastInterfaces.set(methods, { codeHash: codeHash && Buffer.from(codeHash), json });
  return json;
}
