/** Rows of transfers and burns, the ones asked for lately kept: the newest of a token are in page after page. */
import { LRUCache } from 'lru-cache';
import type { TokenEvent } from '../../../chain/contract-records.ts';
import { type Book, createBook } from './book.ts';
import { jettonBurnJson, jettonTransferJson, nftTransferJson } from './tokens.ts';

const RENDERERS = {
  jetton_transfers: jettonTransferJson,
  jetton_burns: jettonBurnJson,
  nft_transfers: nftTransferJson,
} as const;

/** As their list is named in an answer. */
export type EventKind = keyof typeof RENDERERS;

export interface EventRows {
  /** JSON text of a row; its addresses are noted in `book`. */
  row(kind: EventKind, event: TokenEvent, book: Book): string;
  /** Memory of what is kept, about. */
  readonly bytes: number;
}

interface Kept {
  text: string;
  addresses: Buffer;
  hasNone: boolean;
}

/** An entry and its key besides the text, in memory. */
const ENTRY_BYTES = 500;
/** A row above this share of the room is not kept: it would push out too many others. */
const LARGEST_SHARE = 1 / 16;

/**
 * A row is made of its transaction, its token and its trace, and of nothing that changes: it is found by their hashes.
 * @param maxBytes most bytes to keep, about; 0 keeps nothing
 */
export function createEventRows(maxBytes: number): EventRows {
  const kept = maxBytes > 0 ? new LRUCache<string, Kept>({ maxSize: maxBytes, sizeCalculation }) : null;
  const largest = maxBytes * LARGEST_SHARE;
  return {
    get bytes() {
      return kept?.calculatedSize ?? 0;
    },
    row(kind, event, book) {
      if (kept === null) return RENDERERS[kind](event, book);
      const key = keyOf(kind, event);
      const found = kept.get(key);
      if (found !== undefined) {
        book.note(found.addresses);
        if (found.hasNone) book.none();
        return found.text;
      }
      const own = createBook(false);
      const text = RENDERERS[kind](event, own);
      // In memory of its own: an address may be a part of the page it came in, which would stay alive with it.
      const addresses = Buffer.concat(own.addresses());
      book.note(addresses);
      if (own.hasNone) book.none();
      const made = { text, addresses, hasNone: own.hasNone };
      if (sizeCalculation(made) <= largest) kept.set(key, made);
      return text;
    },
  };
}

function keyOf(kind: EventKind, { transaction: { transaction, traceId }, token }: TokenEvent): string {
  const [hash, of, trace] = [transaction.hash, token, traceId].map((part) => part?.toString('latin1') ?? '');
  return `${kind} ${hash} ${of} ${trace}`;
}

function sizeCalculation({ text, addresses }: Kept): number {
  return ENTRY_BYTES + text.length + addresses.length;
}
