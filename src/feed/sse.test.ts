import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { describe, expect, it, vi } from 'vitest';
import { useFedChain } from '../../test/feed-chain.ts';
import { openEvents } from '../../test/feed-server.ts';
import { createUnfinished } from '../api/unfinished.ts';
import { createAdmission } from './admission.ts';
import { createHostCounts, type KeyCounts } from './key-counts.ts';
import type { Sink } from './line.ts';
import { createFeedMetrics } from './metrics.ts';
import { readBody } from './protocol.ts';
import { createSse } from './sse.ts';

const CONTEXT = { signal: new AbortController().signal, timeoutMs: 10_000 };
const fed = useFedChain();

describe('a body of server-sent events', () => {
  async function refusalOf(body: string, headers: Record<string, string> = {}) {
    const url = `http://127.0.0.1:${fed.server.port}/api/streaming/v2/sse`;
    const response = await fetch(url, { method: 'POST', headers, body });
    return { status: response.status, body: await response.json() };
  }

  it('names a body that cannot be read', async () => {
    await fed.start(1);
    for (const body of ['{', JSON.stringify({ types: 'transactions' }), JSON.stringify({ id: 5 })]) {
      expect(await refusalOf(body)).toEqual({
        status: 400,
        body: { error: expect.stringMatching(/^invalid subscription request: /) },
      });
    }
  });

  it('may be of as many addresses as its key is told, of none where it is told nothing, of all where it is told -1', async () => {
    await fed.start(1);
    const { address } = fed.busiest(0, 60);
    const subscription = { id: 'i', types: ['transactions'], addresses: [address] };
    const key = { 'x-limiting-key': 'k', 'x-max-parallel-connections': '-1' };
    for (const headers of [{ ...key, 'x-max-subscribed-addr': '0' }, key]) {
      expect(await refusalOf(JSON.stringify(subscription), headers)).toEqual({
        status: 400,
        body: { id: 'i', error: 'too many addresses: 1 > max 0' },
      });
    }
    for (const most of ['1', '-1']) {
      const headers = { ...key, 'x-max-subscribed-addr': most };
      const listener = await openEvents(fed.server.port, subscription, headers);
      await expect.poll(() => listener.answers).toEqual([{ id: 'i', status: 'subscribed' }]);
      listener.close();
    }
  });
});

describe('server-sent events', () => {
  it('resume by Last-Event-ID, asked for by GET', async () => {
    await fed.start(30);
    const first = await openEvents(fed.server.port, 'types=transactions,block&everything=true&from_mc_seqno=1');
    await expect.poll(() => first.events.at(-1)?.type).toBe('caught_up');
    first.close();
    expect(first.ids).toEqual(first.events.slice(0, -1).map(({ cursor }) => cursor));
    const half = Math.floor(first.ids.length / 2);
    // As a browser asks again, whose address stays the same.
    const second = await openEvents(fed.server.port, 'types=transactions,block&everything=true&from_mc_seqno=1', {
      'last-event-id': first.ids[half],
    });
    await expect.poll(() => second.events.at(-1)?.type).toBe('caught_up');
    expect(second.ids).toEqual(first.ids.slice(half + 1));
    second.close();
  });

  it('asked for by GET resume also where nothing was heard before the cut', async () => {
    await fed.start(10);
    const first = await openEvents(fed.server.port, 'types=block');
    await expect.poll(() => first.ids.length).toBe(1);
    expect(first.answers).toEqual([{ status: 'subscribed' }]);
    first.close();
    await fed.advanceTo(12);
    const second = await openEvents(fed.server.port, 'types=block', { 'last-event-id': first.ids[0] });
    await expect.poll(() => second.events.at(-1)?.type).toBe('caught_up');
    expect(second.events.some(({ type }) => type === 'block')).toBe(true);
    second.close();
    const plain = await openEvents(fed.server.port, { types: ['block'] });
    await expect.poll(() => plain.answers.length).toBe(1);
    expect(plain.ids).toEqual([]);
    plain.close();
  });

  it('asked for by GET with what there was lately begin with a place before that', async () => {
    await fed.start(60);
    const { last } = (await fed.chain.source.masterchainInfo(CONTEXT))!;
    vi.useFakeTimers({ toFake: ['Date'], now: (last.header.genUtime + 50) * 1000 });
    const first = await openEvents(fed.server.port, 'types=block&replay_existing=true');
    await expect.poll(() => first.events.length).toBeGreaterThan(0);
    vi.useRealTimers();
    const second = await openEvents(fed.server.port, 'types=block', { 'last-event-id': first.ids[0] });
    await expect.poll(() => second.events.at(-1)?.type).toBe('caught_up');
    second.close();
    // They come in pieces.
    await expect.poll(() => first.ids.slice(1)).toEqual(second.ids);
    expect(first.ids).toHaveLength(first.events.length + 1);
    first.close();
  });

  it('tell one who reads at once more than may wait, without a pause', async () => {
    await fed.start(60, { queueBytes: 4096, stallMs: 1_000 });
    const asked = 'types=transactions,message,block&everything=true&from_mc_seqno=1';
    const reader = await openEvents(fed.server.port, asked);
    let hasEnded = false;
    void reader.ended.then(() => {
      hasEnded = true;
    });
    await expect.poll(() => hasEnded || reader.events.at(-1)?.type === 'caught_up').toBe(true);
    expect(hasEnded).toBe(false);
    reader.close();
  });
});

describe('a request at the path of server-sent events', () => {
  const ask = (method: string, query = '', version = 'v2') =>
    fetch(`http://127.0.0.1:${fed.server.port}/api/streaming/${version}/sse${query}`, {
      method,
      signal: AbortSignal.timeout(10_000),
    });

  it('for the head is answered as a stream begins, and counts as no connection', async () => {
    await fed.start(1);
    const head = await ask('HEAD', '?types=block');
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    expect(fed.server.streaming.feed.figures.lines).toBe(0);
    const last = connect(fed.server.port, '127.0.0.1').setEncoding('utf8');
    last.write('HEAD /api/streaming/v2/sse?types=block HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    let text = '';
    for await (const more of last) text += more;
    expect(text).toContain('\r\nConnection: close\r\n');
    expect((await ask('HEAD', '?types=nothing')).status).toBe(400);
  });

  it('with another method is told which there are', async () => {
    await fed.start(1);
    for (const [version, method, allowed] of [
      ['v2', 'PUT', 'GET, HEAD, POST, OPTIONS'],
      ['v1', 'GET', 'POST, OPTIONS'],
    ]) {
      const refused = await ask(method, '', version);
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, allowed]);
    }
  });

  it('by GET may write a switch as any other request does, and is told of one that is none', async () => {
    await fed.start(10);
    for (const yes of ['true', 'True', '1', 't']) {
      const listener = await openEvents(fed.server.port, `types=transactions&everything=${yes}`);
      await expect.poll(() => listener.answers).toEqual([{ status: 'subscribed' }]);
      listener.close();
    }
    const refused = await ask('GET', '?types=block&include_metadata=maybe');
    expect(refused.status).toBe(400);
    expect(await refused.json()).toEqual({
      error: expect.stringMatching(/^invalid subscription request: include_metadata: /),
    });
  });

  it('by GET may name a trace by standard base64 as it stands', async () => {
    await fed.start(1);
    const hash = `${'+/'.repeat(21)}8=`;
    const subscribed = vi.spyOn(fed.server.streaming.feed, 'subscribe');
    const listener = await openEvents(fed.server.port, `types=trace&trace_external_hash_norms=${hash}`);
    expect(subscribed.mock.calls[0][1].traceHashes).toEqual(new Set([hash]));
    listener.close();
  });
});

describe('a client who is gone before the stream begins', () => {
  it('leaves nothing that beats for it', async () => {
    await fed.start(1);
    let release: () => void = () => undefined;
    const [taken, held] = [vi.fn(), new Promise<void>((resolve) => (release = resolve))];
    const keys: KeyCounts = {
      async take(_key, { connections }) {
        if (connections !== 0) return null;
        taken();
        await held;
        return null;
      },
    };
    const limits = { maxConnections: 1, maxAddresses: 1, maxSubscribedBytes: 1_000_000, keys };
    const keepAliveMs = 54_321;
    const sse = createSse({
      readBody,
      feed: fed.server.streaming.feed,
      admission: createAdmission({ ...limits, metrics: createFeedMetrics(new Registry()), report: vi.fn() }),
      ...{ queueBytes: 1_000_000, maxBodyBytes: 1_000, keepAliveMs },
      unfinished: createUnfinished({ maxBytes: 1_000, onDropped: vi.fn() }),
    });
    let done: Promise<void> | undefined;
    const closed = vi.fn();
    const server = createServer((request, response) => {
      response.once('close', closed);
      done = sse(request, response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const beats = vi.spyOn(globalThis, 'setInterval');
    const key = 'X-Limiting-Key: k\r\nX-Max-Subscribed-Addr: 1';
    client.write(`GET /?types=transactions&addresses=0:${'1'.repeat(64)} HTTP/1.1\r\nHost: x\r\n${key}\r\n\r\n`);
    await expect.poll(() => taken.mock.calls.length).toBe(1);
    client.destroy();
    await expect.poll(() => closed.mock.calls.length).toBe(1);
    release();
    await done;
    expect(beats.mock.calls.filter(([, ms]) => ms === keepAliveMs)).toEqual([]);
    beats.mockRestore();
    server.close();
  });
});

describe('a stream that is ended while its client reads nothing', () => {
  it('is written no more, and is let go at last', async () => {
    await fed.start(1);
    const { feed } = fed.server.streaming;
    const sinks: Sink[] = [];
    const [report, onDropped] = [vi.fn(), vi.fn()];
    const limits = {
      maxConnections: 1,
      maxAddresses: 1,
      maxSubscribedBytes: 1_000_000,
      keys: createHostCounts().open(),
    };
    const sse = createSse({
      readBody,
      feed: { ...feed, open: (sink, how) => feed.open(sinks[sinks.push(sink) - 1], how) },
      admission: createAdmission({ ...limits, metrics: createFeedMetrics(new Registry()), report }),
      ...{ queueBytes: 1_000_000, maxBodyBytes: 1_000, keepAliveMs: 20 },
      unfinished: createUnfinished({ maxBytes: 1_000, onDropped }),
    });
    const responses: ServerResponse[] = [];
    const failures: unknown[] = [];
    const server = createServer((request, response) => {
      responses.push(response);
      response.on('error', (error) => failures.push(error));
      void sse(request, response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
    client.write('GET /?types=block HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => responses[0]?.headersSent).toBe(true);
    const [[sink], [response]] = [sinks, responses];
    // More than the kernel takes, and less than is too much.
    while (response.writableLength < 100_000) {
      sink.write(Buffer.alloc(64 * 1024, 0x20), null);
      await sleep(1);
    }
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    sink.end(4008, 'too slow');
    sink.write(Buffer.from('{}'), null);
    await sleep(100);
    expect(failures).toEqual([]);
    expect(response.destroyed).toBe(false);
    vi.advanceTimersByTime(30_000);
    expect(response.destroyed).toBe(true);
    vi.useRealTimers();
    client.destroy();
    server.close();
  });
});
