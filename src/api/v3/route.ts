/** One operation of the v3 API: declared once, served and documented from the declaration. */
import type { z } from 'zod';
import type { BookRecord, ChainSource, QueryContext } from '../../chain/records.ts';
import { type Parameters, readParameters } from '../parameters.ts';
import type { Query } from '../request.ts';
import type { Book } from './render/book.ts';
import type { Renderings } from './render/renderings.ts';

/** What a route may use to answer. */
export interface Asked {
  source: ChainSource;
  context: QueryContext;
  /** Whether user-friendly addresses carry the test flag. */
  testOnly: boolean;
  /** Collects the addresses the answer prints. */
  book: Book;
  renderings: Renderings;
  /**
   * JSON text of the `address_book`; `{}` when switched off.
   * @param known rows for all addresses that were noted, where the answer is made of them: the source is not asked
   */
  addressBook(known?: readonly BookRecord[]): Promise<string>;
}

export interface Route {
  path: string;
  tag: 'blockchain' | 'accounts';
  summary: string;
  parameters: Parameters;
  response: z.ZodType;
  /**
   * Whether the answer carries a tag by which a client asks whether it is still the same: always, or when one of these
   * parameters is given. For what clients ask again and again and changes seldom.
   */
  tagged?: 'always' | readonly string[];
  /** JSON of the answer to the query. Throws ApiError. */
  answer(query: Query, asked: Asked): Promise<string | Buffer>;
}

interface Declaration<T extends Parameters> extends Omit<Route, 'parameters' | 'answer'> {
  parameters: T;
  answer(parameters: z.output<T>, asked: Asked, query: Query): Promise<string | Buffer>;
}

/** Ties the declared parameters to the types that `answer` receives. */
export function route<T extends Parameters>(declaration: Declaration<T>): Route {
  return {
    ...declaration,
    answer: async (query, asked) => declaration.answer(readParameters(declaration.parameters, query), asked, query),
  };
}

/** `,"next_cursor":...` where the request asked for keyset paging, nothing otherwise. */
export function nextCursor(asked: string | undefined, next: string | null): string {
  return asked === undefined ? '' : `,"next_cursor":${JSON.stringify(next)}`;
}

/** Whether a block can have this seqno; others are not worth a query. */
export function isBlockSeqno(seqno: number): boolean {
  return seqno > 0 && seqno < 2 ** 31;
}
