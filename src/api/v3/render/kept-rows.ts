/** JSON text of rows, the ones asked for lately kept with the addresses that they print. */
import { LRUCache } from 'lru-cache';
import type { Placeholder } from '../../../chain/layouts/addresses.ts';
import { type Book, createBook } from './book.ts';

export interface KeptRows {
  /**
   * The text that `make` gives, whose addresses are noted in `book`.
   * @param key of all that the text is made of
   */
  text(key: () => string, book: Book, make: (book: Book) => string): string;
  /** Memory of what is kept, about. */
  readonly bytes: number;
}

interface Kept {
  text: string;
  addresses: Buffer;
  placeholders: ReadonlySet<Placeholder>;
}

/** Of nearly all rows: a set of its own would take 160 bytes that nobody counts. */
const NO_PLACEHOLDERS: ReadonlySet<Placeholder> = new Set();
/** An entry and its key besides the text, in memory. */
const ENTRY_BYTES = 500;
/** A row above this share of the room is not kept: it would push out too many others. */
const LARGEST_SHARE = 1 / 16;

/** @param maxBytes most bytes to keep, about; 0 keeps nothing */
export function createKeptRows(maxBytes: number): KeptRows {
  const kept = maxBytes > 0 ? new LRUCache<string, Kept>({ maxSize: maxBytes, sizeCalculation }) : null;
  const largest = maxBytes * LARGEST_SHARE;
  return {
    get bytes() {
      return kept?.calculatedSize ?? 0;
    },
    text(keyOf, book, make) {
      if (kept === null) return make(book);
      const key = keyOf();
      const found = kept.get(key);
      if (found !== undefined) {
        book.note(found.addresses);
        for (const one of found.placeholders) book.place(one);
        return found.text;
      }
      const own = createBook(false);
      const text = make(own);
      // In memory of its own: an address may be a part of the page it came in, which would stay alive with it.
      const addresses = Buffer.concat(own.addresses());
      book.note(addresses);
      for (const one of own.placeholders) book.place(one);
      const placeholders = own.placeholders.size === 0 ? NO_PLACEHOLDERS : own.placeholders;
      const made = { text, addresses, placeholders };
      if (sizeCalculation(made) <= largest) kept.set(key, made);
      return text;
    },
  };
}

function sizeCalculation({ text, addresses }: Kept): number {
  return ENTRY_BYTES + text.length + addresses.length;
}
