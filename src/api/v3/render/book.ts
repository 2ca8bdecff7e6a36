/** The address book of an answer: which addresses it prints, and how each of them is described. */
import { rawAddress } from '../../../chain/address.ts';
import type { Address } from '../../../chain/model.ts';
import type { BookRecord } from '../../../chain/records.ts';
import { type BookRows, createBookRows, NO_ADDRESS, NO_ADDRESS_LINE } from './book-rows.ts';

/** The name of an account; null when it has none. */
export type DomainOf = (account: Address) => string | null;

export interface Book {
  /** Whether what is printed is of a test network. */
  readonly testOnly: boolean;
  /** The raw text of the address, which is thereby noted. */
  text(address: Address): string;
  /** What is printed where the chain has no internal address, which is thereby noted. */
  none(): string;
  /** Whether that was noted. */
  readonly hasNone: boolean;
  /** Notes several, one behind the other. The bytes are kept, not copied. */
  note(addresses: Buffer): void;
  /** Every noted address, once. */
  addresses(): Address[];
  /** JSON text of the book, keys sorted; addresses the source says nothing of are left out. */
  json(records: readonly BookRecord[], domainOf?: DomainOf): string;
}

export const ADDRESS_BYTES = 36;

/** One book for one answer. `testOnly` sets the test flag in user-friendly forms. */
export function createBook(testOnly: boolean, rows: BookRows = createBookRows(0)): Book {
  const noted = new Map<string, Address>();
  let hasNone = false;
  return {
    testOnly,
    get hasNone() {
      return hasNone;
    },
    none() {
      hasNone = true;
      return NO_ADDRESS;
    },
    text(address) {
      const key = address.toString('latin1');
      if (!noted.has(key)) noted.set(key, address);
      return rawAddress(address);
    },
    note(addresses) {
      for (let at = 0; at < addresses.length; at += ADDRESS_BYTES) {
        const key = addresses.toString('latin1', at, at + ADDRESS_BYTES);
        if (!noted.has(key)) noted.set(key, addresses.subarray(at, at + ADDRESS_BYTES));
      }
    },
    addresses: () => [...noted.values()],
    json(records, domainOf) {
      const lines = records.map((record) => rows.line(record, testOnly, domainOf?.(record.account)));
      if (hasNone) lines.push(NO_ADDRESS_LINE);
      return `{${lines.sort().join(',')}}`;
    },
  };
}
