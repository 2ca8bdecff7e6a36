/**
 * All webhooks, delivered to by one process of all API hosts at a time. Of each host one process looks for them; the one
 * of these that holds the lease starts a delivery for each and notes how far it has come, so that any other can go on
 * from there.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { createLease, keepLease, type Terms, type Turn } from '../../clickhouse/lease.ts';
import type { Feed } from '../feed/feed.ts';
import { type KeyCounts, NO_LIMIT } from '../feed/key-counts.ts';
import { isFurther } from '../feed/place.ts';
import { createPositions, inOrder, type Position } from '../feed/positions.ts';
import type { Reach } from './addresses.ts';
import { type Delivery, type DeliveryLimits, type Progress, startDelivery } from './delivery.ts';
import type { WebhookMetrics } from './metrics.ts';
import { createPoster } from './poster.ts';
import { createWebhookStore, type ListedWebhook, type Webhook } from './store.ts';

export interface WebhooksOptions {
  /** Of the subscribers' database. */
  clickhouse: ClickHouse;
  feed: Feed;
  /** Of all processes of the host. */
  keys: KeyCounts;
  reach: Reach;
  metrics: WebhookMetrics;
  report: (error: unknown) => void;
  /** Other than the defaults in tests only. */
  limits?: Partial<DeliveryLimits & { timeoutMs: number }>;
  lease?: Partial<Terms>;
}

export interface Webhooks {
  /** Something was changed here: looks at once. */
  wake(): void;
  /** Until the signal aborts; notes all positions then and lets another process go on. */
  run(signal: AbortSignal): Promise<void>;
}

const LIMITS: DeliveryLimits & { timeoutMs: number } = {
  queueBytes: 256 * 1024,
  attempts: 10,
  retryMs: 1_000,
  longestRetryMs: 300_000,
  letters: 10_000,
  lastAnswerMs: 1_000,
  timeoutMs: 10_000,
};
/** Between two looks at what there is to deliver; positions are noted as often. */
const LOOK_MS = 1_000;
/** Webhooks that are read before the first of them is told. */
export const STARTED_AT_ONCE = 100;
/** Of one webhook. */
const REPLAYS_AT_ONCE = 100;
const LEASE = 'webhooks';
/** Whoever has it looks for webhooks at this host. No gateway sends such a key. */
const LOOKOUT = '\n webhooks';
const ONE = { connections: 1, addresses: 0 };
const NONE = { connections: -1, addresses: 0 };
/** When and how often what was removed is forgotten, and how long after: whoever still saves of it has done so by then. */
const FORGET_FIRST_MS = 60_000;
const FORGET_EVERY_MS = 3_600_000;
const FORGET_AFTER_MS = 86_400_000;
/** For the last words. */
const FAREWELL_MS = 2_000;

export function createWebhooks(options: WebhooksOptions): Webhooks {
  const { clickhouse, feed, keys, metrics, report } = options;
  const limits = { ...LIMITS, ...options.limits };
  const store = createWebhookStore(clickhouse);
  const positions = inOrder(createPositions(clickhouse));
  const lease = createLease({ clickhouse, name: LEASE, ...(options.lease ? { terms: options.lease } : {}) });
  const poster = createPoster({ ...options.reach, timeoutMs: limits.timeoutMs });
  const deliveries = new Map<string, Delivery>();
  let waking = new AbortController();
  let isLookout = false;
  let forgetAt = performance.now() + FORGET_FIRST_MS;

  /** Whether this process is the one of the host that looks. One that dies gives it back. */
  async function standsWatch(): Promise<boolean> {
    isLookout ||= (await keys.take(LOOKOUT, ONE, { ...NO_LIMIT, connections: 1 })) === null;
    return isLookout;
  }

  async function look(signal: AbortSignal): Promise<void> {
    const webhooks = await store.list(signal);
    await noteLeft(signal);
    if (webhooks.length === 0) await lease.release(signal);
    else await lease.tend(signal);
    // What there is to do of many takes longer than a lease lasts, and meanwhile the others are told.
    const turn = lease.held ? keepLease(lease, signal) : null;
    try {
      if (turn === null) await leave();
      else await deliver(webhooks, turn, signal);
      await note(signal);
      await forget(signal);
    } finally {
      await turn?.end();
    }
  }

  async function deliver(webhooks: readonly ListedWebhook[], turn: Turn, signal: AbortSignal): Promise<void> {
    const wanted = new Map(webhooks.map((webhook) => [webhook.id, webhook]));
    await stop([...deliveries.values()].filter(({ webhook }) => !isSame(webhook, wanted.get(webhook.id))));
    const fresh = [...wanted.keys()].filter((id) => !deliveries.has(id));
    // Those that are read are told, whatever becomes of the next ones.
    for (let at = 0; at < fresh.length && turn.lasts; at += STARTED_AT_ONCE) {
      await start(await store.read({ ids: fresh.slice(at, at + STARTED_AT_ONCE) }, signal), signal);
      await note(signal);
    }
    for (const letter of await store.toReplay([...deliveries.keys()], REPLAYS_AT_ONCE, signal)) {
      deliveries.get(letter.webhook)?.replay(letter);
    }
  }

  async function readPositions(ids: readonly string[], signal: AbortSignal): Promise<Map<string, Position>> {
    const known = await positions.read('webhook', '', ids, signal);
    return new Map(known.map((one) => [one.name, one]));
  }

  async function save(which: readonly Delivery[], signal: AbortSignal): Promise<void> {
    const changed = which.flatMap(({ webhook: { id, revision }, progress }) => {
      const now = progress();
      const before = noted.get(id);
      if (before?.cursor === now.cursor && before.failures === now.failures) return [];
      return [{ kind: 'webhook' as const, owner: '', name: id, revision, ...now }];
    });
    if (changed.length === 0) return;
    await positions.save(changed, signal);
    for (const { name, cursor, failures, refusals, error } of changed) {
      noted.set(name, { cursor, failures, refusals, error });
    }
  }

  async function start(webhooks: readonly Webhook[], signal: AbortSignal): Promise<void> {
    const ids = webhooks.map(({ id }) => id);
    const known = await readPositions(ids, signal);
    const letters = await store.countLetters(ids, signal);
    for (const webhook of webhooks) {
      const from = progressOf(webhook, known.get(webhook.id));
      deliveries.set(
        webhook.id,
        startDelivery({
          webhook,
          from,
          letters: letters.get(webhook.id) ?? 0,
          feed,
          poster,
          mayDeliver: () => lease.held,
          saveLetters: store.saveLetters,
          metrics,
          limits,
        }),
      );
      noted.set(webhook.id, from);
    }
  }
  /** As it was saved last, by webhook. */
  const noted = new Map<string, Progress>();

  async function stop(which: readonly Delivery[]): Promise<void> {
    for (const { webhook } of which) deliveries.delete(webhook.id);
    await Promise.all(which.map((delivery) => delivery.stop()));
  }

  /** Others may deliver. */
  async function leave(): Promise<void> {
    const which = [...deliveries.values()];
    await stop(which);
    for (const delivery of which) left.set(delivery.webhook.id, delivery);
  }
  /** How far they came is still to be noted, by webhook: what they delivered last is told again otherwise. */
  const left = new Map<string, Delivery>();

  /** Unless another process has come further, or the webhook has another start by now. */
  async function noteLeft(signal: AbortSignal): Promise<void> {
    if (left.size === 0) return;
    const known = await readPositions([...left.keys()], signal);
    const further = [...left.values()].filter(({ webhook, progress }) => {
      const position = known.get(webhook.id);
      if (position !== undefined && position.revision > webhook.revision) return false;
      return isFurther(progress().cursor, progressOf(webhook, position).cursor);
    });
    await save(further, signal);
    left.clear();
  }

  async function note(signal: AbortSignal): Promise<void> {
    if (lease.held) await save([...deliveries.values()], signal);
    const failing = [...deliveries.values()].filter((delivery) => delivery.progress().failures > 0).length;
    metrics.delivering(deliveries.size, failing);
  }

  async function forget(signal: AbortSignal): Promise<void> {
    if (performance.now() < forgetAt) return;
    forgetAt = performance.now() + FORGET_EVERY_MS;
    await store.forget(Date.now() - FORGET_AFTER_MS, signal);
  }

  async function end(): Promise<void> {
    const last = [...deliveries.values()];
    await stop(last);
    const farewell = AbortSignal.timeout(FAREWELL_MS);
    await noteLeft(farewell);
    if (lease.held) await save(last, farewell);
    await lease.release(farewell);
    if (isLookout) await keys.take(LOOKOUT, NONE, NO_LIMIT);
    poster.close();
  }

  return {
    wake: () => waking.abort(),
    async run(signal) {
      let failed = false;
      while (!signal.aborted) {
        try {
          if (await standsWatch()) await look(signal);
          failed = false;
        } catch (error) {
          if (signal.aborted) break;
          if (!failed) report(error);
          failed = true;
          if (!lease.held) await leave();
        }
        waking = new AbortController();
        await sleep(LOOK_MS, undefined, { signal: AbortSignal.any([signal, waking.signal]) }).catch(() => undefined);
      }
      await end().catch(report);
    },
  };
}

/** Where a delivery goes on: what was noted for this revision, else at the webhook's start. */
export function progressOf({ revision, start }: Webhook, position: Position | undefined): Progress {
  if (position?.revision !== revision) return { cursor: start, failures: 0, refusals: 0, error: '' };
  const { cursor, failures, refusals, error } = position;
  return { cursor, failures, refusals, error };
}

function isSame(one: Webhook, other: ListedWebhook | undefined): boolean {
  return other !== undefined && one.revision === other.revision;
}
