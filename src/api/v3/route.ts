/** An operation of the v3 API. */
import type { ChainSource } from '../../chain/chain-source.ts';
import type { Address } from '../../chain/model.ts';
import type { BookRecord, QueryContext } from '../../chain/records.ts';
import type { Liteservers } from '../../node/liteservers.ts';
import type { PendingStore } from '../../pending/store.ts';
import type { StateSource } from '../../state/source.ts';
import type { Contracts } from '../contracts.ts';
import type { Parameters } from '../parameters.ts';
import { type Declaration, declare, type Route as RouteOf } from '../route.ts';
import type { SentMessages } from '../sent-messages.ts';
import { refuse } from './parameters.ts';
import type { Book } from './render/book.ts';
import type { EventRows } from './render/event-rows.ts';
import type { AlsoTokens } from './render/metadata.ts';
import type { Renderings } from './render/renderings.ts';
import { joinTexts } from './render/rows.ts';

/** What a route may use to answer. */
export interface Asked {
  source: ChainSource;
  /** Of accounts and the like, as of the steps that the source shows. */
  states: StateSource;
  liteservers: Liteservers;
  /** Runs get-methods and messages. */
  contracts: Contracts;
  /** What hosts of ours have sent. */
  sent: SentMessages;
  /** What becomes of sent messages before it is final. */
  pending: PendingStore;
  context: QueryContext;
  /** Whether user-friendly addresses carry the test flag. */
  testOnly: boolean;
  /** Collects the addresses the answer prints. */
  book: Book;
  renderings: Renderings;
  eventRows: EventRows;
  /** `X-Actions-Version`: in place of `supported_action_types`. */
  actionsVersion: string | null;
  /**
   * JSON text of the `address_book`; `{}` when switched off.
   * @param known rows for all addresses that were noted, where the answer is made of them: the source is not asked
   */
  addressBook(known?: readonly BookRecord[]): Promise<string>;
  /** The same where the switch does not count (spec v3 endpoints 1.3). */
  filledAddressBook(): Promise<string>;
  /**
   * JSON text of the `metadata` of the same addresses; `{}` when switched off.
   * @param known as above
   */
  metadata(known?: readonly BookRecord[], also?: AlsoTokens): Promise<string>;
}

export type Route = RouteOf<Asked>;

export function route<T extends Parameters>(declaration: Declaration<T, Asked>): Route {
  return declare(declaration, refuse);
}

/** `,"next_cursor":...` where the request asked for keyset paging, nothing otherwise. */
export function nextCursor(asked: string | undefined, next: string | null): string {
  return asked === undefined ? '' : `,"next_cursor":${JSON.stringify(next)}`;
}

/**
 * A list of rows with the book of their addresses, with their metadata where the answer has any, and what comes behind.
 * @param listed the tokens whose rows they are
 */
export async function listing(
  name: string,
  rows: readonly string[],
  { addressBook, metadata }: Pick<Asked, 'addressBook'> & { metadata: Asked['metadata'] | null },
  extras = '',
  listed: readonly Address[] = [],
): Promise<Buffer> {
  const [book, tokens] = await Promise.all([addressBook(), metadata?.(undefined, { listed })]);
  const described = tokens === undefined ? '' : `,"metadata":${tokens}`;
  return joinTexts(`{"${name}":[`, rows, `],"address_book":${book}${described}${extras}}`);
}

/** Whether a block can have this seqno; others are not worth a query. */
export function isBlockSeqno(seqno: number): boolean {
  return seqno > 0 && seqno < 2 ** 31;
}
