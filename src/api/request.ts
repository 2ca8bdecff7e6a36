/** What a request says about itself besides its parameters: switches, timeout, and whether the caller still waits. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { QueryContext } from '../chain/records.ts';

/** Query parameters by name, each with all its values in order; `name[]` counts as `name`. */
export type Query = Map<string, string[]>;

export interface Switches {
  timeoutMs: number | null;
  noAddressBook: boolean;
  noMetadata: boolean;
  /** Action types that the client knows, in place of what it says in its parameters; a header alone. */
  actionsVersion: string | null;
}

/** The key that a gateway in front counts a request by (streaming v2); empty where there is none. */
export function keyOf(headers: IncomingHttpHeaders): string {
  const sent = headers['x-limiting-key'];
  return typeof sent === 'string' ? sent : '';
}

/** Header fields that Node reads: what stands behind is left out without a word, be it the key or the length of the body. */
export const MOST_HEADERS = 1_000;

export function hasTooManyHeaders({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): boolean {
  return rawHeaders.length > 2 * MOST_HEADERS;
}

/** The path of a request target in lower case, without a slash at the end. */
export function pathOf(url: string): string {
  // A proxy may send the whole address.
  if (!url.startsWith('/')) return URL.canParse(url) ? pathOf(new URL(url).pathname) : url;
  const query = url.indexOf('?');
  const path = (query < 0 ? url : url.slice(0, query)).toLowerCase();
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** Reads the query of a request target. */
export function readQuery(url: string): Query {
  const start = url.indexOf('?');
  return start < 0 ? new Map() : queryOf(url.slice(start + 1));
}

/** Plus signs are spaces, as in HTML forms. */
export function queryOf(text: string): Query {
  const query: Query = new Map();
  for (const [key, value] of new URLSearchParams(text)) {
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

const versionOf = (header: string | string[] | undefined): string | null =>
  typeof header === 'string' && header !== '' ? header : null;

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
    actionsVersion: versionOf(headers['x-actions-version']),
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

/**
 * For who shows more of a row than its form has: the caller's signal, made when it is wanted, and his time.
 * @param nodeTimeoutMs for liteservers
 */
export function wholeRows(caller: Caller, nodeTimeoutMs: number): QueryContext {
  const { timeoutMs } = caller;
  return {
    timeoutMs,
    nodeTimeoutMs,
    get signal() {
      return caller.signal;
    },
  };
}
