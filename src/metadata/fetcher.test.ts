/** A server that misbehaves in every way, and what the fetcher makes of it. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isPublic } from '../webhooks/addresses.ts';
import { createFetcher, type Fetched, type Fetcher } from './fetcher.ts';
import { locationsOf } from './locations.ts';

const MAX_BYTES = 4096;
const { signal } = new AbortController();
let server: Server;
let port: number;
let asked: string[];
/** Waits as long as it takes. */
let fetcher: Fetcher;
/** For what never comes. */
let hasty: Fetcher;

const answers: Record<string, (response: ServerResponse, request: IncomingMessage) => void> = {
  '/good': (response) => response.end('{"name":"Coin","decimals":9,"attributes":[{"a":1}]}'),
  '/marked': (response) => response.end('\ufeff{"name":"with a byte order mark"}'),
  '/prototype': (response) => response.end('{"__proto__":{"name":"x"},"name":"y"}'),
  '/absent': (response) => response.writeHead(404).end('{}'),
  '/broken': (response) => response.writeHead(500).end('{}'),
  '/busy': (response) => response.writeHead(429).end(),
  '/empty': (response) => response.writeHead(204).end(),
  '/text': (response) => response.end('<html>'),
  '/array': (response) => response.end('[1]'),
  '/null': (response) => response.end('null'),
  '/latin': (response) => response.end(Buffer.from('{"name":"\xe9"}', 'latin1')),
  '/deep': (response) => response.end(`{"a":${'['.repeat(1000)}${']'.repeat(1000)}}`),
  '/packed': (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"name":"x"}')),
  '/large': (response) => response.end(`{"name":"${'x'.repeat(MAX_BYTES)}"}`),
  // As much as anybody takes.
  '/endless': (response) => {
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(1024)));
    };
    response.on('drain', more);
    more();
  },
  '/headers': (response) => response.writeHead(200, { 'x-long': 'x'.repeat(64 * 1024) }).end('{}'),
  '/silent': () => undefined,
  '/stalls': (response) => response.write('{"name":'),
  '/drips': (response) => {
    const timer = setInterval(() => (response.destroyed ? clearInterval(timer) : response.write(' ')), 5);
  },
  '/hangs-up': (_, request) => request.socket.destroy(),
  '/cut': (response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('{"name":"x"', () => response.destroy());
  },
  '/switches': (_, request) =>
    request.socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
  '/garbage': (_, request) => request.socket.end('HTTP/1.1 nonsense\r\n\r\n'),
  '/once': (response) => response.writeHead(302, { location: '/good' }).end(),
  '/loop': (response) => response.writeHead(301, { location: '/loop' }).end(),
  '/inside': (response) => response.writeHead(302, { location: `http://127.0.0.2:${port}/good` }).end(),
  '/link-local': (response) => response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
  '/file': (response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  '/nowhere': (response) => response.writeHead(302, { location: 'http://[' }).end(),
  '/no-place': (response) => response.writeHead(302).end(),
};

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    answers[request.url ?? '']?.(response, request);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
  const isAllowed = (one: string): boolean => one === '127.0.0.1';
  fetcher = createFetcher({ isAllowed, timeoutMs: 60_000, maxBytes: MAX_BYTES });
  hasty = createFetcher({ isAllowed, timeoutMs: 400, maxBytes: MAX_BYTES });
});

beforeEach(() => {
  asked = [];
});

afterAll(() => {
  fetcher.close();
  hasty.close();
  server.close();
  server.closeAllConnections();
});

const at = (path: string, asking = fetcher): Promise<Fetched> =>
  asking.fetch(`http://127.0.0.1:${port}${path}`, signal);

describe('a document', () => {
  it('is the object that is there, also behind a redirect', async () => {
    const content = { name: 'Coin', decimals: 9, attributes: [{ a: 1 }] };
    expect(await at('/good')).toEqual({ kind: 'found', content });
    expect(await at('/once')).toEqual({ kind: 'found', content });
    expect(await at('/marked')).toEqual({ kind: 'found', content: { name: 'with a byte order mark' } });
    const odd = await at('/prototype');
    expect(odd.kind === 'found' && JSON.stringify(odd.content)).toBe('{"__proto__":{"name":"x"},"name":"y"}');
  });

  it.each([
    ['/absent', 'answered 404'],
    ['/empty', 'answered 204'],
    ['/no-place', 'answered 302'],
    ['/text', 'is no JSON'],
    ['/array', 'is no JSON object'],
    ['/null', 'is no JSON object'],
    ['/latin', 'is no JSON'],
    ['/deep', 'nested more than 32 deep'],
    ['/packed', 'packed as gzip'],
    ['/large', `larger than ${MAX_BYTES} bytes`],
    ['/endless', `larger than ${MAX_BYTES} bytes`],
    ['/loop', 'redirects more than 3 times'],
    ['/inside', 'leads to no public address'],
    ['/link-local', 'no public address'],
    ['/file', 'must begin with https'],
    ['/nowhere', 'redirects to what is no URL'],
  ])('is none at %s', async (path, reason) => {
    expect(await at(path)).toEqual({ kind: 'lost', reason: expect.stringContaining(reason) });
  });

  it.each([
    '/broken',
    '/busy',
    '/headers',
    '/silent',
    '/stalls',
    '/drips',
    '/hangs-up',
    '/switches',
    '/cut',
    '/garbage',
  ])('may come another time at %s', async (path) => {
    expect(await at(path, hasty)).toMatchObject({ kind: 'away' });
  });

  it('is not asked of a name that leads to this machine, nor with a password', async () => {
    const strict = createFetcher({ isAllowed: isPublic, timeoutMs: 2_000, maxBytes: MAX_BYTES });
    const reasons = [];
    for (const host of ['localhost', '127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '0.0.0.0']) {
      const outcome = await strict.fetch(`http://${host}:${port}/good`, signal);
      reasons.push(outcome.kind === 'found' ? 'found' : outcome.reason);
    }
    expect(reasons.filter((reason) => !reason.includes('no public address'))).toEqual([]);
    expect(asked).toEqual([]);
    expect(await fetcher.fetch(`http://me:secret@127.0.0.1:${port}/good`, signal)).toMatchObject({ kind: 'lost' });
    strict.close();
  });

  it('is given up with its signal', async () => {
    const stop = new AbortController();
    const waiting = fetcher.fetch(`http://127.0.0.1:${port}/silent`, stop.signal);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });
});

describe('a URI leads to', () => {
  const gateways = ['https://one.example/ipfs/', 'https://two.example/ipfs/'];
  const id = 'QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG';

  it.each([
    ['https://ton.example/a b.json', ['https://ton.example/a%20b.json']],
    [' http://ton.example ', ['http://ton.example/']],
    [`ipfs://${id}/1.json`, gateways.map((one) => `${one}${id}/1.json`)],
    [`ipfs://ipfs/${id}`, gateways.map((one) => `${one}${id}`)],
    ['ipfs://../../admin', []],
    [`ipfs://${id}/../../admin`, []],
    [`ipfs://${id}/%2e%2e/%2E./admin`, []],
    [`ipfs://${id}/a/../1.json`, gateways.map((one) => `${one}${id}/1.json`)],
    ['file:///etc/passwd', []],
    ['javascript:alert(1)', []],
    ['data:application/json,{}', []],
    ['https://', []],
    ['', []],
    [`https://ton.example/${'x'.repeat(3_000)}`, []],
  ])('%s', (uri, urls) => {
    expect(locationsOf(uri, gateways)).toEqual(urls);
  });
});
