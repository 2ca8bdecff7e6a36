/** Rows of transfers and burns, the ones asked for lately kept: the newest of a token are in page after page. */
import type { TokenEvent } from '../../../chain/contract-records.ts';
import type { Book } from './book.ts';
import { createKeptRows } from './kept-rows.ts';
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

/**
 * A row is made of its transaction, its token and its trace, and of nothing that changes: it is found by their hashes.
 * @param maxBytes most bytes to keep, about; 0 keeps nothing
 */
export function createEventRows(maxBytes: number): EventRows {
  const kept = createKeptRows(maxBytes);
  return {
    get bytes() {
      return kept.bytes;
    },
    row: (kind, event, book) =>
      kept.text(
        () => keyOf(kind, event),
        book,
        (own) => RENDERERS[kind](event, own),
      ),
  };
}

function keyOf(kind: EventKind, { transaction: { transaction, traceId }, token }: TokenEvent): string {
  const [hash, of, trace] = [transaction.hash, token, traceId].map((part) => part?.toString('latin1') ?? '');
  return `${kind} ${hash} ${of} ${trace}`;
}
