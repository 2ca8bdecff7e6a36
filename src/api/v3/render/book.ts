/** The address book of an answer: which addresses it prints, and how each of them is described. */
import { friendlyAddress, rawAddress } from '../../../chain/address.ts';
import { interfacesOf, isBounceable } from '../../../chain/interfaces.ts';
import type { Address } from '../../../chain/model.ts';
import type { BookRecord } from '../../../chain/records.ts';

/** An address that an answer prints. */
export interface Noted {
  /** The address as text of its bytes. */
  key: string;
  address: Address;
  /** Raw form. */
  text: string;
}

export interface Book {
  /** The raw text of the address, which is thereby noted. */
  text(address: Address): string;
  /** Notes what another book has noted. */
  note(addresses: readonly Noted[]): void;
  noted(): Noted[];
  /** Every noted address, once. */
  addresses(): Address[];
  /** JSON text of the book, keys sorted; addresses the source says nothing of are left out. */
  json(records: readonly BookRecord[]): string;
}

/** One book for one answer. `testOnly` sets the test flag in user-friendly forms. */
export function createBook(testOnly: boolean): Book {
  const noted = new Map<string, Noted>();
  const text = (address: Address): string => {
    const key = address.toString('latin1');
    const known = noted.get(key);
    if (known !== undefined) return known.text;
    const raw = rawAddress(address);
    noted.set(key, { key, address, text: raw });
    return raw;
  };
  return {
    text,
    note(others) {
      for (const other of others) if (!noted.has(other.key)) noted.set(other.key, other);
    },
    noted: () => [...noted.values()],
    addresses: () => Array.from(noted.values(), ({ address }) => address),
    json(records) {
      const rows = records.map((record) => `"${rawAddress(record.account)}":${bookRow(record, testOnly)}`);
      return `{${rows.sort().join(',')}}`;
    },
  };
}

/** `domain` stays null until the service knows DNS items. */
export function bookRow(record: BookRecord, testOnly: boolean): string {
  const friendly = friendlyAddress(record.account, { bounceable: isBounceable(record.codeHash), testOnly });
  return `{"user_friendly":"${friendly}","domain":null,"interfaces":${interfacesJson(record)}}`;
}

/** What is said of a text that is no address. */
export const UNREADABLE_ROW = '{"user_friendly":null,"domain":null,"interfaces":[]}';

export function interfacesJson(record: Pick<BookRecord, 'codeHash' | 'methods'>): string {
  const marks = interfacesOf(record.codeHash, record.methods);
  return marks.length === 0 ? '[]' : `["${marks.join('","')}"]`;
}
