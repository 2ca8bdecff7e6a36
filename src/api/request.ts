/** What a request says about itself besides its parameters: switches, timeout, and whether the caller still waits. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { QueryContext } from '../chain/records.ts';

/** Query parameters by name, each with all its values in order; `name[]` counts as `name`. */
export type Query = Map<string, string[]>;

export interface Switches {
  timeoutMs: number | null;
  noAddressBook: boolean;
  noMetadata: boolean;
}

/** Reads the query of a request target. Plus signs are spaces, as in HTML forms. */
export function readQuery(url: string): Query {
  const query: Query = new Map();
  const start = url.indexOf('?');
  if (start < 0) return query;
  for (const [key, value] of new URLSearchParams(url.slice(start + 1))) {
    const name = key.endsWith('[]') ? key.slice(0, -2) : key;
    const values = query.get(name);
    if (values === undefined) query.set(name, [value]);
    else values.push(value);
  }
  return query;
}

const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const FALSE = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** Go's `strconv.ParseBool`: null for anything else. */
export function parseBool(text: string): boolean | null {
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : null;
}

function parseTimeout(text: string): number | null {
  return /^\d{1,9}$/.test(text) && Number(text) > 0 ? Number(text) : null;
}

/** Each switch is a header or a query parameter; the header wins, and what does not parse is as if absent. */
export function readSwitches(headers: IncomingHttpHeaders, query: Query): Switches {
  const read = <T>(header: string, name: string, parse: (text: string) => T | null): T | null => {
    const sent = headers[header];
    const fromHeader = typeof sent === 'string' ? parse(sent) : null;
    if (fromHeader !== null) return fromHeader;
    const value = query.get(name)?.at(-1);
    return value === undefined ? null : parse(value);
  };
  return {
    timeoutMs: read('x-timeout', 'x_timeout', parseTimeout),
    noAddressBook: read('x-no-address-book', 'x_no_address_book', parseBool) ?? false,
    noMetadata: read('x-no-metadata', 'x_no_metadata', parseBool) ?? false,
  };
}

/**
 * Who waits for an answer, until he leaves. The signal is made when somebody wants it: most answers come without, and
 * making two for each request takes longer than many an answer. Rows are shown by their forms.
 */
export class Caller implements QueryContext {
  readonly timeoutMs: number;
  readonly formsSuffice = true;
  #abort: AbortController | null = null;
  #left: { reason: unknown } | null = null;
  #onLeave: ((reason: unknown) => void) | null = null;

  constructor(timeoutMs: number) {
    this.timeoutMs = timeoutMs;
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#left !== null) this.#abort.abort(this.#left.reason);
    return this.#abort.signal;
  }

  /** Calls back once, now if he has left already. One call is kept, the last. */
  onLeave(call: (reason: unknown) => void): void {
    if (this.#left === null) this.#onLeave = call;
    else call(this.#left.reason);
  }

  leave(reason: unknown): void {
    if (this.#left !== null) return;
    this.#left = { reason };
    this.#abort?.abort(reason);
    this.#onLeave?.(reason);
  }

  /** @throws the reason */
  throwIfLeft(): void {
    if (this.#left !== null) throw this.#left.reason;
  }
}

/** `Server-timing: app;dur=<ms>ms` and `X-API-Version` on whatever answer is sent, by whomever. */
export function stampAnswer(response: ServerResponse, began: number, apiVersion: string): void {
  const writeHead = response.writeHead;
  response.writeHead = function stamped(this: ServerResponse, ...parts: Parameters<ServerResponse['writeHead']>) {
    response.setHeader('Server-timing', `app;dur=${(performance.now() - began).toFixed(3)}ms`);
    response.setHeader('X-API-Version', apiVersion);
    return writeHead.apply(this, parts);
  } as ServerResponse['writeHead'];
}

const ALLOWED_HEADERS =
  'Content-Type, If-None-Match, X-Api-Key, X-Timeout, X-No-Address-Book, X-No-Metadata, X-Debug-Request, X-Actions-Version';

/** Any web page may read the API. True for preflight requests, which are answered thereby. */
export function allowOrigins(request: IncomingMessage, response: ServerResponse): boolean {
  response.setHeader('Access-Control-Allow-Origin', '*');
  response.setHeader('Access-Control-Expose-Headers', 'X-API-Version, Server-timing, Retry-After, ETag');
  if (request.method !== 'OPTIONS') return false;
  response.setHeader('Access-Control-Allow-Methods', 'GET, HEAD, POST, OPTIONS');
  response.setHeader('Access-Control-Allow-Headers', ALLOWED_HEADERS);
  response.setHeader('Access-Control-Max-Age', '86400');
  response.statusCode = 204;
  response.end();
  return true;
}
