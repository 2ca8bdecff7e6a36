/** Webhooks as a part of the HTTP service: their operations, and their delivery. */
import type { Registry } from 'prom-client';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { apiLimits } from '../api/limits.ts';
import type { Asker, Route } from '../api/route.ts';
import type { Config } from '../config.ts';
import type { Feed } from '../feed/feed.ts';
import type { KeyCounts } from '../feed/key-counts.ts';
import { createPositions } from '../feed/positions.ts';
import { reachOf } from './addresses.ts';
import { createWebhookMetrics } from './metrics.ts';
import { webhookRoutes } from './routes.ts';
import { createWebhookStore } from './store.ts';
import { createTurns } from './turns.ts';
import { createWebhooks } from './webhooks.ts';

export interface OpenWebhooks {
  /** Of the v3 API. */
  routes: Route<Asker>[];
  /** Before the feed. */
  close(): Promise<void>;
}

export interface OpenWebhooksOptions {
  config: Pick<
    Config,
    'webhooks' | 'webhookBytes' | 'webhookPrivate' | 'feedAddresses' | 'maxLimit' | 'queryTimeoutMs' | 'maxBodyBytes'
  >;
  /** Of the subscribers' database. */
  clickhouse: ClickHouse;
  feed: Feed;
  /** Of all processes of the host. */
  keys: KeyCounts;
  registry: Registry;
  report: (error: unknown) => void;
}

export function openWebhooks({ config, clickhouse, feed, keys, registry, report }: OpenWebhooksOptions): OpenWebhooks {
  const reach = reachOf(config.webhookPrivate);
  const metrics = createWebhookMetrics(registry);
  const webhooks = createWebhooks({ clickhouse, feed, keys, reach, metrics, report });
  const ended = new AbortController();
  const running = config.webhooks > 0 ? webhooks.run(ended.signal) : Promise.resolve();
  return {
    routes: webhookRoutes({
      store: createWebhookStore(clickhouse),
      positions: createPositions(clickhouse),
      feed,
      wake: webhooks.wake,
      inTurn: createTurns(keys),
      isAllowed: reach.isAllowed,
      limits: apiLimits(config),
      maxWebhooks: config.webhooks,
      maxBytes: config.webhookBytes,
      maxAddresses: config.feedAddresses,
    }),
    async close() {
      ended.abort();
      await running;
    },
  };
}
