import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { isPublic } from './addresses.ts';
import { createPoster, type Poster, refusalOf } from './poster.ts';

const SWITCHING_PROTOCOLS = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n';
const servers: Server[] = [];
const posters: Poster[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
  for (const poster of posters.splice(0)) poster.close();
});

async function serve(listener: RequestListener, host = '127.0.0.1'): Promise<string> {
  const server = createServer(listener).listen(0, host);
  servers.push(server);
  await once(server, 'listening');
  const address = server.address();
  return `http://${host}:${typeof address === 'object' ? address?.port : ''}/`;
}

const open = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))));

function posting(isAllowed: (address: string) => boolean = () => true, timeoutMs = 2_000, idleMs?: number) {
  const poster = createPoster({ isAllowed, timeoutMs, ...(idleMs === undefined ? {} : { idleMs }) });
  posters.push(poster);
  return (url: string, signal = new AbortController().signal) => poster.post(url, Buffer.from('{}'), {}, signal);
}

describe('an address', () => {
  it('is public or not, as the registries of special addresses have it', () => {
    const world = ['1.1.1.1', '8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450::1'];
    expect(world.filter((address) => !isPublic(address))).toEqual([]);
    const others = [
      ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.255.0.1', '169.254.169.254', '172.16.0.1'],
      ...['172.31.255.255', '192.0.0.1', '192.168.1.1', '198.18.0.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
      ...['::', '::1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '64:ff9b::7f00:1', 'fc00::1', 'fd12::1', 'fe80::1'],
      ...['ff02::1', '2001::1', '2001:db8::1', '2002:7f00:1::', '100::1', 'nonsense', ''],
    ];
    expect(others.filter(isPublic)).toEqual([]);
  });

  it('is seen however a URL spells it', () => {
    const loopback = ['127.0.0.1', '0x7f.1', '2130706433', '017700000001', '127.1', '[::1]', '[::ffff:127.0.0.1]'];
    for (const host of loopback) expect(refusalOf(`http://${host}:8080/x`, isPublic)).toMatch(/no public address$/);
    expect(refusalOf('https://1.1.1.1/', isPublic)).toBeNull();
    for (const url of ['ftp://1.1.1.1/', 'file:///etc/passwd', 'nonsense', 'https://user@1.1.1.1/']) {
      expect(refusalOf(url, isPublic)).not.toBeNull();
    }
  });
});

describe('a body', () => {
  it('is taken, refused, or kept for later, as the answer says', async () => {
    const url = await serve((request, response) => {
      response.statusCode = Number(request.url?.slice(1, 4));
      if (response.statusCode === 503) response.setHeader('Retry-After', '7');
      response.end('x'.repeat(request.url?.endsWith('long') ? 1_000_000 : 10));
    });
    const post = posting();
    expect(await post(`${url}200`)).toEqual({ kind: 'taken' });
    expect(await post(`${url}204long`)).toEqual({ kind: 'taken' });
    for (const status of [301, 400, 404, 410, 500]) {
      expect(await post(`${url}${status}`)).toEqual({ kind: 'refused', reason: `answered ${status}` });
    }
    expect(await post(`${url}429`)).toEqual({ kind: 'away', reason: 'answered 429', retryAfterMs: null });
    expect(await post(`${url}503`)).toEqual({ kind: 'away', reason: 'answered 503', retryAfterMs: 7000 });
  });

  it('waits for who does not answer, and for no longer than it may', async () => {
    const url = await serve(() => undefined);
    expect(await posting(undefined, 50)(url)).toMatchObject({ kind: 'away', reason: 'no answer within 50 ms' });
    // The status is the answer: a body that never ends behind it would make the same event come again for ever.
    const endless = await serve((_request, response) => void response.writeHead(200).write('x'));
    expect(await posting(undefined, 500)(endless)).toEqual({ kind: 'taken' });
    expect(await posting()('http://127.0.0.1:9/')).toMatchObject({ kind: 'away' });
    const switching = await serve(({ socket }) => void socket.write(SWITCHING_PROTOCOLS));
    expect(await posting()(switching)).toMatchObject({ kind: 'away', reason: 'hung up without an answer' });
    const busy = await serve(({ socket }) => void socket.write('HTTP/1.1 102 Processing\r\n\r\n'.repeat(33)));
    expect(await posting()(busy)).toMatchObject({ kind: 'away', reason: 'says more than 32 times that it is at it' });
    const gone = AbortSignal.abort(new Error('over'));
    await expect(posting()(url, gone)).rejects.toThrow('over');
  });

  it('reaches no address that is not allowed: not by name, not by redirect', async () => {
    let reached = 0;
    const inner = await serve((_request, response) => response.end(String(++reached)), '127.0.0.2');
    const outer = await serve((_request, response) => response.writeHead(307, { location: inner }).end());
    const post = posting((address) => address === '127.0.0.1');
    expect(await post(inner)).toMatchObject({ kind: 'away', reason: expect.stringContaining('no public address') });
    expect(await post(outer)).toMatchObject({ kind: 'away', reason: expect.stringContaining('no public address') });
    const named = inner.replace('127.0.0.2', 'localhost');
    expect(await posting(isPublic)(named)).toMatchObject({ reason: 'localhost leads to no public address' });
    expect(reached).toBe(0);
    expect(await posting()(outer)).toEqual({ kind: 'taken' });
    expect(reached).toBe(1);
  });

  it('leaves no connections behind where a redirect led, and none for long to who was called', async () => {
    const hops = await Promise.all([0, 1, 2].map(() => serve((_request, response) => response.end())));
    for (const server of servers) server.keepAliveTimeout = 0;
    let calls = 0;
    const url = await serve((_request, response) => {
      response.writeHead(307, { location: hops[calls++ % hops.length] }).end();
    });
    const [inner, outer] = [servers.slice(0, 3), servers[3]];
    outer.keepAliveTimeout = 0;
    let connected = 0;
    outer.on('connection', () => connected++);
    const post = posting();
    for (const _ of hops) expect(await post(url)).toEqual({ kind: 'taken' });
    expect(connected).toBe(1);
    for (const server of inner) await expect.poll(() => open(server)).toBe(0);
    posters.pop()?.close();
    expect(await posting(undefined, undefined, 50)(url)).toEqual({ kind: 'taken' });
    await expect.poll(() => open(outer)).toBe(0);
  });

  it('is not sent round in circles', async () => {
    const url = await serve((_request, response) => response.writeHead(308, { location: '/' }).end());
    expect(await posting()(url)).toEqual({ kind: 'refused', reason: 'redirects more than 3 times' });
  });
});
