import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Overloaded } from '../../../clickhouse/gate.ts';
import { DEFAULT_LIMITS } from '../../../test/default-limits.ts';
import { createFakeSource } from '../../../test/fake-source.ts';
import { requireShelf, shelf } from '../../../test/shelf.ts';
import { smallPool } from '../../../test/small-pool.ts';
import { statesOf } from '../../../test/states.ts';
import { noLiteservers } from '../../node/liteservers.ts';
import { createViews } from '../../state/view.ts';
import { createContracts } from '../contracts.ts';
import { createFront } from '../front.ts';
import { openApiDocument } from '../openapi.ts';
import { type Api, bind } from '../route.ts';
import { int32 } from '../v3/parameters.ts';
import { ENVELOPE, JSON_RPC } from './envelope.ts';
import { required } from './parameters.ts';
import { createRenderings } from './render/renderings.ts';
import { route } from './route.ts';

const double = route({
  path: '/getDouble',
  tag: 'x',
  summary: '',
  parameters: z.object({ number: int32('A number.') }),
  response: z.int(),
  async answer({ number }) {
    const given = required(number, 'number');
    if (given === 429) throw new Overloaded(1, 1);
    if (given === 500) throw new Error('broken');
    return String(given * 2);
  },
});
const { source } = createFakeSource({});
const liteservers = noLiteservers();
const states = statesOf(source);
const api: Api = {
  base: '/api/v2',
  version: '2.1.0',
  document: { title: '', description: '', headers: [], failures: {} },
  form: ENVELOPE,
  routes: [
    bind(double, ({ context }) => ({
      source,
      liteservers,
      states,
      renderings: createRenderings(0),
      contracts: createContracts(states, smallPool(), createViews(states, { unknownBlocks: () => undefined })),
      context,
    })),
  ],
  calls: JSON_RPC,
};

let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer(
    createFront({
      apis: [api],
      limits: DEFAULT_LIMITS,
      metrics: new Registry(),
      report: () => undefined,
      version: () => 'same',
      keptAnswers: 1_000_000,
    }),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/api/v2`;
});
afterAll(() => void server.close());

async function ask(path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(`${url}/${path}`, { method, ...(text === undefined ? {} : { body: text }) });
  return { status: response.status, answer: z.looseObject({}).parse(await response.json()), headers: response.headers };
}

const DONE = /^\d{10}:_:\d+\.\d{3}$/;
const call = (more: object) => ({ jsonrpc: '2.0', id: 1, method: 'getDouble', params: { number: 4 }, ...more });

describe('the envelope', () => {
  it('is around what is asked by query, by body and by name', async () => {
    const result = { ok: true, result: 8, '@extra': expect.stringMatching(DONE) };
    const asked = await ask('getDouble?number=4&api_key=x');
    expect([asked.status, asked.answer]).toEqual([200, result]);
    expect(asked.headers.get('x-api-version')).toBe('2.1.0');
    expect((await ask('getDouble', { number: 4 })).answer).toEqual(result);
    for (const id of [1, '1', 'a"b', null, true, [], {}, { a: [false, '1'] }]) {
      expect((await ask('jsonRPC', call({ id }))).answer).toEqual({ ...result, jsonrpc: '2.0', id });
    }
    // Of other languages, whose integers have 64 bits.
    const large = '{"id":-1795890486123456789,"method":"getDouble","params":{"number":4}}';
    const response = await fetch(`${url}/jsonRPC`, { method: 'POST', body: large });
    expect(await response.text()).toContain(',"jsonrpc":"2.0","id":-1795890486123456789}');
    const within = '{"id":[{"a":-1795890486123456789}],"method":"getDouble","params":{"number":4}}';
    const echoed = await fetch(`${url}/jsonRPC`, { method: 'POST', body: within });
    expect(await echoed.text()).toContain(',"jsonrpc":"2.0","id":[{"a":-1795890486123456789}]}');
    const deep = `${'['.repeat(4000)}${']'.repeat(4000)}`;
    const nested = `{"id":${deep},"method":"getDouble","params":{"number":4}}`;
    expect(await (await fetch(`${url}/jsonRPC`, { method: 'POST', body: nested })).text()).toContain(`"id":${deep}}`);
    const { id: _, ...nameless } = call({});
    expect((await ask('jsonRPC', nameless)).answer).toEqual({ ...result, jsonrpc: '2.0' });
  });

  it.each([
    ['getDouble', undefined, 'GET', 422, 'failed to parse get request: number required'],
    ['getDouble', {}, 'POST', 422, 'failed to parse post request: number required'],
    ['getDouble?number=x', undefined, 'GET', 422, 'failed to parse get request: failed to parse number'],
    ['getDouble', { number: 'x' }, 'POST', 422, 'failed to parse post request: failed to parse number'],
    ['getDouble', [], 'POST', 422, 'failed to parse post request: request body is not a JSON object'],
    ['getDouble?number=500', undefined, 'GET', 500, 'internal server error: broken'],
    ['getDouble', { number: 1 }, 'DELETE', 405, 'unsupported http method: DELETE'],
    ['jsonRPC', undefined, 'GET', 405, 'method GET is not supported'],
    ['jsonrpc', call({}), 'DELETE', 405, 'method DELETE is not supported'],
    ['nothing', undefined, 'GET', 404, 'Not Found'],
    ['nothing/at/all', {}, 'POST', 404, 'Not Found'],
    ['jsonRPC', [call({})], 'POST', 422, 'method required'],
  ])('is around the refusal of %s %j (%s)', async (path, body, method, code, error) => {
    const { status, answer } = await ask(path, body, method);
    expect([status, answer]).toMatchObject([code, { ok: false, error, code, '@extra': '_' }]);
    if (path !== 'jsonRPC' || method !== 'POST') expect(Object.keys(answer)).toEqual(['ok', 'error', 'code', '@extra']);
  });

  it.each([
    [call({ method: 'getTriple' }), 'Unknown method'],
    [call({ params: [1] }), 'params must contain an object'],
    [call({ params: {} }), 'failed to parse post request: number required'],
    [call({ params: null }), 'failed to parse post request: number required'],
    [call({ params: [] }), 'failed to parse post request: number required'],
    [call({ params: undefined }), 'failed to parse post request: number required'],
  ])('is around the refusal of the call %j', async (body, error) => {
    const { status, answer } = await ask('jsonRPC', body);
    const refusal = { ok: false, error, code: 422, '@extra': '_', jsonrpc: '2.0', id: 1 };
    expect([status, answer]).toEqual([422, refusal]);
  });

  it('is documented with the names that can be called', () => {
    const { paths } = z.looseObject({ paths: z.record(z.string(), z.looseObject({})) }).parse(openApiDocument(api));
    expect(paths['/jsonRPC'].post).toMatchObject({
      operationId: 'jsonRPC',
      requestBody: {
        content: { 'application/json': { schema: { properties: { method: { enum: ['getDouble'] } } } } },
      },
      responses: { 200: { content: { 'application/json': { schema: { required: ['ok', 'result', '@extra'] } } } } },
    });
  });

  it('says in both places that there are too many requests', async () => {
    const { status, answer, headers } = await ask('getDouble?number=429');
    const text = 'Ratelimit exceed';
    expect([status, answer]).toEqual([429, { ok: false, error: text, result: text, code: 429, '@extra': '_' }]);
    expect(headers.get('retry-after')).toBe('1');
  });
});

describe.skipIf(shelf === null)('the forms of the contract', () => {
  it.each([
    ['getDouble?number=4', undefined, 'SuccessEnvelope'],
    ['jsonRPC', call({}), 'SuccessEnvelope'],
    ['getDouble?number=429', undefined, 'ErrorResponse'],
    ['jsonRPC', call({ params: {} }), 'ErrorResponse'],
    ['jsonRPC', 'no json', 'ErrorResponse'],
  ])('%s %j: %s', async (path, body, name) => {
    const ajv = new Ajv2020({ strict: false });
    ajv.addSchema(JSON.parse(readFileSync(`${requireShelf()}/spec/v2/schemas.json`, 'utf8')), 'v2');
    const validate = ajv.getSchema(`v2#/$defs/${name}`)!;
    const { answer } = await ask(path, body);
    expect(validate(answer), ajv.errorsText(validate.errors)).toBe(true);
  });
});
