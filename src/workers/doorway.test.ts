import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener, type ServerResponse } from 'node:http';
import { createConnection, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { readInTurn } from '../api/in-turn.ts';
import { takeUpgrades, type Upgrade } from '../api/upgrades.ts';
import { createDoorway } from './doorway.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A server that does not listen, its connections handed over as from another process, and a way to connect. */
async function opened(answer: RequestListener, upgrades: ReadonlyMap<string, Upgrade> = new Map()) {
  const doorway = createDoorway('http://somewhere');
  const http = createHttpServer(
    { headersTimeout: 2_000, requestTimeout: 2_000, connectionsCheckingInterval: 10 },
    answer,
  );
  takeUpgrades(http, upgrades, readInTurn(http));
  const service = await doorway.open(http);
  const port = createServer({ pauseOnConnect: true }, (socket) => doorway.enter(socket)());
  port.listen(0, '127.0.0.1');
  await once(port, 'listening');
  closing.push(() => port.close());
  const address = port.address();
  const number = typeof address === 'object' && address !== null ? address.port : 0;
  return { service, doorway, port: number, connect: () => createConnection(number, '127.0.0.1') };
}

async function textOf(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('utf8').on('data', (more: string) => {
    text += more;
  });
  await once(socket, 'close');
  return text;
}

describe('doorway', () => {
  it('answers the connections it is given, and ends those that take too long to ask', async () => {
    const { service, connect } = await opened((_, response) => response.end('here'));
    expect(service.url).toBe('http://somewhere');
    const asked = connect();
    asked.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(await textOf(asked)).toContain('here');
    const slow = connect();
    slow.write('GET / HTTP/1.1\r\nHost: ');
    expect(await textOf(slow)).toContain('408 Request Timeout');
    await service.close();
  });

  it('closes once requests under way are answered, and takes no more', async () => {
    const requests: ServerResponse[] = [];
    const { service, connect } = await opened((_, response) => requests.push(response));
    const asked = connect();
    asked.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const text = textOf(asked);
    while (requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    let closed = false;
    const close = service.close().then(() => {
      closed = true;
    });
    expect(await textOf(connect())).toBe('');
    expect(closed).toBe(false);
    requests[0].end('late');
    expect(await text).toContain('late');
    await close;
  });

  it('reads nothing of a connection before it may', async () => {
    const { service, doorway, connect } = await opened((_, response) => response.end('here'));
    // As they come from another process: read from the beginning.
    let begin = (): void => undefined;
    const taken: Socket[] = [];
    const port = createServer((socket) => {
      taken.push(socket);
      begin = doorway.enter(socket);
    });
    port.listen(0, '127.0.0.1');
    await once(port, 'listening');
    const address = port.address();
    const asked = createConnection(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1');
    const ask = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    asked.write(ask);
    const text = textOf(asked);
    for (let i = 0; i < 10; i++) {
      const other = connect();
      other.write(ask);
      expect(await textOf(other)).toContain('here');
    }
    expect(taken.map(({ bytesRead }) => bytesRead)).toEqual([0]);
    begin();
    expect(await text).toContain('here');
    port.close();
    await service.close();
  });

  it('lets WebSocket take connections over, and ends them with itself', async () => {
    const sockets = new WebSocketServer({ noServer: true });
    const echo: Upgrade = (request, socket, head) =>
      sockets.handleUpgrade(request, socket, head, (one) => one.on('message', (data) => one.send(`${data}!`)));
    const { service, port } = await opened((_, response) => response.end(), new Map([['/echo', echo]]));
    const socket = new WebSocket(`ws://127.0.0.1:${port}/echo`);
    await once(socket, 'open');
    socket.send('here');
    expect(String((await once(socket, 'message'))[0])).toBe('here!');
    const closed = once(socket, 'close');
    await service.close();
    await closed;
  });
});
