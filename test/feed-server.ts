/** The feed over a recorded chain behind a port, and clients of it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { Registry } from 'prom-client';
import WebSocket from 'ws';
import { readInTurn } from '../src/api/in-turn.ts';
import { SERVER_OPTIONS } from '../src/api/limits.ts';
import { takeUpgrades } from '../src/api/upgrades.ts';
import { createRenderings } from '../src/api/v3/render/renderings.ts';
import { createHostCounts, type HostCounts } from '../src/feed/key-counts.ts';
import { createFeedMetrics } from '../src/feed/metrics.ts';
import type { Position, Positions } from '../src/feed/positions.ts';
import { createStreaming, type FeedLimits } from '../src/feed/streaming.ts';
import { createPendingStore, type PendingStore } from '../src/pending/store.ts';
import type { FeedSource } from './feed-source.ts';

export const LIMITS: FeedLimits = {
  maxConnections: 1000,
  maxAddresses: 10_000,
  queueBytes: 256 * 1024,
  stallMs: 30_000,
  maxMessageBytes: 1024 * 1024,
  maxSubscribedBytes: 64 * 1024 * 1024,
};

/** Positions of subscribers in memory, for feeds that share them. */
export function createKeptPositions(): Positions {
  const kept = new Map<string, Position>();
  const saved = new Map<string, number>();
  const keyOf = (kind: string, owner: string, name: string): string => `${kind} ${owner} ${name}`;
  return {
    read: async (kind, owner, names) => names.flatMap((name) => kept.get(keyOf(kind, owner, name)) ?? []),
    count: async (owner) => [...kept.values()].filter((one) => one.kind === 'name' && one.owner === owner).length,
    async save(positions, _signal, savedAt = Date.now() * 1000) {
      for (const one of positions) {
        const key = keyOf(one.kind, one.owner, one.name);
        const known = kept.get(key)?.revision ?? 0;
        if (known > one.revision || (known === one.revision && (saved.get(key) ?? 0) > savedAt)) continue;
        kept.set(key, one);
        saved.set(key, savedAt);
      }
    },
  };
}

export async function serveFeed(
  chain: Pick<FeedSource, 'source' | 'head'>,
  limits: Partial<FeedLimits> = {},
  positions: Positions = createKeptPositions(),
  keys: HostCounts = createHostCounts(),
  pending: PendingStore = createPendingStore(),
) {
  const failures: unknown[] = [];
  const streaming = createStreaming({
    source: chain.source,
    head: chain.head,
    pending,
    globalId: () => (chain.head.seqno === 0 ? null : -239),
    testnet: () => false,
    withV1: true,
    renderings: createRenderings({ maxBytes: 0 }),
    queryTimeoutMs: 30_000,
    limits: { ...LIMITS, ...limits },
    metrics: createFeedMetrics(new Registry()),
    positions,
    keys: keys.open(),
    report: (error) => failures.push(error),
  });
  const app = express();
  app.use(streaming.router);
  const server = createServer(SERVER_OPTIONS, app);
  takeUpgrades(server, streaming.upgrades, readInTurn(server));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    port,
    streaming,
    failures,
    async close() {
      await streaming.close();
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
  /** Both, as they came. */
  heard: Json[];
  closed: { code: number; reason: string } | null;
  send(message: Json): void;
  sendText(text: string): void;
  close(): void;
  stop(): void;
  resume(): void;
}

export async function openSocket(
  port: number,
  headers: Record<string, string> = {},
  version: 'v1' | 'v2' = 'v2',
): Promise<Listener> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api/streaming/${version}/ws`, { headers });
  const listener: Listener = {
    events: [],
    answers: [],
    heard: [],
    closed: null,
    send: (message) => socket.send(JSON.stringify(message)),
    sendText: (text) => socket.send(text),
    close: () => socket.terminate(),
    stop: () => socket.pause(),
    resume: () => socket.resume(),
  };
  socket.on('message', (data) => {
    const json: Json = JSON.parse(String(data));
    (json.type === undefined ? listener.answers : listener.events).push(json);
    listener.heard.push(json);
  });
  socket.on('close', (code, reason) => {
    listener.closed = { code, reason: String(reason) };
  });
  socket.on('error', () => undefined);
  await once(socket, 'open');
  return listener;
}

/**
 * A subscriber who stays: when the connection breaks it goes on behind the last cursor it has heard. All that came is in
 * `events`, in order.
 */
export function followFeed(port: number, subscription: Json) {
  const events: Json[] = [];
  let stopped = false;
  let connections = 0;
  const run = async (): Promise<void> => {
    while (!stopped) {
      const cursor = events.findLast((event) => typeof event.cursor === 'string')?.cursor;
      const from = cursor === undefined ? { from_mc_seqno: 0 } : { from_cursor: cursor };
      const socket = await openSocket(port).catch(() => null);
      if (socket !== null) {
        connections++;
        socket.send({ operation: 'subscribe', ...subscription, ...from });
        let heard = 0;
        while (!stopped && (socket.closed === null || heard < socket.events.length)) {
          events.push(...socket.events.slice(heard));
          heard = socket.events.length;
          await sleep(20);
        }
        socket.close();
      }
      if (!stopped) await sleep(50);
    }
  };
  const ended = run();
  return {
    events,
    get connections() {
      return connections;
    },
    async stop(): Promise<void> {
      stopped = true;
      await ended;
    },
  };
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
