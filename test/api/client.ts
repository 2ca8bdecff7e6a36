/** Requests to a running API. Every answer is checked against the contract's schemas. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'vitest';
import { z } from 'zod';
import { isLong, random } from '../chance.ts';
import { requireShelf } from '../shelf.ts';
import { PATIENCE_MS } from '../stack.ts';

/** A list is sent as a repeated name; undefined is not sent. */
export type Query = Record<string, string | number | boolean | readonly string[] | undefined>;

export type Row = Record<string, unknown>;
const rows = z.array(z.record(z.string(), z.unknown()));

export interface Page {
  rows: Row[];
  addressBook: Row;
  nextCursor: string | null | undefined;
}

export interface ApiClient {
  /** The answer of a request that succeeds. */
  get(endpoint: string, query?: Query): Promise<unknown>;
  /** One list of an answer, by its key. */
  page(endpoint: string, key: string, query?: Query): Promise<Page>;
  /** Status and text of a request that is refused. */
  refused(endpoint: string, query?: Query | string): Promise<{ status: number; error: string }>;
}

const RESPONSES = {
  masterchainInfo: 'MasterchainInfo',
  blocks: 'BlocksResponse',
  masterchainBlockShardState: 'BlocksResponse',
  masterchainBlockShards: 'BlocksResponse',
  transactions: 'TransactionsResponse',
  transactionsByMasterchainBlock: 'TransactionsResponse',
  transactionsByMessage: 'TransactionsResponse',
  adjacentTransactions: 'TransactionsResponse',
  messages: 'MessagesResponse',
  accountStates: 'AccountStatesResponse',
  addressBook: 'AddressBook',
  topAccountsByBalance: 'TopAccountsByBalanceResponse',
  decode: 'DecodeResponse',
};
/** The endpoints about blocks, by name. */
export const ENDPOINTS = Object.keys(RESPONSES);

/** The paths of the contract, with their methods in lower case. */
export function contractOperations(): { path: string; method: string }[] {
  const schemas = JSON.parse(readFileSync(join(requireShelf(), 'spec', 'v3', 'schemas.json'), 'utf8'));
  const operations = z.array(z.object({ path: z.string(), method: z.string().toLowerCase() }));
  return operations.parse(schemas.$defs.Endpoints.const);
}

const pageShape = z.looseObject({
  address_book: z.record(z.string(), z.unknown()).default({}),
  next_cursor: z.string().nullish(),
});

export function queryText(query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const item of typeof value === 'object' ? value : [value]) search.append(name, String(item));
  }
  return search.toString();
}

/** `url`: of the HTTP server, without a path. */
export function createApiClient(url: string): ApiClient {
  const ajv = new Ajv2020({ allowUnionTypes: true });
  ajv.addSchema(JSON.parse(readFileSync(join(requireShelf(), 'spec', 'v3', 'schemas.json'), 'utf8')), 'v3');

  const ask = async (
    endpoint: string,
    query: Query | string,
  ): Promise<{ status: number; body: unknown; at: string }> => {
    const at = `/${endpoint}?${typeof query === 'string' ? query : queryText(query)}`;
    const response = await fetch(`${url}/api/v3${at}`, { signal: AbortSignal.timeout(PATIENCE_MS) });
    expect(response.headers.get('content-type'), at).toMatch(/^application\/json/);
    return { status: response.status, body: await response.json(), at };
  };

  const validate = (model: string, body: unknown, at: string): void => {
    const valid = ajv.getSchema(`v3#/$defs/${model}`);
    if (valid === undefined) throw new Error(`no schema ${model}`);
    expect(valid(body) === true ? [] : valid.errors, at).toEqual([]);
  };

  const get = async (endpoint: string, query: Query = {}): Promise<unknown> => {
    const { status, body, at } = await ask(endpoint, query);
    expect([status, status === 200 ? null : body], at).toEqual([200, null]);
    const model = Object.entries(RESPONSES).find(([name]) => name === endpoint)?.[1];
    if (model === undefined) throw new Error(`no endpoint ${endpoint}`);
    // `next_cursor` is this service's own addition, and only where `cursor` is sent.
    validate(model, 'cursor' in query ? withoutCursor(body) : body, at);
    return body;
  };

  return {
    get,
    async page(endpoint, key, query) {
      const body = pageShape.parse(await get(endpoint, query));
      return { rows: rows.parse(body[key]), addressBook: body.address_book, nextCursor: body.next_cursor };
    },
    async refused(endpoint, query = {}) {
      const { status, body, at } = await ask(endpoint, query);
      expect(status, at).toBeGreaterThanOrEqual(400);
      validate('ErrorResponse', body, at);
      return { status, ...z.object({ error: z.string() }).parse(body) };
    },
  };
}

function withoutCursor(body: unknown): unknown {
  const { next_cursor: _, ...rest } = z.looseObject({}).parse(body);
  return rest;
}

/** All rows of a listing, page by page: by `offset`, or by `cursor` from one answer to the next. */
export async function walk(
  client: ApiClient,
  endpoint: string,
  key: string,
  query: Query,
  limit: number,
  how: 'offset' | 'cursor',
): Promise<Row[]> {
  const all: Row[] = [];
  let cursor: string | null = '';
  for (;;) {
    const place: Query = how === 'offset' ? { offset: all.length } : { cursor };
    const page: Page = await client.page(endpoint, key, { ...query, limit, ...place });
    all.push(...page.rows);
    if (how === 'offset') {
      expect(page.nextCursor).toBeUndefined();
      if (page.rows.length < limit) return all;
    } else {
      if (page.nextCursor === null || page.nextCursor === undefined) return all;
      expect(page.rows.length, 'a page before the last is full').toBe(limit);
      cursor = page.nextCursor;
    }
  }
}

export const hashesOf = (rowList: readonly Row[]): unknown[] => rowList.map(({ hash }) => hash);

/** `count` of them, evenly spread from a place by chance, or all when there are fewer. */
export function spread<T>(list: readonly T[], count: number): T[] {
  if (list.length <= count) return [...list];
  const shift = random(1_000) / 1_000;
  return Array.from({ length: count }, (_, n) => list[Math.floor(((n + shift) * list.length) / count)]);
}

export type Sort = 'asc' | 'desc';
const SORTS: readonly Sort[] = ['asc', 'desc'];

/** The orders in which a listing is asked for: one by chance, both in the long run. */
export const someSorts = (): readonly Sort[] => (isLong ? SORTS : [SORTS[random(2)]]);

/** How many rows are asked for when a listing is compared; whole listings are walked by tests of their own. */
export const someRows = (): number => (isLong ? 100 : [5, 20, 100][random(3)]);
