/** An event as the JSON that subscribers get; made once for all who get the same bytes. */

import { stateJson } from '../api/v3/render/account.ts';
import { actionJson } from '../api/v3/render/action.ts';
import { blockJson } from '../api/v3/render/block.ts';
import { type Book, createBook, type DomainOf } from '../api/v3/render/book.ts';
import type { BookRows } from '../api/v3/render/book-rows.ts';
import { formStateAfter } from '../api/v3/render/forms.ts';
import type { Renderings } from '../api/v3/render/renderings.ts';
import { jettonTransferJson, nftTransferJson, stateJson as tokenStateJson } from '../api/v3/render/tokens.ts';
import { TOO_LARGE, traceTree } from '../api/v3/render/trace.ts';
import { hashJson } from '../api/v3/render/values.ts';
import { rawAddress } from '../chain/address.ts';
import type { Address } from '../chain/model.ts';
import type { BookRecord, MessageRecord, TransactionRecord } from '../chain/records.ts';
import {
  eventId,
  type FeedEvent,
  isOfTrace,
  nameInV1,
  type ToldAction,
  type TraceEvent,
  type WalletEvent,
} from './events.ts';
import type { Hearing } from './hearing.ts';
import { encodeCursor } from './place.ts';
import type { EventType, Subscription } from './subscription.ts';

/** What is beside the events of a step. */
export interface Surroundings {
  /** Normalised hash of the message that began the trace, standard base64; empty where there is none. */
  traceHash(event: FeedEvent): string;
  messageRecord(event: FeedEvent): MessageRecord;
  bookRecords(accounts: readonly Address[]): BookRecord[];
  /** JSON text of what is known of tokens among these. */
  metadata(accounts: readonly Address[]): string;
}

export interface Notifier {
  /** JSON of one notification, for a subscription and what it hears. Not to be changed. */
  bytes(event: FeedEvent, subscription: Subscription, heard: Pick<Hearing, 'chosen'>, around: Surroundings): Buffer;
  /** The same in pieces, for one who is told alone: what is kept rendered is not copied, and nothing is remembered. */
  pieces(event: FeedEvent, subscription: Subscription, heard: Pick<Hearing, 'chosen'>, around: Surroundings): Pieces;
}

/** One behind the other they are the bytes. */
export type Pieces = readonly (Buffer | string)[];

export interface NotifierOptions {
  renderings: Renderings;
  rows: BookRows;
  globalId: () => number;
  testOnly: () => boolean;
  /** Names in address books. */
  domainOf: DomainOf;
}

/** What a subscription adds to the bare notification. */
type Variant = Pick<Subscription, 'addressBook' | 'metadata' | 'cursors' | 'isV1'>;

/** Whom and what the address book of a notification tells of. */
interface Printed {
  addresses: readonly Address[];
  placeholders: Book['placeholders'];
}

interface Made extends Printed {
  /** Without the brace at the end. */
  bare: Buffer;
  variants: (Buffer | undefined)[];
}

const VARIANTS = 16;
/** Of one event: where more differ, each makes his own. */
const KEPT_CHOICES = 64;
/** What the places of the chosen parts are joined by; all others have one choice. */
const ALL = '';

export function createNotifier({ renderings, rows, globalId, testOnly, domainOf }: NotifierOptions): Notifier {
  /** By what is chosen of an event: mostly one. */
  const made = new WeakMap<FeedEvent, Map<string, Made>>();

  function make(event: FeedEvent, chosen: readonly number[], around: Surroundings): Made {
    const book = createBook(testOnly(), rows);
    const bare = joined([beginOf(event), ...contentOf({ event, chosen, book, isNoted: true, around, renderings })]);
    return { bare, ...printedIn(book), variants: new Array(VARIANTS) };
  }

  /** What is behind the bare notification. */
  function endOf(
    event: FeedEvent,
    { addresses, placeholders }: Printed,
    variant: Variant,
    around: Surroundings,
  ): string {
    let text = '';
    const beside = event.type !== 'block' && event.type !== 'account_state_change';
    if (variant.addressBook && beside) {
      const book = createBook(testOnly(), rows);
      for (const one of placeholders) book.place(one);
      text += `,"address_book":${book.json(around.bookRecords(addresses), domainOf)}`;
    }
    if (variant.metadata && beside) text += `,"metadata":${around.metadata(addresses)}`;
    if (variant.cursors) text += `,"event_id":"${eventId(event)}","cursor":"${encodeCursor(globalId(), event.place)}"`;
    return `${text}}`;
  }

  function extend(event: FeedEvent, one: Made, variant: Variant, around: Surroundings): Buffer {
    const { bare } = one;
    const end = endOf(event, one, variant, around);
    return variant.isV1 ? joined([beginOfV1(event), bare.subarray(beginOf(event).length), end]) : joined([bare, end]);
  }

  return {
    bytes(event, { addressBook, metadata, cursors, isV1 }, heard, around) {
      const chosen = isOfTrace(event) ? heard.chosen(event) : NONE;
      const key = isOfTrace(event) ? chosen.join() : ALL;
      const choices = made.get(event) ?? new Map<string, Made>();
      if (choices.size === 0) made.set(event, choices);
      let one = choices.get(key);
      if (one === undefined) {
        one = make(event, chosen, around);
        if (choices.size < KEPT_CHOICES) choices.set(key, one);
      }
      const which = (addressBook ? 1 : 0) | (metadata ? 2 : 0) | (cursors ? 4 : 0) | (isV1 ? 8 : 0);
      one.variants[which] ??= extend(event, one, { addressBook, metadata, cursors, isV1 }, around);
      return one.variants[which];
    },
    pieces(event, subscription, heard, around) {
      const chosen = isOfTrace(event) ? heard.chosen(event) : NONE;
      const { addressBook, metadata, isV1 } = subscription;
      const isNoted = addressBook || metadata;
      const book = isNoted ? createBook(testOnly(), rows) : bareBook(testOnly());
      const content = contentOf({ event, chosen, book, isNoted, around, renderings });
      const begin = isV1 ? beginOfV1(event) : beginOf(event);
      return [begin, ...content, endOf(event, printedIn(book), subscription, around)];
    },
  };
}

const printedIn = (book: Book): Printed => ({ addresses: book.addresses(), placeholders: book.placeholders });

function joined(pieces: Pieces): Buffer {
  return Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)));
}

/** Where nobody asks which addresses are printed. */
const bareBook = (testOnly: boolean): Book => ({
  testOnly,
  text: rawAddress,
  place: (placeholder) => placeholder,
  placeholders: new Set(),
  note: () => undefined,
  noteKnown: () => undefined,
  addresses: () => [],
  json: () => '{}',
});

const NONE: readonly number[] = [];

interface Parts {
  event: FeedEvent;
  chosen: readonly number[];
  book: Book;
  /** Whether anybody asks what the book notes. */
  isNoted: boolean;
  around: Surroundings;
  renderings: Renderings;
}

/** What is between the beginning and the end. */
function contentOf({ event, chosen, book, isNoted, around, renderings }: Parts): Pieces {
  const traced = event.type === 'block' ? '' : `,"trace_external_hash_norm":"${around.traceHash(event)}"`;
  switch (event.type) {
    case 'transactions':
      return transactionsJson(traced, [event.record], book, renderings);
    case 'trace_transactions': {
      const warned = event.isWhole ? '' : `,"warning":"${TOO_LARGE}"`;
      const told = chosen.map((i) => event.records[i]);
      return transactionsJson(`${traced}${warned}`, told, book, renderings);
    }
    case 'account_state_change': {
      const { form, transaction } = event.record;
      const state = form === undefined ? stateJson(transaction.stateAfter, event.state) : formStateAfter(form);
      return [`,"account":"${rawAddress(transaction.account)}","state":`, state];
    }
    case 'message':
    case 'external_out': {
      const told = renderings.messagePieces(around.messageRecord(event), isNoted ? book : null);
      return [`${traced},"message":`, ...told];
    }
    case 'jettons_change':
      return [`,"jetton":${walletJson(event, book)}`];
    case 'jetton_transfer':
    case 'nft_transfer': {
      const render = event.type === 'jetton_transfer' ? jettonTransferJson : nftTransferJson;
      const told = render({ transaction: event.record, token: event.token }, book);
      return [`${traced},"transfer":${told}`];
    }
    case 'actions':
      return [`${traced},"actions":[${actionsJson(event.actions, chosen, book)}]`];
    case 'trace':
      return wholeTraceJson(traced, event, chosen, book, renderings);
    case 'block':
      return [`,"block":${blockJson(event.record)}`];
  }
}

function levelJson({ finality }: FeedEvent): string {
  return `,"finality":"${finality ?? 'finalized'}"`;
}

function beginOf(event: FeedEvent): string {
  return `${typeJson(event.type)}${levelJson(event)}`;
}

/** Without a level, of which v1 knows nothing. */
function beginOfV1(event: FeedEvent): string {
  return typeJson(nameInV1(event) ?? event.type);
}

function typeJson(type: EventType): string {
  return `{"type":"${type === 'trace_transactions' ? 'transactions' : type}"`;
}

function transactionsJson(
  before: string,
  records: readonly TransactionRecord[],
  book: Book,
  renderings: Renderings,
): Pieces {
  const list = records.flatMap((record, i) => {
    const json = renderings.transaction(record, book);
    return i === 0 ? [json] : [',', json];
  });
  return [`${before},"transactions":[`, ...list, ']'];
}

function walletJson({ wallet, state: { codeHash, dataHash } }: WalletEvent, book: Book): string {
  const { address, balance, owner, jetton, lt } = wallet;
  const known =
    codeHash === null || dataHash === null ? '' : tokenStateJson({ lastTransactionLt: lt, codeHash, dataHash });
  return (
    `{"address":"${book.text(address)}","balance":"${balance}","owner":"${book.text(owner)}"` +
    `,"jetton":"${book.text(jetton)}"${known}}`
  );
}

function actionsJson(actions: readonly ToldAction[], chosen: readonly number[], book: Book): string {
  return chosen.map((i) => actionJson(actions[i].record, book, { accounts: true })).join();
}

/** The tree and all transactions; neither of a trace that is too large. */
function wholeTraceJson(
  traced: string,
  { transactions, actions }: TraceEvent,
  chosen: readonly number[],
  book: Book,
  renderings: Renderings,
): Pieces {
  const told = `,"actions":[${actionsJson(actions, chosen, book)}]`;
  if (transactions === null) return [`${traced},"trace":null,"transactions":{}${told},"warning":"${TOO_LARGE}"`];
  const parts = transactions.flatMap((record, i) => [
    `${i > 0 ? ',' : ''}${hashJson(record.transaction.hash)}:`,
    renderings.transaction(record, book),
  ]);
  return [`${traced},"trace":${traceTree(transactions).json},"transactions":{`, ...parts, `}${told}`];
}
