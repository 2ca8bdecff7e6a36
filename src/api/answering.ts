/** From a request of the API to its answer: what is asked, who has asked it already, and how the answer goes out. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import type { BookRecord, ChainSource } from '../chain/records.ts';
import { type Answer, makeAnswer, sendAnswer } from './answers.ts';
import { durationsOf, requestDurations, watchAnswers } from './api-metrics.ts';
import { createCompression } from './compression.ts';
import type { ApiLimits } from './limits.ts';
import { Caller, type Query, readQuery, readSwitches } from './request.ts';
import { createSharedAnswers } from './shared-answers.ts';
import { createBook } from './v3/render/book.ts';
import { createBookRows, KEPT_BOOK_ROWS } from './v3/render/book-rows.ts';
import { createRenderings } from './v3/render/renderings.ts';
import type { Route } from './v3/route.ts';

export interface AnsweringOptions {
  source: ChainSource;
  metrics: Registry;
  limits: ApiLimits;
  testnet: () => boolean;
  /**
   * Names the state of the source: another text whenever an answer may be another. Without it every request is
   * answered for itself.
   */
  version?: () => string;
  kept?: KeptBytes;
}

/** Memory to answer faster with, besides the rows of address books; nothing is kept by default. */
export interface KeptBytes {
  /** Of whole answers, for as long as the version is the same. */
  answers: number;
  /** Of rendered transactions. */
  renderings: number;
}

const NOTHING_KEPT: KeptBytes = { answers: 0, renderings: 0 };
/** Each takes a thread of libuv's four. */
const PACKED_AT_ONCE = 2;

/**
 * Answers one GET or HEAD request, or rejects with what went wrong before anything was sent. `began`: when it came, by
 * `performance.now()`.
 */
export type Handler = (request: IncomingMessage, response: ServerResponse, began: number) => Promise<void>;

/** Makes the handlers of routes; they share what is kept. */
export function createAnswering(options: AnsweringOptions): (route: Route) => Handler {
  const { source, limits, testnet, version, metrics, kept = NOTHING_KEPT } = options;
  const renderings = createRenderings({ maxBytes: kept.renderings });
  const bookRows = createBookRows(KEPT_BOOK_ROWS);
  const shared = createSharedAnswers({ maxBytes: kept.answers });
  const compression = createCompression(PACKED_AT_ONCE);
  const durations = requestDurations(metrics);
  watchAnswers(metrics, { renderings, bookRows, shared, compression });

  async function compute(route: Route, query: Query, noAddressBook: boolean, context: Caller): Promise<Answer> {
    const testOnly = testnet();
    const book = createBook(testOnly, bookRows);
    const addressBook = async (known?: readonly BookRecord[]): Promise<string> => {
      if (known !== undefined) return noAddressBook ? '{}' : book.json(known);
      const accounts = noAddressBook ? [] : book.addresses();
      return accounts.length === 0 ? '{}' : book.json(await source.book(accounts, context));
    };
    const json = await route.answer(query, { source, context, testOnly, book, renderings, addressBook });
    return makeAnswer(json, isTagged(route, query));
  }

  return (route) => {
    const names = Object.keys(route.parameters.shape);
    const ended = durationsOf(durations, route.path);
    return async (request, response, began) => {
      const query = readQuery(request.url ?? '');
      const { timeoutMs, noAddressBook } = readSwitches(request.headers, query);
      const caller = new Caller(Math.min(timeoutMs ?? limits.queryTimeoutMs, limits.queryTimeoutMs));
      response.on('close', () => {
        if (!response.writableFinished) caller.leave(new Error('the caller has hung up'));
        ended(response.statusCode, began);
      });
      const answer =
        version === undefined
          ? await compute(route, query, noAddressBook, caller)
          : await shared.get(questionOf(route, names, query, noAddressBook, caller), version(), caller, (all) =>
              compute(route, query, noAddressBook, all),
            );
      await sendAnswer(request, response, answer, compression);
    };
  };
}

function isTagged({ tagged = [] }: Route, query: Query): boolean {
  return tagged === 'always' || tagged.some((name) => query.has(name));
}

/**
 * One text for all spellings of a request: the declared parameters in their order, each with all its values, and what
 * else has a part in the answer. Those with less patience are not to end the wait of the others.
 */
function questionOf(
  { path }: Route,
  names: readonly string[],
  query: Query,
  noAddressBook: boolean,
  { timeoutMs }: Caller,
): string {
  let question = `${path} ${noAddressBook} ${timeoutMs}`;
  for (const name of names) {
    const values = query.get(name);
    if (values === undefined) continue;
    // The length in front keeps a value from being taken for several.
    for (const value of values) question += `\n${name} ${value.length} ${value}`;
  }
  return question;
}
