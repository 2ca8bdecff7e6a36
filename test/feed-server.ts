/** The feed over a recorded chain behind a port, and clients of it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Registry } from 'prom-client';
import WebSocket from 'ws';
import { createRenderings } from '../src/api/v3/render/renderings.ts';
import { createFeedMetrics } from '../src/feed/metrics.ts';
import { createStreaming, type FeedLimits } from '../src/feed/streaming.ts';
import type { FeedSource } from './feed-source.ts';

export const LIMITS: FeedLimits = {
  maxConnections: 1000,
  maxAddresses: 10_000,
  queueBytes: 256 * 1024,
  stallMs: 30_000,
  maxMessageBytes: 1024 * 1024,
};

export async function serveFeed(chain: FeedSource, limits: Partial<FeedLimits> = {}) {
  const ended = new AbortController();
  const failures: unknown[] = [];
  const streaming = createStreaming({
    source: chain.source,
    head: chain.head,
    globalId: () => -239,
    testnet: () => false,
    renderings: createRenderings({ maxBytes: 0 }),
    queryTimeoutMs: 1000,
    limits: { ...LIMITS, ...limits },
    metrics: createFeedMetrics(new Registry()),
    onLater: () => undefined,
    report: (error) => failures.push(error),
  });
  const server = createServer((request, response) => {
    const handler = streaming.handler((request.url ?? '').split('?')[0]);
    if (handler) handler(request, response);
    else response.writeHead(404).end();
  });
  server.on('upgrade', (request, socket, head) => {
    if (!streaming.upgrade(request, socket, head)) socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const running = streaming.run(ended.signal);
  return {
    port,
    streaming,
    failures,
    async close() {
      ended.abort();
      await running;
      server.closeAllConnections();
      server.close();
    },
  };
}

export type FeedServer = Awaited<ReturnType<typeof serveFeed>>;
type Json = Record<string, unknown>;

/** A subscriber of either transport: what came, in order, answers to requests apart. */
export interface Listener {
  events: Json[];
  answers: Json[];
  closed: { code: number; reason: string } | null;
  send(message: Json): void;
  close(): void;
  stop(): void;
  resume(): void;
}

export async function openSocket(port: number, headers: Record<string, string> = {}): Promise<Listener> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api/streaming/v2/ws`, { headers });
  const listener: Listener = {
    events: [],
    answers: [],
    closed: null,
    send: (message) => socket.send(JSON.stringify(message)),
    close: () => socket.terminate(),
    stop: () => socket.pause(),
    resume: () => socket.resume(),
  };
  socket.on('message', (data) => {
    const json: Json = JSON.parse(String(data));
    (json.type === undefined ? listener.answers : listener.events).push(json);
  });
  socket.on('close', (code, reason) => {
    listener.closed = { code, reason: String(reason) };
  });
  socket.on('error', () => undefined);
  await once(socket, 'open');
  return listener;
}

/** Server-sent events by POST, or by GET when `body` is a query. */
export async function openEvents(port: number, body: Json | string, headers: Record<string, string> = {}) {
  const gone = new AbortController();
  const url = `http://127.0.0.1:${port}/api/streaming/v2/sse`;
  const { signal } = gone;
  const response =
    typeof body === 'string'
      ? await fetch(`${url}?${body}`, { headers, signal })
      : await fetch(url, { method: 'POST', body: JSON.stringify(body), headers, signal });
  const events: Json[] = [];
  const answers: Json[] = [];
  const ids: string[] = [];
  const ended = read(response, (frame) => {
    const lines = Object.fromEntries(
      frame.split('\n').map((line) => {
        const colon = line.indexOf(': ');
        return [line.slice(0, colon), line.slice(colon + 2)];
      }),
    );
    if (lines.id !== undefined) ids.push(lines.id);
    if (lines.event === 'connected') answers.push(JSON.parse(lines.data));
    if (lines.event === 'event') events.push(JSON.parse(lines.data));
  }).catch(() => undefined);
  return { response, events, answers, ids, ended, close: () => gone.abort() };
}

async function read(response: Response, onFrame: (frame: string) => void): Promise<void> {
  if (response.status !== 200 || response.body === null) return;
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body) {
    text += decoder.decode(chunk, { stream: true });
    const frames = text.split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames) onFrame(frame);
  }
}
