/** Clients that mean no good: each costs its limit and nothing else, and the others hear what they hear. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type FeedServer, type Listener, openEvents, openSocket, serveFeed } from '../../test/feed-server.ts';
import { createFeedSource, type FeedSource } from '../../test/feed-source.ts';
import { readBody } from './protocol.ts';

let chain: FeedSource;
let server: FeedServer;
let healthy: Listener;
/** Bytes of all messages that are not finished. */
const UNFINISHED = 2_000_000;
const STALL_MS = 1_000;
/** What all together listen to: two thousand addresses. */
const SUBSCRIBED = 800_000;
const LIMITS = {
  maxConnections: 50,
  maxAddresses: 1_000,
  maxSubscribedBytes: SUBSCRIBED,
  unfinishedBytes: UNFINISHED,
  stallMs: STALL_MS,
};

beforeEach(async () => {
  chain = createFeedSource('private');
  chain.advance(chain.steps[0]);
  server = await serveFeed(chain, LIMITS);
  healthy = await openSocket(server.port);
  healthy.send({ operation: 'subscribe', types: ['block'] });
  await expect.poll(() => healthy.answers.length).toBe(1);
});

afterEach(async () => {
  // Everybody else is gone, and it is told as ever.
  await expect.poll(() => server.streaming.feed.figures.lines).toBe(1);
  healthy.events = [];
  chain.advance(chain.steps[1]);
  await expect.poll(() => healthy.events.length).toBeGreaterThan(0);
  healthy.close();
  await server.close();
  expect(server.failures).toEqual([]);
});

const HANDSHAKE = [
  'GET /api/streaming/v2/ws HTTP/1.1',
  'Host: x',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  '\r\n',
].join('\r\n');

/** A connection that has shaken hands and speaks in bytes; what came since. */
async function raw(): Promise<{ socket: Socket; received: () => Buffer }> {
  const socket = connect(server.port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(HANDSHAKE);
  let received: Buffer = (await once(socket, 'data'))[0];
  expect(received.toString('latin1')).toMatch(/^HTTP\/1\.1 101 /);
  received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
  });
  return { socket, received: () => received };
}

/** The head of a frame (RFC 6455, 5.2) with a zero mask. */
function frameHead(opcode: number, length: number): Buffer {
  const head = Buffer.alloc(14);
  head[0] = 0x80 | opcode;
  head[1] = 0x80 | 127;
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

/** Code of the close frame at the end of what came. */
async function closeCode({ received }: { received: () => Buffer }): Promise<number> {
  await expect.poll(() => received().length).toBeGreaterThanOrEqual(4);
  expect(received()[0]).toBe(0x88);
  return received().readUInt16BE(2);
}

it('a frame of 100 MB is refused by its head', async () => {
  const client = await raw();
  client.socket.write(frameHead(1, 100_000_000));
  expect(await closeCode(client)).toBe(1009);
  client.socket.destroy();
});

it('text that is no UTF-8 ends the connection', async () => {
  const client = await raw();
  client.socket.write(Buffer.concat([frameHead(1, 2), Buffer.from([0xc3, 0x28])]));
  expect(await closeCode(client)).toBe(1007);
  client.socket.destroy();
});

it('a message in too many pieces ends its connection', async () => {
  const client = await raw();
  const piece = Buffer.from([0x00, 0x81, 0, 0, 0, 0, 0x20]);
  const first = Buffer.from([0x01, ...piece.subarray(1)]);
  client.socket.write(Buffer.concat([first, ...Array<Buffer>(1_024).fill(piece)]));
  expect(await closeCode(client)).toBe(1008);
  client.socket.destroy();
});

it.each([
  ['pings', 0x89],
  ['pongs', 0x8a],
])('a flood of %s ends its connection', async (_what, opcode) => {
  const { socket } = await raw();
  const frame = Buffer.from([opcode, 0x80, 0, 0, 0, 0]);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(Buffer.concat(Array<Buffer>(5_000).fill(frame)));
  await closed;
});

it('deep JSON and endless lists get an answer', async () => {
  const socket = await openSocket(server.port);
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  socket.sendText(deep);
  socket.sendText(`{"operation":"subscribe","types":["block"],"x":${deep}}`);
  socket.sendText(`{"operation":"subscribe","types":${deep}}`);
  const addresses = Array.from({ length: 1_001 }, (_, n) => `0:${n.toString(16).padStart(64, '0')}`);
  socket.send({ operation: 'subscribe', types: ['transactions'], addresses });
  socket.send({ operation: 'subscribe', types: Array(100_001).fill('block') });
  await expect.poll(() => socket.answers.length).toBe(5);
  expect(socket.answers).toEqual([
    { error: expect.stringMatching(/^invalid request envelope: /) },
    { status: 'subscribed' },
    { error: expect.stringMatching(/^invalid subscribe request: types/) },
    { error: 'address limit exceeded: current 0 + new 1001 > max 1000' },
    { error: expect.stringMatching(/^invalid subscribe request: types/) },
  ]);
  socket.close();
});

it('no more traces are listened to than addresses', async () => {
  const socket = await openSocket(server.port);
  const hashes = Array.from({ length: 1_001 }, (_, n) => `${n}`);
  const subscribe = (own: string[]) =>
    socket.send({ operation: 'subscribe', types: ['trace'], trace_external_hash_norms: own });
  subscribe(hashes);
  subscribe(hashes.slice(1));
  await expect.poll(() => socket.answers.length).toBe(2);
  expect(socket.answers).toEqual([{ error: 'trace limit exceeded: new 1001 > max 1000' }, { status: 'subscribed' }]);
  socket.close();
});

const some = (n: number, from = 0) =>
  Array.from({ length: n }, (_, i) => `0:${(from + i).toString(16).padStart(64, '0')}`);

it.each([
  ['addresses', (n: number) => ({ types: ['transactions'], addresses: some(1_000, n * 1_000) })],
  [
    'traces',
    (n: number) => ({ types: ['trace'], trace_external_hash_norms: some(1_000, n).map((_, i) => `${n} ${i}`) }),
  ],
  ['jettons', () => ({ types: ['jetton_transfer'], everything: true, jetton_masters: some(1_000) })],
  ['names of actions', () => ({ types: ['actions'], everything: true, action_types: ['x'.repeat(200_000)] })],
])('all together listen to no more %s than they may, and to others when some have left', async (_what, nth) => {
  const sockets = await Promise.all(Array.from({ length: 10 }, () => openSocket(server.port)));
  for (const [n, socket] of sockets.entries()) socket.send({ operation: 'subscribe', ...nth(n) });
  await expect.poll(() => sockets.filter(({ answers }) => answers.length === 1).length).toBe(10);
  const refusal = { error: 'all connections together listen to as much as they may: try again later' };
  const refused = sockets.filter(({ answers: [answer] }) => answer.error !== undefined);
  expect(refused.map(({ answers: [answer] }) => answer)).toEqual(refused.map(() => refusal));
  expect(refused.length).toBeGreaterThanOrEqual(6);
  expect(refused.length).toBeLessThan(10);
  for (const socket of sockets) if (!refused.includes(socket)) socket.close();
  const [again] = refused;
  await expect
    .poll(() => {
      again.send({ operation: 'subscribe', ...nth(0) });
      return again.answers.at(-1);
    })
    .toEqual({ status: 'subscribed' });
  for (const socket of refused) socket.close();
});

it('a flood of subscriptions ends its connection', async () => {
  const socket = await openSocket(server.port);
  for (let i = 0; i < 10_000; i++) socket.send({ operation: 'subscribe', types: ['block'] });
  await expect.poll(() => socket.closed?.code).toBe(1008);
});

it('many small words about many addresses leave the others their turn', async () => {
  const addresses = Array.from({ length: 1_000 }, (_, n) => `0:${n.toString(16).padStart(64, '0')}`);
  const socket = await openSocket(server.port);
  socket.send({ operation: 'subscribe', types: ['transactions'], addresses });
  await expect.poll(() => socket.answers.length).toBe(1);
  // They lie in the kernel before any is read.
  for (const address of addresses.slice(0, 60)) socket.send({ operation: 'unsubscribe', addresses: [address] });
  const said = healthy.answers.length;
  healthy.send({ operation: 'ping' });
  while (healthy.answers.length === said) await new Promise((resolve) => setImmediate(resolve));
  expect(socket.answers.length).toBeLessThan(50);
  await expect.poll(() => socket.answers.length).toBe(61);
  socket.close();
});

it('one who reads no answers is heard no more, and ended', async () => {
  const { socket } = await raw();
  socket.pause();
  const text = JSON.stringify({ operation: 'ping', id: 'i'.repeat(1_000), padding: ' '.repeat(3_000) });
  const ping = Buffer.concat([frameHead(1, text.length), Buffer.from(text)]);
  const pings = Buffer.concat(Array(1_000).fill(ping));
  for (let i = 0; i < 15; i++) {
    socket.write(pings);
    await sleep(20);
  }
  await expect.poll(() => server.streaming.feed.figures.lines).toBe(1);
  socket.destroy();
});

it('one who is told where the chain is and reads nothing of it is ended', async () => {
  const { feed } = server.streaming;
  const { subscription } = readBody(JSON.stringify({ types: ['block'], head_seconds: 1 }));
  const end = vi.fn();
  const line = feed.open({ write: () => false, onRoom: () => undefined, end });
  await feed.subscribe(line, subscription, new AbortController().signal);
  await expect.poll(() => end.mock.calls[0]?.[0]).toBe(4008);
  feed.close(line);
});

it('little is said again of what makes no sense', async () => {
  const socket = await openSocket(server.port);
  const long = 'x'.repeat(900_000);
  socket.send({ operation: long });
  socket.send({ operation: 'subscribe', types: [long] });
  socket.send({ operation: 'ping', id: long });
  const old = await openSocket(server.port, {}, 'v1');
  old.send({ operation: long });
  old.send({ operation: 'subscribe', types: [long], addresses: [`0:${'1'.repeat(64)}`] });
  old.send({ operation: 'set_subscription', subscriptions: { [long]: 1 } });
  await expect.poll(() => [socket.answers.length, old.answers.length]).toEqual([3, 3]);
  for (const answer of [...socket.answers, ...old.answers]) {
    expect(answer).toHaveProperty('error');
    expect(JSON.stringify(answer).length).toBeLessThan(300);
  }
  for (const one of [socket, old]) one.close();
});

it('connections that are cut, half open or half asked leave nothing behind', async () => {
  const silent = await Promise.all(Array.from({ length: 20 }, raw));
  for (const [n, { socket }] of silent.entries()) {
    socket.write(frameHead(1, 1_000).subarray(0, n));
    if (n % 2 === 0) socket.resetAndDestroy();
    else socket.destroy();
  }
  for (const text of [
    'POST /api/streaming/v2/sse HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"ty',
    'GET /api/str',
  ]) {
    const socket = connect(server.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(text);
    socket.resetAndDestroy();
  }
  const stream = await openEvents(server.port, { types: ['block'] });
  stream.close();
});

it('no more connect than may', async () => {
  const sockets = await Promise.all(Array.from({ length: 60 }, () => openSocket(server.port)));
  await expect.poll(() => sockets.filter(({ closed }) => closed?.code === 1013).length).toBe(11);
  const refused = await fetch(`http://127.0.0.1:${server.port}/api/streaming/v2/sse`, {
    method: 'POST',
    body: '{"types":["block"]}',
  });
  expect(refused.status).toBe(429);
  for (const socket of sockets) socket.close();
});

it('a body that is too long is refused, also to one who sends all of it before he reads', async () => {
  const path = '/api/streaming/v2/sse';
  const said = await fetch(`http://127.0.0.1:${server.port}${path}`, { method: 'POST', body: 'x'.repeat(2_000_000) });
  expect(said.status).toBe(413);
  const socket = connect(server.port, '127.0.0.1');
  socket.pause();
  socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`);
  const part = `${(100_000).toString(16)}\r\n${'x'.repeat(100_000)}\r\n`;
  const failed = once(socket, 'error').then(([error]) => error);
  const sent = new Promise((resolve) => socket.write(`${part.repeat(200)}0\r\n\r\n`, () => resolve('sent')));
  expect(await Promise.race([sent, failed])).toBe('sent');
  socket.resume();
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 413 /);
  socket.destroy();
});

/** The first of several frames of a message, and a ping in between. */
const FRAGMENT = frameHead(1, 300_000);
FRAGMENT[0] &= 0x7f;
const PING = Buffer.from([0x89, 0x80 | 3, 0, 0, 0, 0, 1, 2, 3]);

it.each([
  ['one frame', [frameHead(1, 1_000_000), Buffer.alloc(300_000, 0x20)]],
  ['fragments, with pings in between', [FRAGMENT, Buffer.alloc(300_000, 0x20), PING, PING]],
])('messages that are never finished, in %s, take no more together than they may', async (_how, sent) => {
  const clients = await Promise.all(Array.from({ length: 20 }, raw));
  let ended = 0;
  for (const { socket } of clients) {
    socket.once('close', () => ended++);
    socket.write(Buffer.concat(sent));
  }
  await expect.poll(() => ended).toBeGreaterThanOrEqual(clients.length - Math.floor(UNFINISHED / 300_000));
  healthy.send({ operation: 'ping', id: 'alive' });
  await expect.poll(() => healthy.answers.at(-1)).toEqual({ id: 'alive', status: 'pong' });
  // Whoever is left may finish.
  const rest = clients.filter(({ socket }) => !socket.destroyed);
  for (const { socket } of rest) socket.destroy();
  const again = await openSocket(server.port);
  again.sendText(JSON.stringify({ operation: 'ping', id: ' '.repeat(900_000) }));
  await expect.poll(() => again.answers.length).toBe(1);
  again.close();
});
