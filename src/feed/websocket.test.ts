import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { describe, expect, it, vi } from 'vitest';
import { told, useFedChain } from '../../test/feed-chain.ts';
import { createKeptPositions, openEvents, openSocket, serveFeed } from '../../test/feed-server.ts';
import { createUnfinished } from '../api/unfinished.ts';
import { createAdmission } from './admission.ts';
import { createHostCounts } from './key-counts.ts';
import type { Sink } from './line.ts';
import { createFeedMetrics } from './metrics.ts';
import { createNames } from './names.ts';
import { readRequest } from './protocol.ts';
import { NOTHING } from './subscription.ts';
import { createFeedSockets } from './websocket.ts';

const fed = useFedChain();

type Json = Record<string, unknown>;

describe('a WebSocket', () => {
  it('answers ping, unsubscribe and what it does not understand', async () => {
    await fed.start(1);
    const socket = await openSocket(fed.server.port);
    const { address } = fed.busiest(0, 60);
    socket.send({ operation: 'ping', id: '1' });
    socket.send({ operation: 'dance', id: '2' });
    socket.send({ operation: 'unsubscribe', id: '3' });
    socket.send({ operation: 'subscribe', types: ['transactions'], addresses: [address] });
    socket.send({ operation: 'unsubscribe', addresses: [address] });
    await expect.poll(() => socket.answers.length).toBe(5);
    expect(socket.answers).toEqual([
      { id: '1', status: 'pong' },
      { id: '2', error: 'unknown operation: dance' },
      { id: '3', error: 'addresses or trace_external_hash_norms are required' },
      { status: 'subscribed' },
      { status: 'unsubscribed' },
    ]);
    await fed.advanceTo(60);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(socket.events).toEqual([]);
    socket.close();
  });

  it('forgets many traces at once without making the others wait', async () => {
    await fed.start(1, { maxAddresses: 100_000 });
    const socket = await openSocket(fed.server.port);
    const hashes = (mark: string) => Array.from({ length: 100_000 }, (_, n) => mark + n.toString(36).padStart(4, '0'));
    const before = process.cpuUsage();
    socket.send({ operation: 'subscribe', types: ['trace'], trace_external_hash_norms: hashes('a') });
    await expect.poll(() => socket.answers).toEqual([{ status: 'subscribed' }]);
    const adding = process.cpuUsage(before);
    const between = process.cpuUsage();
    socket.send({ operation: 'unsubscribe', trace_external_hash_norms: hashes('b') });
    await expect.poll(() => socket.answers[1]).toEqual({ status: 'unsubscribed' });
    const forgetting = process.cpuUsage(between);
    // Looking for each among all of them takes a hundred times as much.
    expect(forgetting.user).toBeLessThan(20 * adding.user);
    socket.close();
  });

  it('is refused beyond the connections of its key, and told the addresses it may have', async () => {
    await fed.start(1);
    const headers = { 'x-limiting-key': 'k', 'x-max-parallel-connections': '1', 'x-max-subscribed-addr': '1' };
    const first = await openSocket(fed.server.port, headers);
    const second = await openSocket(fed.server.port, headers);
    await expect.poll(() => second.closed).not.toBeNull();
    expect(second.answers).toEqual([{ error: 'connection limit reached: 1 active connections' }]);
    const addresses = [`0:${'1'.repeat(64)}`, `0:${'2'.repeat(64)}`];
    first.send({ operation: 'subscribe', types: ['transactions'], addresses });
    await expect.poll(() => first.answers).toEqual([{ error: 'address limit exceeded: current 0 + new 2 > max 1' }]);
    first.close();
    await expect.poll(() => fed.server.streaming.feed.figures.lines).toBe(0);
    const third = await openSocket(fed.server.port, headers);
    third.send({ operation: 'ping' });
    await expect.poll(() => third.answers).toEqual([{ status: 'pong' }]);
    third.close();
  });

  it('may hear everything where its key may have any number of addresses, and only there', async () => {
    await fed.start(1);
    const key = { 'x-limiting-key': 'k', 'x-max-parallel-connections': '-1' };
    const all = { types: ['transactions'], everything: true };
    const limited = await openSocket(fed.server.port, { ...key, 'x-max-subscribed-addr': '5' });
    limited.send({ operation: 'subscribe', id: 'a', ...all });
    await expect
      .poll(() => limited.answers)
      .toEqual([{ id: 'a', error: 'everything is above the limit of addresses: max 5' }]);
    limited.send({ operation: 'subscribe', id: 'b', types: ['block'] });
    await expect.poll(() => limited.answers[1]).toEqual({ id: 'b', status: 'subscribed' });
    for (const headers of [{}, { ...key, 'x-max-subscribed-addr': '0' }, { ...key, 'x-max-subscribed-addr': '-1' }]) {
      const free = await openSocket(fed.server.port, headers);
      free.send({ operation: 'subscribe', ...all });
      await expect.poll(() => free.answers).toEqual([{ status: 'subscribed' }]);
      free.close();
    }
    limited.close();
    for (const [most, status] of [
      ['0', 400],
      ['5', 400],
      ['-1', 200],
    ] as const) {
      const headers = { ...key, 'x-max-subscribed-addr': most };
      const { response, close } = await openEvents(fed.server.port, all, headers);
      expect(response.status).toBe(status);
      close();
    }
  });

  it('is counted what it hears when it fails to hear something else', async () => {
    await fed.start(1);
    const headers = { 'x-limiting-key': 'k', 'x-max-parallel-connections': '2', 'x-max-subscribed-addr': '2' };
    const [one, other] = [await openSocket(fed.server.port, headers), await openSocket(fed.server.port, headers)];
    const addresses = ['1', '2'].map((digit) => `0:${digit.repeat(64)}`);
    const subscribe = (own: Json) => ({ operation: 'subscribe', types: ['transactions'], ...own });
    one.send(subscribe({ addresses: addresses.slice(1) }));
    one.send(subscribe({ types: ['block'], from_cursor: 'x' }));
    await expect.poll(() => one.answers.length).toBe(2);
    other.send(subscribe({ addresses }));
    await expect.poll(() => other.answers).toEqual([{ error: 'address limit exceeded: current 1 + new 2 > max 2' }]);
    one.send(subscribe({ addresses, from_cursor: 'x' }));
    await expect.poll(() => one.answers.length).toBe(3);
    other.send(subscribe({ addresses: addresses.slice(1) }));
    await expect.poll(() => other.answers[1]).toEqual({ status: 'subscribed' });
    for (const socket of [one, other]) socket.close();
  });

  it('shares the limits of its key with the other processes of the host, until they end', async () => {
    await fed.start(1);
    const keys = createHostCounts();
    const hosts = [keys.open(), keys.open()].map((own) => ({ own, keys: { open: () => own } }));
    const feeds = await Promise.all(hosts.map((host) => serveFeed(fed.chain, {}, createKeptPositions(), host.keys)));
    const headers = { 'x-limiting-key': 'k', 'x-max-parallel-connections': '2', 'x-max-subscribed-addr': '2' };
    const [one, other] = [await openSocket(feeds[0].port, headers), await openSocket(feeds[1].port, headers)];
    const addresses = ['1', '2'].map((digit) => `0:${digit.repeat(64)}`);
    one.send({ operation: 'subscribe', types: ['transactions'], addresses });
    await expect.poll(() => one.answers).toEqual([{ status: 'subscribed' }]);
    other.send({ operation: 'subscribe', types: ['transactions'], addresses: addresses.slice(1) });
    await expect.poll(() => other.answers).toEqual([{ error: 'address limit exceeded: current 2 + new 1 > max 2' }]);
    const third = await openSocket(feeds[1].port, headers);
    await expect.poll(() => third.answers).toEqual([{ error: 'connection limit reached: 2 active connections' }]);
    // The first process is gone, without a word of its connections.
    hosts[0].own.end();
    const fourth = await openSocket(feeds[1].port, headers);
    fourth.send({ operation: 'subscribe', types: ['transactions'], addresses });
    await expect.poll(() => fourth.answers).toEqual([{ status: 'subscribed' }]);
    for (const socket of [one, other, fourth]) socket.close();
    for (const feed of feeds) await feed.close();
  });

  it('misses nothing when it is cut before its first event and goes on from where it began', async () => {
    await fed.start(10);
    const subscription = { operation: 'subscribe', types: ['transactions'], everything: true };
    const cut = await openSocket(fed.server.port);
    cut.send({ ...subscription, with_cursor: true });
    await expect.poll(() => cut.answers).toEqual([{ status: 'subscribed', cursor: expect.any(String) }]);
    cut.close();
    await fed.advanceTo(20);
    const again = await openSocket(fed.server.port);
    again.send({ ...subscription, from_cursor: cut.answers[0].cursor });
    await expect.poll(() => told(again.events)).toEqual(fed.hashes(11, 20));
    expect(again.answers).toEqual([{ status: 'subscribed' }]);
    again.close();
  });

  it.each([
    ['at the head', 60],
    ['behind it', 54],
  ])('is answered before it is told anything of a stream that begins %s', async (_where, at) => {
    await fed.start(60);
    const subscription = { operation: 'subscribe', types: ['transactions', 'block'], everything: true };
    // From the second time on its steps need not be read.
    for (let times = 0; times < 3; times++) {
      const socket = await openSocket(fed.server.port);
      socket.send({ ...subscription, from_mc_seqno: fed.chain.steps[at] + 1 });
      await expect.poll(() => socket.events.at(-1)?.type).toBe('caught_up');
      await expect.poll(() => socket.answers.length).toBe(1);
      expect(socket.heard[0]).toEqual({ status: 'subscribed' });
      socket.close();
    }
  });

  it('loses nothing while it does not read, and costs the others nothing', async () => {
    await fed.start(10, { queueBytes: 16 * 1024 });
    const subscription = {
      operation: 'subscribe',
      types: ['transactions', 'block'],
      everything: true,
      with_cursor: true,
    };
    const [slow, quick] = [await openSocket(fed.server.port), await openSocket(fed.server.port)];
    for (const socket of [slow, quick]) {
      socket.send(subscription);
      await expect.poll(() => socket.answers.length).toBe(1);
    }
    slow.stop();
    await fed.advanceTo(fed.chain.steps.length);
    const all = fed.hashes(11, fed.chain.steps.length);
    await expect.poll(() => told(quick.events).length).toBe(all.length);
    slow.resume();
    await expect.poll(() => told(slow.events).length).toBe(all.length);
    expect(told(slow.events)).toEqual(all);
    expect(slow.events.map(({ cursor }) => cursor)).toEqual(quick.events.map(({ cursor }) => cursor));
    slow.close();
    quick.close();
  });
});

describe('a WebSocket that is ended while it reads too little', () => {
  const MB = 1024 * 1024;
  const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
  /** Of a frame of the service: to be closed, with a code and a reason. */
  const closing = (code: number, reason: string) => {
    const body = Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason)]);
    return Buffer.concat([Buffer.from([0x88, body.length]), body]);
  };

  it.each([
    ['is told why where no more waits than may', 3, true],
    ['is told nothing where it has taken nothing', 0, false],
  ])('%s', async (_what, readMegabytes, isTold) => {
    await fed.start(1);
    const { feed } = fed.server.streaming;
    const sinks: Sink[] = [];
    const report = vi.fn();
    const limits = { maxConnections: 1, maxAddresses: 1, maxSubscribedBytes: MB, keys: createHostCounts().open() };
    const sockets = createFeedSockets({
      protocol: { readRequest, nothing: NOTHING },
      feed: { ...feed, open: (sink, how) => feed.open(sinks[sinks.push(sink) - 1], how) },
      names: createNames(createKeptPositions()),
      admission: createAdmission({ ...limits, metrics: createFeedMetrics(new Registry()), report }),
      ...{ queueBytes: 8 * MB, maxMessageBytes: 1_000, maxUnanswered: 8, report },
      unfinished: createUnfinished({ maxBytes: 1_000, onDropped: report }),
    });
    const wires: Duplex[] = [];
    const server = createServer().on('upgrade', (request, wire, head) => {
      wires.push(wire);
      sockets.upgrade(request, wire, head);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.write(
      `GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n\r\n`,
    );
    await once(client, 'data');
    client.pause();
    await expect.poll(() => sinks.length).toBe(1);
    const [[sink], [wire]] = [sinks, wires];
    // More than the kernel takes.
    while (sink.write(Buffer.alloc(256 * 1024, 0x20), null)) await sleep(1);
    let [heard, last] = [0, Buffer.alloc(0)];
    client.on('data', (bytes: Buffer) => {
      heard += bytes.length;
      last = Buffer.concat([last, bytes]).subarray(-100);
    });
    client.pause();
    for (const enough = readMegabytes * MB; heard < enough; client.pause()) {
      client.resume();
      await sleep(1);
    }
    await expect.poll(() => wire.writableLength > 8 * MB).toBe(!isTold);
    sink.end(4008, 'too slow');
    client.resume();
    const hasHeard = (): boolean => last.includes(closing(4008, 'too slow'));
    await expect.poll(() => hasHeard() || client.closed).toBe(true);
    expect(hasHeard()).toBe(isTold);
    client.destroy();
    sockets.close();
    server.close();
  });
});
