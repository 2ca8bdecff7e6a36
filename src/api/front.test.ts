/** Methods, bodies and forms of APIs, with operations made for it. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { DEFAULT_LIMITS } from '../../test/default-limits.ts';
import { PLAIN_FORM } from './form.ts';
import { createFront, type FrontOptions } from './front.ts';
import { openApiDocument } from './openapi.ts';
import { type Api, declare } from './route.ts';
import { int32, refuse, shard, texts } from './v3/parameters.ts';

const DOCUMENT = { title: '', description: '', headers: [], failures: { 422: 'No.' } };
let acted = 0;

const read = declare(
  {
    path: '/read',
    methods: ['GET', 'POST'],
    tag: 'x',
    summary: '',
    parameters: z.object({ words: texts('Words.', 3), number: int32('A number.'), shard: shard('A shard.') }),
    response: z.unknown(),
    answer: async (parameters) => JSON.stringify({ ...parameters, acted: ++acted }),
  },
  refuse,
);
const act = declare(
  {
    path: '/act',
    methods: ['POST'],
    tag: 'x',
    summary: '',
    parameters: z.object({ stack: z.array(z.tuple([z.string(), z.string()])).meta({ description: 'A stack.' }) }),
    response: z.unknown(),
    maxBodyBytes: 100,
    acts: true,
    answer: async ({ stack }) => JSON.stringify({ stack, acted: ++acted }),
  },
  refuse,
);
const api: Api = { base: '/made', version: '1.2.3', document: DOCUMENT, form: PLAIN_FORM, routes: [read, act] };

const NODE_MAJOR = Number(process.versions.node.split('.')[0]);

let close = (): void => undefined;
afterEach(() => {
  close();
  acted = 0;
});

async function start(options: Partial<FrontOptions> = {}): Promise<string> {
  const metrics = new Registry();
  const front = createFront({ apis: [api], limits: DEFAULT_LIMITS, metrics, report: () => undefined, ...options });
  const server = createServer(front).listen(0, '127.0.0.1');
  await once(server, 'listening');
  close = () => {
    server.close();
    server.closeAllConnections();
  };
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/made`;
}

async function post(url: string, body: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { method: 'POST', body, headers });
  return [response.status, await response.json()];
}

it('refuses requests of which not all header fields are read', async () => {
  const url = await start();
  const withHeaders = async (count: number): Promise<unknown[]> => {
    const headers = Object.fromEntries(Array.from({ length: count }, (_, i) => [`X-${i}`, 'x']));
    const response = await fetch(`${url}/read`, { headers });
    return [response.status, await response.text()];
  };
  expect(await withHeaders(900)).toEqual([200, expect.stringContaining('"acted":1')]);
  // Node 22 and 24 refuse them themselves, without a word.
  const words = NODE_MAJOR >= 22 ? '' : '{"error":"request has more than 1000 header fields"}';
  expect(await withHeaders(1_100)).toEqual([431, words]);
});

describe('bodies', () => {
  const sent = { words: ['a,b', 'c'], number: -5, shard: 'c000000000000000' };

  it('have the same parameters as the query, as JSON of any type or as a form', async () => {
    const url = await start();
    const query = 'words=a,b&words=c&number=-5&shard=-4611686018427387904';
    expect(await (await fetch(`${url}/read?${query}`)).json()).toEqual({ ...sent, acted: 1 });
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    expect(await post(`${url}/read`, query, form)).toEqual([200, { ...sent, acted: 2 }]);
    const json = '{"words":["a,b","c"],"number":-5,"shard":-4611686018427387904,"what":{},"__proto__":{"words":1}}';
    expect(await post(`${url}/read`, json)).toEqual([200, { ...sent, acted: 3 }]);
    // Each of its digits counts, whatever stands in texts beside it.
    const exact = String.raw`{"words":["\":1234567890123456789}"],"number":-5,"shard":-4611686018427387905}`;
    const told = { words: ['":1234567890123456789}'], number: -5, shard: 'bfffffffffffffff' };
    expect(await post(`${url}/read`, exact)).toEqual([200, { ...told, acted: 4 }]);
    expect(await post(`${url}/READ/?number=7`, json, form)).toEqual([200, { ...sent, acted: 5 }]);
    expect(await post(`${url}/read`, '{"number":"7","words":null}')).toEqual([200, { number: 7, words: [], acted: 6 }]);
    expect(await post(`${url}/read`, '')).toEqual([200, { words: [], acted: 7 }]);
  });

  it.each([
    ['[]', 'request body is not a JSON object'],
    ['null', 'request body is not a JSON object'],
    ['{"number":{}}', 'failed to decode: schema: error converting value for "number"'],
    ['{"number":[]}', 'failed to decode: schema: error converting value for "number"'],
    ['{"number":1.5}', 'failed to decode: schema: error converting value for "number"'],
    ['{"number":1e300}', 'failed to decode: schema: error converting value for "number"'],
    ['{"words":[["a"]]}', 'failed to decode: schema: error converting value for "words"'],
  ])('%s is refused', async (body, error) => {
    expect(await post(`${await start()}/read`, body)).toEqual([422, { error }]);
  });

  it('are refused where they are nested deeper than what reads them can follow', async () => {
    const nested = (depth: number): string => `{"words":${'['.repeat(depth)}"]\\"]"${']'.repeat(depth)}}`;
    expect(await post(`${await start()}/read`, nested(10_000))).toEqual([
      422,
      { error: 'request body is nested deeper than 4096' },
    ]);
    const error = 'failed to decode: schema: error converting value for "words"';
    expect(await post(`${await start()}/read`, nested(4_000))).toEqual([422, { error }]);
    // As long, and flat.
    expect(await post(`${await start()}/read`, `{"number":1,"x":"${'['.repeat(10_000)}"}`)).toMatchObject([
      200,
      { number: 1 },
    ]);
  });

  it('that are no JSON are refused with the reason', async () => {
    const [status, answer] = await post(`${await start()}/read`, '{"number":');
    expect([status, answer]).toEqual([422, { error: expect.stringMatching(/^request body is not JSON: .*JSON/) }]);
  });

  it('have members that are no texts', async () => {
    const url = await start();
    expect(await post(`${url}/act`, '{"stack":[["num","1"]]}')).toEqual([200, { stack: [['num', '1']], acted: 1 }]);
    expect((await post(`${url}/act`, '{"stack":[["num"]]}'))[0]).toBe(422);
  });

  it('that are larger than the operation takes are refused, declared or not', async () => {
    const url = await start();
    const long = `{"stack":[],"x":"${'x'.repeat(100)}"}`;
    expect((await post(`${url}/act`, long))[0]).toBe(413);
    const sending = request(`${url}/act`, { method: 'POST' });
    sending.on('error', () => undefined);
    sending.write(long);
    const [response] = await once(sending, 'response');
    expect([response.statusCode, response.headers.connection]).toEqual([413, 'close']);
    sending.destroy();
    expect(acted).toBe(0);
  });
});

/** What a client receives that sends all it has before it reads. */
async function receivedBehind(url: string, head: string, body: Buffer): Promise<string> {
  const { port, pathname } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1').pause();
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.write(`POST ${pathname}/read HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`);
    socket.write(body, () => resolve());
  });
  const chunks = await socket.toArray();
  return Buffer.concat(chunks).toString();
}

describe('bodies that are too large', () => {
  const limits = { ...DEFAULT_LIMITS, maxBodyBytes: 1_000_000 };

  it('are refused so that clients come to read it that send all of them first', async () => {
    const url = await start({ limits });
    const bytes = 24_000_000;
    const body = Buffer.alloc(bytes, ' ');
    const declared = await receivedBehind(url, `Content-Length: ${bytes}`, body);
    const chunk = Buffer.concat([Buffer.from(`${bytes.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);
    const counted = await receivedBehind(url, 'Transfer-Encoding: chunked', chunk);
    for (const received of [declared, counted]) {
      expect(received).toMatch(/^HTTP\/1.1 413 /);
      expect(received).toContain('{"error":"request body is larger than 1000000 bytes"}');
      expect(received).toMatch(/\r\nConnection: close\r\n/i);
    }
  });

  it('are those that come in very many pieces, too, each of which takes room of its own', async () => {
    const url = await start({ limits });
    const crumbs = Buffer.from(`${'1\r\n \r\n'.repeat(100_000)}0\r\n\r\n`);
    const received = await receivedBehind(url, 'Transfer-Encoding: chunked', crumbs);
    expect(received).toMatch(/^HTTP\/1.1 413 /);
    expect(received).toContain('{"error":"request body comes in more than 65536 pieces"}');
  });

  it('of an API that takes less than all are, too, and longer addresses', async () => {
    const url = await start({ apis: [{ ...api, most: { bodyBytes: 50, urlBytes: 30 } }] });
    expect(await post(`${url}/read`, `{"x":"${'x'.repeat(50)}"}`)).toEqual([
      413,
      { error: 'request body is larger than 50 bytes' },
    ]);
    expect((await fetch(`${url}/read?number=1234567890`)).status).toBe(200);
    const long = await fetch(`${url}/read?number=1234567890&xx`);
    expect([long.status, await long.json()]).toEqual([414, { error: 'request target is longer than 30 bytes' }]);
  });
});

describe('operations', () => {
  it('answer the methods that they declare', async () => {
    const url = await start();
    for (const [path, method, allow] of [
      ['read', 'DELETE', 'GET, HEAD, POST, OPTIONS'],
      ['act', 'GET', 'POST, OPTIONS'],
      ['act', 'HEAD', 'POST, OPTIONS'],
    ]) {
      const response = await fetch(`${url}/${path}`, { method });
      expect([response.status, response.headers.get('allow')]).toEqual([405, allow]);
      expect(response.headers.get('x-api-version')).toBe('1.2.3');
    }
  });

  it('that act do so for each who asks, others are answered once', async () => {
    const url = await start({ version: () => 'same', keptAnswers: 1_000_000 });
    const asked = ['{"number":1}', '{"number":1}', '{"number":"1"}', '{"number":2}'].map((body) =>
      post(`${url}/read`, body),
    );
    expect(new Set((await Promise.all(asked)).map(([, answer]) => JSON.stringify(answer))).size).toBe(3);
    acted = 0;
    for (let i = 0; i < 3; i++) await post(`${url}/act`, '{"stack":[]}');
    expect(acted).toBe(3);
  });

  it('are found by a request that has the whole address', async () => {
    const url = new URL(await start());
    const { host, hostname, port } = url;
    const asking = request({ hostname, port, path: `http://${host}/made/read?number=3` }).end();
    const [response] = await once(asking, 'response');
    response.resume();
    expect(response.statusCode).toBe(200);
  });

  it.each(['http://[/made/read', 'http://%00/made/read'])(
    'are not looked for at %s, which has no path',
    async (target) => {
      const { port } = new URL(await start());
      const asked = request({ host: '127.0.0.1', port, path: target }).end();
      const [response] = await once(asked, 'response');
      expect(response.statusCode).toBe(400);
      expect(String(await once(response, 'data'))).toBe('{"error":"request target is no path"}');
    },
  );

  it('are documented with what they are asked by', () => {
    const { paths } = z
      .object({ paths: z.record(z.string(), z.record(z.string(), z.looseObject({}))) })
      .parse(openApiDocument(api));
    expect(Object.keys(paths['/read'])).toEqual(['get', 'post']);
    expect(paths['/read'].get).toMatchObject({ parameters: [{ name: 'words', in: 'query', required: true }, {}, {}] });
    expect(paths['/read'].post).toMatchObject({
      requestBody: {
        content: {
          'application/json': {
            schema: {
              type: 'object',
              properties: {
                words: { type: 'array', items: { type: 'string' }, maxItems: 3 },
                number: { type: 'integer', minimum: -(2 ** 31) },
              },
              required: ['words'],
            },
          },
        },
      },
    });
    expect(paths['/act']).toMatchObject({
      post: {
        requestBody: { content: { 'application/json': { schema: { properties: { stack: { type: 'array' } } } } } },
      },
    });
    expect(paths['/act'].get).toBeUndefined();
  });
});

describe('clients that cost too much', () => {
  const MB = 1024 * 1024;
  const LONG = 16 * MB;
  const long = declare(
    {
      path: '/long',
      methods: ['GET'],
      tag: 'x',
      summary: '',
      parameters: z.object({ number: int32('A number.') }),
      response: z.unknown(),
      // More than the system takes off a connection that nobody reads.
      answer: async () => JSON.stringify('x'.repeat(LONG)),
    },
    refuse,
  );

  const never = declare(
    {
      path: '/never',
      methods: ['GET'],
      tag: 'x',
      summary: '',
      parameters: z.object({}),
      response: z.unknown(),
      answer: () => new Promise<string>(() => undefined),
    },
    refuse,
  );

  /** A client that has asked and reads nothing. */
  function asking(url: string, text: string | Buffer) {
    const { port, hostname } = new URL(url);
    const socket = connect(Number(port), hostname).pause();
    const client = { socket, isClosed: false };
    socket.on('error', () => undefined);
    socket.on('close', () => {
      client.isClosed = true;
    });
    socket.write(text);
    return client;
  }
  const question = (number: number): string => `GET /made/long?number=${number} HTTP/1.1\r\nHost: x\r\n\r\n`;

  async function cutOff(metrics: Registry): Promise<Record<string, number>> {
    const told = await metrics.getSingleMetric('tonstream_api_cut_off_total')?.get();
    return Object.fromEntries(told?.values.map(({ labels, value }) => [labels.outcome, value]) ?? []);
  }

  it('are cut off when they take no byte of an answer in its time', async () => {
    const metrics = new Registry();
    // Of 128 bytes a millisecond.
    const untaken = { graceMs: 200 - LONG / 128 };
    const url = await start({ apis: [{ ...api, routes: [...api.routes, long] }], metrics, untaken });
    asking(url, question(1));
    await expect.poll(async () => (await cutOff(metrics)).slow).toBe(1);
    expect(await post(`${url}/read`, '{"number":5}')).toEqual([200, expect.objectContaining({ number: 5 })]);
  });

  it('are cut off with answers that wait behind another on their connection', async () => {
    const untaken = { graceMs: 200 - LONG / 128 };
    const url = await start({ apis: [{ ...api, routes: [long, never] }], untaken });
    const client = asking(url, `GET /made/never HTTP/1.1\r\nHost: x\r\n\r\n${question(1)}`);
    client.socket.resume();
    await expect.poll(() => client.isClosed).toBe(true);
  });

  it('are cut off when all leave more lying than may be, who waits longest first', async () => {
    const metrics = new Registry();
    const url = await start({ apis: [{ ...api, routes: [long] }], metrics, untaken: { maxBytes: 2.5 * LONG } });
    for (let i = 0; i < 5; i++) asking(url, question(i));
    await expect.poll(async () => (await cutOff(metrics)).crowded).toBe(3);
    expect(await (await fetch(`${url}/long`)).json()).toHaveLength(LONG);
  });

  it('are cut off when bodies without their ends are too much together', async () => {
    const metrics = new Registry();
    const url = await start({ metrics });
    const before = (await cutOff(metrics)).bodies;
    const head = `POST /made/read HTTP/1.1\r\nHost: x\r\nContent-Length: ${4 * MB}\r\n\r\n`;
    const body = Buffer.concat([Buffer.from(head), Buffer.alloc(4 * MB - 1, ' ')]);
    const clients = Array.from({ length: 40 }, () => asking(url, body));
    for (const { socket } of clients) socket.resume();
    await expect.poll(async () => (await cutOff(metrics)).bodies - before).toBeGreaterThan(0);
    expect(await post(`${url}/read`, '{"number":5}')).toEqual([200, expect.objectContaining({ number: 5 })]);
    const closed = () => clients.filter(({ isClosed }) => isClosed).length;
    await expect.poll(closed).toBeGreaterThan(0);
    // The others may go on.
    expect(closed()).toBeLessThan(20);
    for (const { socket } of clients) socket.destroy();
  });
});
