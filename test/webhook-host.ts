/** API hosts with webhooks: each with a feed of its own over the same chain and the same tables. */
import { EventEmitter, once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { Registry } from 'prom-client';
import { expect, vi } from 'vitest';
import type { ClickHouse } from '../clickhouse/client.ts';
import type { Terms } from '../clickhouse/lease.ts';
import { subscribersDatabase } from '../clickhouse/subscribers.ts';
import { createFront } from '../src/api/front.ts';
import { createAsked, v3Api } from '../src/api/v3/api.ts';
import { createHostCounts, type KeyCounts } from '../src/feed/key-counts.ts';
import { createPositions } from '../src/feed/positions.ts';
import { noLiteservers } from '../src/node/liteservers.ts';
import type { IsAllowed } from '../src/webhooks/addresses.ts';
import { createWebhookMetrics } from '../src/webhooks/metrics.ts';
import type { Outcome } from '../src/webhooks/poster.ts';
import { webhookRoutes } from '../src/webhooks/routes.ts';
import { createWebhookStore } from '../src/webhooks/store.ts';
import { createTurns } from '../src/webhooks/turns.ts';
import { createWebhooks } from '../src/webhooks/webhooks.ts';
import { DEFAULT_LIMITS } from './default-limits.ts';
import { type FeedServer, serveFeed } from './feed-server.ts';
import type { FeedSource } from './feed-source.ts';
import { noContracts } from './small-pool.ts';
import { statesOf } from './states.ts';
import type { WebhookTarget } from './webhook-target.ts';

type Json = Record<string, unknown>;

/** One that a machine that stands still for a while does not lose: what was told would be told again. */
export const LEASE = { lastsMs: 60_000, renewMs: 300, settleMs: 300 };
/** Nor is an answer that is slow for that reason taken for none. */
const LIMITS = { retryMs: 20, longestRetryMs: 100, attempts: 3, timeoutMs: 120_000, lastAnswerMs: 60_000 };

export interface WebhookHost {
  ask(method: string, path: string, body?: Json, key?: string): Promise<{ status: number; answer: Json }>;
  reported: unknown[];
  /** What became of the requests to webhooks so far. */
  outcomes: Outcome['kind'][];
  /** Questions to the tables so far. */
  questions(): number;
  /** The statements themselves. */
  asked(): string[];
  feedPort: number;
  make(asked?: Json): Promise<string>;
  shown(id: string): Promise<Json>;
  /** The tables are out of its reach; it does not know why. */
  cutOff(): Promise<void>;
  /** The tables do not answer it, or do again. */
  loseTables(now: boolean): void;
  /** Questions with this text wait, until there is none. */
  holdQuestions(text: string | null): void;
  close(): Promise<void>;
}

export interface WebhookHostOptions {
  clickhouse: ClickHouse;
  chain: FeedSource;
  /** Where its webhooks lead unless they say otherwise. */
  target: WebhookTarget;
  isAllowed?: IsAllowed;
  keys?: KeyCounts;
  lease?: Terms;
  limits?: Partial<typeof LIMITS>;
}

/** An API host: a feed of its own over the same chain and the same tables. */
export async function openWebhookHost({
  clickhouse,
  chain,
  target,
  isAllowed = () => true,
  keys = createHostCounts().open(),
  lease = LEASE,
  limits = {},
}: WebhookHostOptions): Promise<WebhookHost> {
  const feed: FeedServer = await serveFeed(chain);
  const reached = subscribersDatabase(clickhouse);
  let lost = false;
  let held: string | null = null;
  const bell = new EventEmitter();
  const own: ClickHouse = {
    ...reached,
    async json(...question) {
      if (lost) throw new Error('the tables do not answer');
      if (held !== null && question[0].includes(held)) await once(bell, 'go', { signal: question[2]?.signal });
      return reached.json(...question);
    },
    async insert(...rows) {
      if (lost) throw new Error('the tables do not answer');
      return reached.insert(...rows);
    },
  };
  const asked = vi.spyOn(own, 'json');
  const reported: unknown[] = [];
  const outcomes: Outcome['kind'][] = [];
  const webhooks = createWebhooks({
    clickhouse: own,
    feed: feed.streaming.feed,
    keys,
    reach: { isAllowed },
    metrics: { ...createWebhookMetrics(new Registry()), attempted: (outcome) => outcomes.push(outcome) },
    report: (error) => reported.push(error),
    limits: { ...LIMITS, ...limits },
    lease,
  });
  const routes = webhookRoutes({
    store: createWebhookStore(own),
    positions: createPositions(own),
    feed: feed.streaming.feed,
    wake: webhooks.wake,
    inTurn: createTurns(keys),
    isAllowed,
    limits: DEFAULT_LIMITS,
    maxWebhooks: 5,
    maxBytes: 300_000,
    maxAddresses: 100,
  });
  const metrics = new Registry();
  const { source } = chain;
  const options = {
    source,
    liteservers: noLiteservers(),
    contracts: noContracts(),
    states: statesOf(source),
    limits: DEFAULT_LIMITS,
    testnet: () => false,
    metrics,
    keptRenderings: 0,
    moreRoutes: routes,
  };
  const api = v3Api(options, createAsked(options));
  const server = createServer(
    createFront({ apis: [api], metrics, limits: DEFAULT_LIMITS, report: (error) => reported.push(error) }),
  );
  const port = await listening(server);
  const ended = new AbortController();
  const running = webhooks.run(ended.signal);
  const ask = async (method: string, path: string, body?: Json, key = '') => {
    const headers = key === '' ? {} : { 'x-limiting-key': key };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`http://127.0.0.1:${port}/api/v3/webhooks${path}`, { method, headers, ...sent });
    const answer = (await response.json()) as Json;
    return { status: response.status, answer };
  };
  return {
    ask,
    reported,
    outcomes,
    questions: () => asked.mock.calls.length,
    asked: () => asked.mock.calls.map(([sql]) => sql),
    feedPort: feed.port,
    async make(asked: Json = {}): Promise<string> {
      const subscription = { types: ['transactions', 'block'], everything: true };
      const { status, answer } = await ask('POST', '', {
        url: target.url,
        secret: target.secret,
        subscription,
        ...asked,
      });
      expect(answer).toMatchObject({ url: target.url, secret: target.secret });
      expect(status).toBe(200);
      return String(answer.id);
    },
    async shown(id: string): Promise<Json> {
      const { answer } = await ask('GET', '');
      return (answer.webhooks as Json[]).find((one) => one.id === id) ?? {};
    },
    cutOff: () => own.close(),
    loseTables(now) {
      lost = now;
    },
    holdQuestions(text) {
      held = text;
      if (text === null) bell.emit('go');
    },
    async close() {
      ended.abort();
      await running;
      await feed.close();
      server.closeAllConnections();
      server.close();
      await own.close();
    },
  };
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}
