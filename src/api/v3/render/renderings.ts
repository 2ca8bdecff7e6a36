/**
 * Transactions and messages as JSON bytes, the ones asked for lately kept: what is shown again is neither decoded nor
 * rendered.
 */
import { LRUCache } from 'lru-cache';
import type { BlockId, Hash } from '../../../chain/model.ts';
import type { MessageRecord, StoredBytes, TransactionRecord } from '../../../chain/records.ts';
import { storedKey } from '../../../chain/stored.ts';
import { type Book, createBook } from './book.ts';
import { formAddresses, formJson, formMessage, formOf } from './forms.ts';
import { createKeptRows } from './kept-rows.ts';
import { endsJson, messageRowJson } from './message.ts';

export interface Renderings {
  /** JSON bytes of a transaction (schema `Transaction`); its addresses are noted in `book`. Not to be changed. */
  transaction(record: TransactionRecord, book: Book): Buffer;
  /** The same of a row of `/messages` (schema `Message`). */
  message(record: MessageRecord, book: Book): Buffer;
  /** The same in pieces: what is kept is not copied. @param book null where nobody asks for one */
  messagePieces(record: MessageRecord, book: Book | null): (Buffer | string)[];
  readonly figures: RenderingsFigures;
}

export interface RenderingsFigures {
  /** Since the start: transactions shown that came in their form, that were kept, and that had to be rendered. */
  readonly formed: number;
  readonly kept: number;
  readonly made: number;
  /** Kept now. */
  readonly bytes: number;
}

export interface RenderingsOptions {
  /** Most bytes of transactions to keep, about, and a fourth as many of messages; 0 keeps nothing. */
  maxBytes: number;
}

const MESSAGES_SHARE = 4;

/** All that the text is made of, and the text. */
interface Rendering {
  stored: StoredBytes;
  block: BlockId;
  mcSeqno: number;
  globalVersion: number;
  traceId: Hash | null;
  form: Buffer;
}

/** An entry and its key besides the bytes, in memory. */
const ENTRY_BYTES = 700;
/** A rendering above this share of the room is not kept: it would push out too many others. */
const LARGEST_SHARE = 1 / 16;

/**
 * Renderings are found by account and lt, and used only if everything the text depends on is the same: the stored
 * bytes (compared, which costs less than any hash of them), the block, the step, the trace and the version. The network
 * is no part of it: a transaction prints raw addresses.
 */
export function createRenderings({ maxBytes }: RenderingsOptions): Renderings {
  const kept = maxBytes > 0 ? new LRUCache<string, Rendering>({ maxSize: maxBytes, sizeCalculation }) : null;
  const largest = maxBytes * LARGEST_SHARE;
  const messages = createKeptRows(Math.floor(maxBytes / MESSAGES_SHARE));
  const figures = {
    formed: 0,
    kept: 0,
    made: 0,
    get bytes() {
      return (kept?.calculatedSize ?? 0) + messages.bytes;
    },
  };

  function find(record: TransactionRecord): Buffer {
    const { stored } = record;
    if (kept === null || stored === undefined) return make(record);
    const key = storedKey(stored.payload);
    if (key === null) return make(record);
    const found = kept.get(key);
    if (found !== undefined && isSame(found, record, stored)) {
      figures.kept++;
      return found.form;
    }
    const rendering = keepable(record, stored, make(record));
    if (sizeCalculation(rendering) <= largest) kept.set(key, rendering);
    return rendering.form;
  }

  function make(record: TransactionRecord): Buffer {
    figures.made++;
    return formOf(record);
  }

  function messagePieces(record: MessageRecord, book: Book | null): (Buffer | string)[] {
    const { form, message } = record;
    if (form === undefined) return [messageRow(record, book ?? createBook(false))];
    if (book !== null) for (const one of [message.source, message.destination]) if (one !== null) book.note(one);
    const [before, behind] = formMessage(form.transaction, form.index);
    return [before, endsJson(record), behind];
  }

  function messageRow(record: MessageRecord, book: Book): string {
    return messages.text(
      () => messageKey(record),
      book,
      (own) => messageRowJson(record, own),
    );
  }

  return {
    figures,
    transaction(record, book) {
      const form = record.form ?? find(record);
      if (record.form !== undefined) figures.formed++;
      book.note(formAddresses(form));
      return formJson(form);
    },
    message(record, book) {
      const pieces = messagePieces(record, book);
      return Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)));
    },
    messagePieces,
  };
}

/** The hash is of all that the message is. */
function messageKey({ message, globalVersion, inTxHash, outTxHash }: MessageRecord): string {
  const [hash, received, sent] = [message.hash, inTxHash, outTxHash].map((part) => part?.toString('latin1') ?? '');
  return `${hash} ${received} ${sent} ${globalVersion}`;
}

function sizeCalculation({ stored, form }: Rendering): number {
  return ENTRY_BYTES + stored.payload.length + stored.states.length + form.length;
}

function isSame(kept: Rendering, record: TransactionRecord, { payload, states }: StoredBytes): boolean {
  const { block, traceId } = record;
  return (
    kept.mcSeqno === record.mcSeqno &&
    kept.globalVersion === record.globalVersion &&
    kept.block.seqno === block.seqno &&
    kept.block.workchain === block.workchain &&
    kept.block.shard === block.shard &&
    (kept.traceId === null ? traceId === null : traceId !== null && kept.traceId.equals(traceId)) &&
    kept.stored.payload.equals(payload) &&
    kept.stored.states.equals(states)
  );
}

/** In memory of its own: the bytes of a record are part of the page they came in, which would stay alive with them. */
function keepable(record: TransactionRecord, stored: StoredBytes, made: Buffer): Rendering {
  const parts = [stored.payload, stored.states, made, record.traceId ?? Buffer.alloc(0)];
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  const [payload, states, form, trace] = parts.map((part) => {
    part.copy(bytes, at);
    at += part.length;
    return bytes.subarray(at - part.length, at);
  });
  return {
    stored: { payload, states },
    block: record.block,
    mcSeqno: record.mcSeqno,
    globalVersion: record.globalVersion,
    traceId: record.traceId === null ? null : trace,
    form,
  };
}
