import { connect } from 'node:net';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Overloaded } from '../../clickhouse/gate.ts';
import { HeadBehind } from '../../clickhouse/queries/head.ts';
import { BadCursor } from '../../clickhouse/queries/keys.ts';
import { TooMuch } from '../../clickhouse/queries/reading.ts';
import { type ApiServer, serveApi } from '../../test/api-server.ts';
import { createFakeSource } from '../../test/fake-source.ts';
import { madeTransaction } from '../../test/made-chain.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import type { QueryContext } from '../chain/records.ts';
import type { AppOptions } from './app.ts';
import { ApiError } from './errors.ts';

const ACCOUNT = '0:09331D93672E0054952D514A98C3121971894BAC88281CD698423B7DD82063A5';
const ROW = { user_friendly: 'UQAJMx2TZy4AVJUtUUqYwxIZcYlLrIgoHNaYQjt92CBjpZlr', domain: null, interfaces: [] };

let server: ApiServer;
let fake: ReturnType<typeof createFakeSource>;

async function start(answers: Partial<ChainSource> = {}, options: Partial<AppOptions> = {}) {
  fake = createFakeSource(answers);
  server = await serveApi(fake.source, options);
}
const get = (path: string, init: RequestInit = {}) => fetch(server.url + path, { redirect: 'manual', ...init });
const Answer = z.object({ address_book: z.unknown() });
const bookOf = async (path: string, headers: Record<string, string> = {}) =>
  Answer.parse(await (await get(path, { headers })).json()).address_book;

afterEach(() => server.close());

describe('paths and methods', () => {
  it.each(['/api/v3/transactions', '/api/v3/TRANSACTIONS', '/api/v3/transactions/', '/API/v3/transactions?limit=1'])(
    'answers %s',
    async (path) => {
      await start();
      const response = await get(path);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(response.headers.get('x-api-version')).toMatch(/^\d+\.\d+\.\d+$/);
      expect(response.headers.get('server-timing')).toMatch(/^app;dur=[\d.]+ms$/);
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
      expect(await response.json()).toEqual({ transactions: [], address_book: {} });
    },
  );

  it('answers HEAD without a body', async () => {
    await start();
    const response = await get('/api/v3/transactions', { method: 'HEAD' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-length')).toBe(String('{"transactions":[],"address_book":{}}'.length));
    expect(await response.text()).toBe('');
  });

  it.each(['/api/v3/noSuchEndpoint', '/api/v3/transactions/extra', '/elsewhere', '/api/v22/x'])(
    'gives 404 for %s',
    async (path) => {
      await start();
      const response = await get(path);
      expect(response.status).toBe(404);
      expect(await response.json()).toEqual({ error: expect.any(String) });
    },
  );

  it.each(['POST', 'PUT', 'DELETE'])('gives 405 for %s on a known path', async (method) => {
    await start();
    const response = await get('/api/v3/transactions', { method, body: '{}' });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
    expect(await response.json()).toEqual({ error: 'Method Not Allowed' });
  });

  it('gives 400 for a path that cannot be decoded', async () => {
    await start();
    const response = await get('/api/v3/%zz');
    expect([400, 404]).toContain(response.status);
    expect(await response.json()).toEqual({ error: expect.any(String) });
  });

  it('lets web pages of any origin in', async () => {
    await start();
    const response = await get('/api/v3/transactions', { method: 'OPTIONS' });
    expect(response.status).toBe(204);
    const allowed = response.headers.get('access-control-allow-headers')?.split(', ');
    // Of a stream that is gone on with by a page of its own making; of one that a client of TON Center's reads.
    const ofStreams = ['Last-Event-ID', 'Cache-Control', 'Authorization'];
    expect(allowed).toEqual(expect.arrayContaining(['X-Api-Key', ...ofStreams]));
  });

  it.each(['/', '/api/v3', '/api/v3/'])('sends %s to the documentation', async (path) => {
    await start();
    const response = await get(path);
    expect(response.status).toBe(301);
    expect(response.headers.get('location')).toBe('/api/v3/index.html');
  });
});

describe('failures', () => {
  const failing = (error: unknown) => start({ transactions: () => Promise.reject(error) });

  it('asks to come back when the queue of queries is full', async () => {
    await failing(new Overloaded(16, 64));
    const response = await get('/api/v3/transactions');
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(server.reported).toEqual([]);
  });

  it.each([
    [2.5, '3'],
    [0, '1'],
  ])('asks to come back in whole seconds, at least one: %f', async (retryAfterSeconds, told) => {
    await failing(new ApiError(429, 'too many', { retryAfterSeconds }));
    expect((await get('/api/v3/transactions')).headers.get('retry-after')).toBe(told);
  });

  it('asks to come back when a step takes too long to be written, and counts it', async () => {
    const metrics = new Registry();
    const error = new HeadBehind('step 8 is being written, the head is 7');
    await start({ topBalances: () => Promise.reject(error) }, { metrics });
    const response = await get('/api/v3/topAccountsByBalance');
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
    const text = 'not ready: step 8 is being written, the head is 7; try again soon';
    expect(await response.json()).toEqual({ error: text });
    expect(server.reported).toEqual([]);
    const series = 'tonstream_api_request_seconds_count{path="/api/v3/topAccountsByBalance",status="503"} 1';
    await expect.poll(() => metrics.metrics()).toContain(series);
  });

  it('refuses a wrong cursor', async () => {
    await failing(new BadCursor('cursor is not valid'));
    const response = await get('/api/v3/transactions?cursor=x');
    expect(response.status).toBe(422);
    expect(await response.json()).toEqual({ error: 'cursor is not valid' });
  });

  it('says what to do about a question that takes too much', async () => {
    await failing(new TooMuch('this takes more memory than one request may: ask for less'));
    const response = await get('/api/v3/transactions?offset=100000000');
    expect(response.status).toBe(422);
    expect(await response.json()).toEqual({ error: 'this takes more memory than one request may: ask for less' });
    expect(server.reported).toEqual([]);
  });

  it('reports what it is to blame for', async () => {
    const error = new Error('storage is gone');
    await failing(error);
    const response = await get('/api/v3/transactions');
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ error: 'internal server error: storage is gone' });
    expect(server.reported).toEqual([error]);
  });

  it('reports no failure of its own before anything is indexed', async () => {
    await start({ masterchainInfo: async () => null });
    const response = await get('/api/v3/masterchainInfo');
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ error: 'internal server error: no masterchain block is indexed' });
    expect(server.reported).toEqual([]);
  });

  it('refuses large bodies', async () => {
    await start();
    const response = await get('/api/v3/transactions', { method: 'POST', body: Buffer.alloc(5 * 1024 * 1024) });
    expect(response.status).toBe(413);
  });

  it.each([
    ['/blocks?shard=8000000000000000', 'shard needs workchain'],
    ['/transactions?seqno=5&workchain=0', 'seqno needs workchain and shard'],
    ['/transactionsByMessage?direction=in', 'at least one of msg_hash, body_hash, opcode should be specified'],
    ['/adjacentTransactions', 'hash is required'],
    ['/accountStates', 'address of account is required'],
    ['/accountStates?address=', 'address of account is required'],
    ['/addressBook', 'at least 1 address required'],
  ])('%s: 422', async (path, error) => {
    await start();
    const response = await get(`/api/v3${path}`);
    expect(response.status).toBe(422);
    expect(await response.json()).toEqual({ error });
    expect(fake.asked).toEqual([]);
  });

  it.each([
    ['/masterchainBlockShardState?seqno=abc', 'blocks not found'],
    ['/masterchainBlockShards?seqno=4294967296', 'blocks not found'],
    ['/masterchainBlockShards?seqno=5', 'blocks not found'],
    ['/transactionsByMasterchainBlock', 'masterchain block 0 not found'],
    ['/transactions?mc_seqno=-1', 'masterchain block -1 not found'],
    ['/transactions?mc_seqno=', 'masterchain block 0 not found'],
    [`/adjacentTransactions?hash=${'0'.repeat(64)}`, 'adjacent transactions not found'],
  ])('%s: 404', async (path, error) => {
    await start();
    const response = await get(`/api/v3${path}`);
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({ error });
  });
});

describe('switches', () => {
  const account = Buffer.from(`80000000${ACCOUNT.slice(2)}`, 'hex');
  const record = {
    account,
    hash: Buffer.alloc(32),
    status: 'uninit' as const,
    balance: '100000',
    extraCurrencies: {},
    frozenHash: null,
    codeHash: null,
    dataHash: null,
    lastTransactionHash: Buffer.alloc(32),
    lastTransactionLt: '1',
    codeBoc: null,
    dataBoc: null,
    methods: null,
  };
  const path = `/api/v3/accountStates?address=${ACCOUNT.toLowerCase()}`;
  const states = { accountStates: async () => [record] };

  it('fills the address book', async () => {
    await start(states);
    expect(await bookOf(path)).toEqual({ [ACCOUNT]: ROW });
  });

  it('sets the test flag on a test network', async () => {
    await start(states, { testnet: () => true });
    expect(await bookOf(path)).toMatchObject({ [ACCOUNT]: { user_friendly: expect.stringMatching(/^0Q/) } });
  });

  it.each([
    ['', { 'X-No-Address-Book': 'true' }, true],
    ['&x_no_address_book=1', {}, true],
    ['&x_no_address_book=1', { 'X-No-Address-Book': 'F' }, false],
    ['&x_no_address_book=1', { 'X-No-Address-Book': 'what' }, true],
    ['&x_no_address_book=yes', {}, false],
  ] as [string, Record<string, string>, boolean][])('leaves the book empty: %s %j', async (query, headers, empty) => {
    await start(states);
    expect(await bookOf(path + query, headers)).toEqual(empty ? {} : { [ACCOUNT]: ROW });
    // The states say all that the book does.
    expect(fake.asked.some(({ method }) => method === 'book')).toBe(false);
  });

  it.each([true, false])('does not ask for a book that is not wanted: %s', async (unwanted) => {
    const rows = [madeTransaction({ name: 'a', mcSeqno: 1 })];
    await start({ transactions: async () => ({ rows, nextCursor: null }) });
    const book = await bookOf(`/api/v3/transactions?x_no_address_book=${unwanted}`);
    expect(JSON.stringify(book) === '{}').toBe(unwanted);
    expect(fake.asked.some(({ method }) => method === 'book')).toBe(!unwanted);
  });

  it.each([
    ['', {}, 3000],
    ['?x_timeout=50', {}, 50],
    ['?x_timeout=50', { 'X-Timeout': '70' }, 70],
    ['?x_timeout=50', { 'X-Timeout': 'soon' }, 50],
    ['?x_timeout=99999', {}, 3000],
  ])('caps the timeout: %s %j', async (query, headers, timeoutMs) => {
    await start();
    await get(`/api/v3/topAccountsByBalance${query}`, { headers: { ...headers } });
    expect(fake.asked[0].args[1]).toMatchObject({ timeoutMs });
  });

  it('tells the keys of the book by the spelling asked for', async () => {
    await start();
    const spellings = [ACCOUNT, ACCOUNT.toLowerCase(), 'xx', `${ACCOUNT},${ACCOUNT}`, 'xx'];
    const query = spellings.map((text) => `address=${encodeURIComponent(text)}`).join('&');
    const unreadable = { user_friendly: null, domain: null, interfaces: [] };
    expect(await (await get(`/api/v3/addressBook?${query}`)).json()).toEqual({
      [ACCOUNT]: ROW,
      [ACCOUNT.toLowerCase()]: ROW,
      xx: unreadable,
      [`${ACCOUNT},${ACCOUNT}`]: unreadable,
    });
  });

  it('names the next page only when asked for paging by cursor', async () => {
    await start({ blocks: async () => ({ rows: [], nextCursor: 'a"b' }) });
    expect(await (await get('/api/v3/blocks')).json()).toEqual({ blocks: [] });
    expect(await (await get('/api/v3/blocks?cursor=')).json()).toEqual({ blocks: [], next_cursor: 'a"b' });
    expect(fake.asked.map(({ args }) => args[0])).toMatchObject([{ cursor: undefined }, { cursor: '' }]);
  });

  it('takes a thousand addresses in one request', async () => {
    await start(states);
    const query = Array.from({ length: 1000 }, (_, i) => `address=0:${i.toString(16).padStart(64, '0')}`).join('&');
    expect((await get(`/api/v3/accountStates?${query}`)).status).toBe(200);
    expect((await get(`/api/v3/accountStates?${query}&address=${ACCOUNT}`)).status).toBe(422);
  });
});

describe('callers that hang up', () => {
  it('ends their queries', async () => {
    let begun: (context: QueryContext) => void = () => {};
    const context = new Promise<QueryContext>((resolve) => {
      begun = resolve;
    });
    await start({
      transactions: (_filter, asked) => {
        begun(asked);
        return new Promise((_resolve, reject) => {
          asked.signal.addEventListener('abort', () =>
            reject(Object.assign(new Error('gone'), { name: 'AbortError' })),
          );
        });
      },
    });
    const socket = connect(server.port, '127.0.0.1');
    socket.write('GET /api/v3/transactions HTTP/1.1\r\nHost: x\r\n\r\n');
    const { signal } = await context;
    expect(signal.aborted).toBe(false);
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    socket.destroy();
    await aborted;
    expect(server.reported).toEqual([]);
    expect((await get('/healthcheck')).status).toBe(200);
  });

  it('does not end a query that was answered', async () => {
    await start();
    await (await get('/api/v3/transactions')).text();
    const [{ args }] = fake.asked;
    expect(args[1]).toMatchObject({ signal: { aborted: false } });
  });
});

describe('service paths', () => {
  it('says when it can serve', async () => {
    await start();
    const response = await get('/healthcheck');
    expect([response.status, await response.text()]).toEqual([200, 'OK']);
  });

  it('says why it cannot', async () => {
    await start({}, { health: () => ({ ok: false, reason: 'three blocks could not be read' }) });
    const response = await get('/healthcheck');
    expect([response.status, await response.text()]).toEqual([503, 'three blocks could not be read']);
  });

  it('prints status and metrics', async () => {
    await start();
    expect(await (await get('/status')).json()).toEqual({ log: { mc_seqno: 7 } });
    await (await get('/api/v3/transactions')).text();
    expect(await (await get('/metrics')).text()).toContain(
      'tonstream_api_request_seconds_count{path="/api/v3/transactions",status="200"} 1',
    );
  });
});
