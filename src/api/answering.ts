/** From a request of an API to its answer: what is asked, who has asked it already, and how the answer goes out. */
import type { Registry } from 'prom-client';
import { makeAnswer, sendAnswer } from './answers.ts';
import { durationsOf, requestDurations, watchAnswers, watchClients } from './api-metrics.ts';
import { membersOf, mostBodyBytes, readJson, readMembers } from './body.ts';
import { createCompression } from './compression.ts';
import type { Exchange } from './form.ts';
import type { ApiLimits } from './limits.ts';
import type { Sent } from './parameters.ts';
import { Caller, keyOf, type Query, readQuery, readSwitches } from './request.ts';
import type { Api, Asker, CallsByName, Method, Route } from './route.ts';
import { createSharedAnswers } from './shared-answers.ts';
import { createUntaken, type UntakenOptions } from './untaken.ts';

export interface AnsweringOptions {
  metrics: Registry;
  limits: ApiLimits;
  /**
   * Names the state that answers depend on: another text whenever an answer may be another. Without it every request
   * is answered for itself.
   */
  version?: () => string;
  /** Bytes of whole answers to keep for as long as the version is the same; none by default. */
  keptAnswers?: number;
  /** Differs from the defaults in tests only. */
  untaken?: UntakenOptions;
}

/** Each takes a thread of libuv's four. */
const PACKED_AT_ONCE = 2;

/** Answers one request, or rejects with what went wrong before anything was sent. */
export type Handler = (exchange: Exchange) => Promise<void>;

/** By method. */
export type Methods = ReadonlyMap<string, Handler>;

/** Makes the handlers of APIs, by path below the base in lower case; they share what is kept. */
export function createAnswering(options: AnsweringOptions): (api: Api) => ReadonlyMap<string, Methods> {
  const { limits, version, metrics, keptAnswers = 0 } = options;
  const shared = createSharedAnswers({ maxBytes: keptAnswers });
  const compression = createCompression(PACKED_AT_ONCE);
  const untaken = createUntaken(options.untaken);
  const sending = { compression, untaken };
  const durations = requestDurations(metrics);
  watchAnswers(metrics, { shared, compression });
  watchClients(metrics, untaken);

  async function answer(route: Route<Asker>, sent: Sent, asker: Asker, exchange: Exchange, base: string) {
    const { context } = asker;
    const make = async (waiting: Caller) =>
      makeAnswer(await route.answer(sent, { ...asker, context: waiting }), isTagged(route, sent));
    const made =
      version === undefined || route.acts === true || route.live === true
        ? await make(context)
        : await shared.get(questionOf(base, route, sent, asker), version(), context, make);
    await sendAnswer(made, exchange, sending);
  }

  /** Who asks, and until when he is there to be answered. */
  function receive(
    { request, response, began }: Exchange,
    query: Query,
    ended: (status: number, began: number) => void,
  ): Asker {
    const switches = readSwitches(request.headers, query);
    const context = new Caller(Math.min(switches.timeoutMs ?? limits.queryTimeoutMs, limits.queryTimeoutMs));
    response.on('close', () => {
      if (!response.writableFinished) context.leave(new Error('the caller has hung up'));
      ended(response.statusCode, began);
    });
    return { switches, context, key: keyOf(request.headers) };
  }

  function handlerOf({ base, most }: Api, route: Route<Asker>, method: Method): Handler {
    const ended = durationsOf(durations, `${base}${route.path}`);
    const ofAll = mostBodyBytes(limits, most);
    const maxBytes = Math.min(route.maxBodyBytes ?? ofAll, ofAll);
    return async (exchange) => {
      const { request } = exchange;
      const query = readQuery(request.url ?? '');
      const asker = receive(exchange, query, ended);
      const sent = method === 'POST' ? await readMembers(request, maxBytes, route.needsBody) : query;
      await answer(route, sent, asker, exchange, base);
    };
  }

  function callsHandler({ base, routes, most }: Api, { path, read, unknown }: CallsByName): Handler {
    const ended = durationsOf(durations, `${base}${path}`);
    const called = routes.filter(({ methods }) => methods.includes('POST'));
    const byName = new Map(called.map((route) => [route.path.slice(1).toLowerCase(), route]));
    return async (exchange) => {
      const asker = receive(exchange, readQuery(exchange.request.url ?? ''), ended);
      exchange.call = await readJson(exchange.request, mostBodyBytes(limits, most));
      const { name, parameters } = read(exchange.call);
      const route = byName.get(name.toLowerCase());
      if (route === undefined) throw unknown(name);
      await answer(route, membersOf(parameters), asker, exchange, base);
    };
  }

  return (api) => {
    const handlers = new Map<string, Map<string, Handler>>();
    const add = (path: string, method: Method, handler: Handler): void => {
      const byMethod = handlers.get(path.toLowerCase()) ?? new Map<string, Handler>();
      handlers.set(path.toLowerCase(), byMethod.set(method, handler));
    };
    for (const route of api.routes) {
      for (const method of route.methods) add(route.path, method, handlerOf(api, route, method));
    }
    if (api.calls) add(api.calls.path, 'POST', callsHandler(api, api.calls));
    return handlers;
  };
}

function isTagged({ tagged = [] }: Route<Asker>, sent: Sent): boolean {
  return tagged === 'always' || tagged.some((name) => sent.has(name));
}

/**
 * Bigints have no JSON of their own; texts, which all of a query are, are written some times as fast without a thought
 * of them.
 */
function jsonOf(value: unknown): string {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return JSON.stringify(value);
  return JSON.stringify(value, (_name, part: unknown) =>
    typeof part === 'bigint' ? { integer: part.toString() } : part,
  );
}

/**
 * One text for all spellings of a request: the declared parameters in their order, each with all that was sent of it,
 * and what else has a part in the answer. Those with less patience are not to end the wait of the others.
 */
function questionOf(
  base: string,
  { path, parameters }: Route<Asker>,
  sent: Sent,
  { switches, context }: Asker,
): string {
  const { noAddressBook, noMetadata, actionsVersion } = switches;
  let question = `${base}${path} ${noAddressBook} ${noMetadata} ${context.timeoutMs} ${JSON.stringify(actionsVersion)}`;
  for (const name of Object.keys(parameters.shape)) {
    const value = sent.get(name);
    if (value === undefined) continue;
    // As JSON one value is not taken for several, nor a text for a number.
    question += `\n${name} ${jsonOf(value)}`;
  }
  return question;
}
