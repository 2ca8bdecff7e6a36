/** The address book of an answer: which addresses it prints, and how each of them is described. */
import { rawAddress } from '../../../chain/address.ts';
import type { Placeholder } from '../../../chain/layouts/addresses.ts';
import type { Address } from '../../../chain/model.ts';
import type { BookRecord } from '../../../chain/records.ts';
import { type BookRows, placeholderLine, UNKEPT_BOOK_ROWS } from './book-rows.ts';

/** The name of an account; null when it has none. */
export type DomainOf = (account: Address) => string | null;

export interface Book {
  /** Whether what is printed is of a test network. */
  readonly testOnly: boolean;
  /** The raw text of the address, which is thereby noted. */
  text(address: Address): string;
  /** The text of what stands where the chain has no internal address, which is thereby noted. */
  place(placeholder: Placeholder): string;
  /** Those that were noted. */
  readonly placeholders: ReadonlySet<Placeholder>;
  /** Notes several, one behind the other. The bytes are kept, not copied. */
  note(addresses: Buffer): void;
  /** Notes several by their keys (`hashKey`). */
  noteKnown(addresses: Iterable<readonly [string, Address]>): void;
  /** Every noted address, once. */
  addresses(): Address[];
  /** JSON text of the book, keys sorted; addresses the source says nothing of are left out. */
  json(records: readonly BookRecord[], domainOf?: DomainOf): string;
}

export const ADDRESS_BYTES = 36;

/** One book for one answer. `testOnly` sets the test flag in user-friendly forms. */
export function createBook(testOnly: boolean, rows: BookRows = UNKEPT_BOOK_ROWS): Book {
  const noted = new Map<string, Address>();
  const placeholders = new Set<Placeholder>();
  return {
    testOnly,
    placeholders,
    place(placeholder) {
      placeholders.add(placeholder);
      return placeholder;
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
    noteKnown(addresses) {
      for (const [key, address] of addresses) if (!noted.has(key)) noted.set(key, address);
    },
    addresses: () => [...noted.values()],
    json(records, domainOf) {
      const lines = records.map((record) => rows.line(record, testOnly, domainOf?.(record.account)));
      for (const placeholder of placeholders) lines.push(placeholderLine(placeholder));
      return `{${lines.sort().join(',')}}`;
    },
  };
}
