import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createConnection } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { readInTurn } from './in-turn.ts';
import { takeUpgrades } from './upgrades.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A server that echoes what comes over WebSocket at `/echo`. */
async function open(answer: RequestListener): Promise<number> {
  const sockets = new WebSocketServer({ noServer: true });
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(`${data}!`)));
  const http = createServer(answer);
  takeUpgrades(
    http,
    new Map([
      [
        '/echo',
        (request, socket, head) =>
          sockets.handleUpgrade(request, socket, head, (one) => sockets.emit('connection', one)),
      ],
    ]),
    readInTurn(http),
  );
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  closing.push(() => {
    http.close();
    http.closeAllConnections();
  });
  const address = http.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

it('takes WebSocket over at its path, any spelling and query', async () => {
  const port = await open((_, response) => response.end());
  const socket = new WebSocket(`ws://127.0.0.1:${port}/Echo/?key=1`);
  await once(socket, 'open');
  socket.send('here');
  const [data] = await once(socket, 'message');
  expect(String(data)).toBe('here!');
  socket.close();
  await once(socket, 'close');
});

it('answers at other paths as if no upgrade had been asked for', async () => {
  const port = await open((_, response) => response.writeHead(404).end());
  const socket = new WebSocket(`ws://127.0.0.1:${port}/elsewhere`);
  const [error] = await once(socket, 'error');
  expect(String(error)).toContain('404');
});

it('answers requests that would also go on in HTTP/2, with their bodies, one after the other', async () => {
  const port = await open(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    response.end(`${request.method} ${request.url} ${body} ${request.headers.upgrade}`);
  });
  const asking = createConnection(port, '127.0.0.1');
  let text = '';
  asking.setEncoding('utf8').on('data', (more: string) => {
    text += more;
  });
  const head = (path: string) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n` +
    'HTTP2-Settings: AAEAAEAAAAIAAAAB\r\nContent-Length: 6\r\n\r\n';
  asking.write(`${head('/one')}abc`);
  await new Promise((resolve) => setTimeout(resolve, 20));
  asking.write('def');
  while (!text.includes('POST /one abcdef undefined')) await once(asking, 'data');
  asking.write(`${head('/two')}ghijkl`);
  while (!text.includes('POST /two ghijkl undefined')) await once(asking, 'data');
  expect(text.match(/200 OK/g)).toHaveLength(2);
  asking.destroy();
});

it.each(['Upgrade, close', 'close, Upgrade, HTTP2-Settings'])(
  'closes the connection behind the answer where the client says %j',
  async (options) => {
    const port = await open((request, response) => response.end(`${request.headers.connection}.`));
    const asking = createConnection(port, '127.0.0.1').setEncoding('utf8');
    asking.write(`GET / HTTP/1.1\r\nHost: x\r\nConnection: ${options}\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n`);
    let text = '';
    for await (const more of asking) text += more;
    expect(text).toContain('\r\nConnection: close\r\n');
  },
);

it('refuses one with more header fields than are read, as the length of its body may be among the others', async () => {
  const asked: string[] = [];
  const port = await open(({ url = '' }, response) => {
    asked.push(url);
    response.end();
  });
  const asking = createConnection(port, '127.0.0.1').setEncoding('utf8');
  const inside = 'GET /inside HTTP/1.1\r\nHost: x\r\n\r\n';
  const filling = Array.from({ length: 1_100 }, (_, i) => `X-${i}: x\r\n`).join('');
  const head = `POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n${filling}`;
  asking.write(`${head}Content-Length: ${inside.length}\r\n\r\n${inside}`);
  let text = '';
  for await (const more of asking) text += more;
  expect(text).toMatch(/^HTTP\/1.1 431 /);
  expect(asked).toEqual([]);
});

it('answers a thousand that are sent at once in their order', async () => {
  const port = await open((request, response) => setImmediate(() => response.end(`at ${request.url}`)));
  const asking = createConnection(port, '127.0.0.1');
  let text = '';
  asking.setEncoding('utf8').on('data', (more: string) => {
    text += more;
  });
  const ask = (path: number): string =>
    `GET /${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n`;
  const paths = Array.from({ length: 1_000 }, (_, path) => path);
  asking.write(paths.map(ask).join(''));
  while (!text.includes('at /999')) await once(asking, 'data');
  expect(Array.from(text.matchAll(/at \/(\d+)/g), ([, path]) => Number(path))).toEqual(paths);
  asking.destroy();
});

const HANDSHAKE =
  'GET /echo HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';

it('takes WebSocket over once what was asked before on the connection is answered, however much that is', async () => {
  const asked: ServerResponse[] = [];
  const port = await open((_, response) => asked.push(response));
  const asking = createConnection(port, '127.0.0.1');
  let text = '';
  asking.setEncoding('latin1').on('data', (more: string) => {
    text += more;
  });
  asking.write(`GET / HTTP/1.1\r\nHost: x\r\n\r\n${HANDSHAKE}`);
  while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const [response] = asked;
  const part = 'x'.repeat(1024 * 1024);
  for (let i = 0; i < 8; i++) if (!response.write(part)) await once(response, 'drain');
  response.end('the end');
  while (!text.includes('101 Switching')) await once(asking, 'data');
  expect(text.indexOf('the end')).toBeLessThan(text.indexOf('101 Switching'));
  asking.destroy();
});

it('bears that who waits for that is gone', async () => {
  const asked: ServerResponse[] = [];
  const port = await open((_, response) => asked.push(response));
  const asking = createConnection(port, '127.0.0.1');
  asking.write(`GET / HTTP/1.1\r\nHost: x\r\n\r\n${HANDSHAKE}`);
  while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const closed = once(asked[0], 'close');
  asking.resetAndDestroy();
  await closed;
  const other = new WebSocket(`ws://127.0.0.1:${port}/echo`);
  await once(other, 'open');
  other.terminate();
});
