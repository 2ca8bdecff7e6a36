/** An event as the JSON that subscribers get; made once for all who get the same bytes. */

import { stateJson } from '../api/v3/render/account.ts';
import { blockJson } from '../api/v3/render/block.ts';
import { type Book, createBook, type DomainOf } from '../api/v3/render/book.ts';
import type { BookRows } from '../api/v3/render/book-rows.ts';
import type { Renderings } from '../api/v3/render/renderings.ts';
import { rawAddress } from '../chain/address.ts';
import type { Address } from '../chain/model.ts';
import type { BookRecord, MessageRecord } from '../chain/records.ts';
import { eventId, type FeedEvent, FINALITY } from './events.ts';
import { encodeCursor } from './place.ts';
import type { Subscription } from './protocol.ts';

/** What is beside the events of a step. */
export interface Surroundings {
  /** Normalised hash of the message that began the trace, standard base64; empty where there is none. */
  traceHash(event: FeedEvent): string;
  messageRecord(event: FeedEvent): MessageRecord;
  bookRecords(accounts: readonly Address[]): BookRecord[];
}

export interface Notifier {
  /** JSON of one notification, for a subscription. Not to be changed. */
  bytes(event: FeedEvent, subscription: Subscription, around: Surroundings): Buffer;
}

export interface NotifierOptions {
  renderings: Renderings;
  rows: BookRows;
  globalId: () => number;
  testOnly: () => boolean;
  /** Names in address books. */
  domainOf: DomainOf;
}

/** What a subscription adds to the bare notification. */
type Variant = Pick<Subscription, 'addressBook' | 'metadata' | 'cursors'>;

interface Made {
  /** Without the brace at the end. */
  bare: Buffer;
  addresses: readonly Address[];
  variants: (Buffer | undefined)[];
}

const VARIANTS = 8;

export function createNotifier({ renderings, rows, globalId, testOnly, domainOf }: NotifierOptions): Notifier {
  const made = new WeakMap<FeedEvent, Made>();

  function make(event: FeedEvent, around: Surroundings): Made {
    const book = createBook(testOnly(), rows);
    const bare = bareJson(event, book, around, renderings);
    return { bare, addresses: book.addresses(), variants: new Array(VARIANTS) };
  }

  function extend(event: FeedEvent, { bare, addresses }: Made, variant: Variant, around: Surroundings): Buffer {
    let text = '';
    const beside = event.type !== 'block' && event.type !== 'account_state_change';
    if (variant.addressBook && beside) {
      const book = createBook(testOnly(), rows);
      text += `,"address_book":${book.json(around.bookRecords(addresses), domainOf)}`;
    }
    if (variant.metadata && beside) text += ',"metadata":{}';
    if (variant.cursors) text += `,"event_id":"${eventId(event)}","cursor":"${encodeCursor(globalId(), event.place)}"`;
    return Buffer.concat([bare, Buffer.from(`${text}}`)]);
  }

  return {
    bytes(event, { addressBook, metadata, cursors }, around) {
      let one = made.get(event);
      if (one === undefined) {
        one = make(event, around);
        made.set(event, one);
      }
      const which = (addressBook ? 1 : 0) | (metadata ? 2 : 0) | (cursors ? 4 : 0);
      one.variants[which] ??= extend(event, one, { addressBook, metadata, cursors }, around);
      return one.variants[which];
    },
  };
}

function bareJson(event: FeedEvent, book: Book, around: Surroundings, renderings: Renderings): Buffer {
  switch (event.type) {
    case 'transactions': {
      const json = renderings.transaction(event.record, book);
      return Buffer.concat([Buffer.from(`${head(event)}${trace(event, around)},"transactions":[`), json, CLOSE_LIST]);
    }
    case 'account_state_change': {
      const { account, stateAfter } = event.record.transaction;
      const state = stateJson(stateAfter, event.state);
      return Buffer.from(`${head(event)},"account":"${rawAddress(account)}","state":${state}`);
    }
    case 'message':
    case 'external_out': {
      const json = renderings.message(around.messageRecord(event), book);
      return Buffer.concat([Buffer.from(`${head(event)}${trace(event, around)},"message":`), json]);
    }
    case 'block':
      return Buffer.from(`${head(event)},"block":${blockJson(event.record)}`);
  }
}

const CLOSE_LIST = Buffer.from(']');

function head({ type }: FeedEvent): string {
  return `{"type":"${type}","finality":"${FINALITY}"`;
}

function trace(event: FeedEvent, around: Surroundings): string {
  return `,"trace_external_hash_norm":"${around.traceHash(event)}"`;
}
