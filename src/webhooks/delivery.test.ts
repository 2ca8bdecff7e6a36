import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import { openEvents, serveFeed } from '../../test/feed-server.ts';
import { createFeedSource } from '../../test/feed-source.ts';
import type { Feed } from '../feed/feed.ts';
import type { Line } from '../feed/line.ts';
import { type Delivery, startDelivery } from './delivery.ts';
import { createWebhookMetrics } from './metrics.ts';
import type { Outcome } from './poster.ts';
import { newSecret } from './signature.ts';
import type { DeadLetter, ListedLetter, Webhook } from './store.ts';

let delivery: Delivery | undefined;
afterEach(() => delivery?.stop());

const letter = (eventId: string): ListedLetter => {
  return { webhook: 'hook', eventId, cursor: '', state: 'replay', error: '', savedAt: 1 };
};

const LIMITS = { queueBytes: 1_000, attempts: 3, retryMs: 20, longestRetryMs: 1_000, letters: 100, lastAnswerMs: 200 };
const metrics = () => createWebhookMetrics(new Registry());

const webhookOf = (subscription: string): Webhook => {
  const secret = newSecret();
  return { id: 'hook', owner: '', url: '', secret, subscription, batch: 1, start: '', revision: 1, createdAt: 0 };
};

it('leaves nothing out for a target that was away, not even where the subscription would on a stream', async () => {
  const chain = createFeedSource('private');
  chain.advance(chain.steps[0]);
  const server = await serveFeed(chain);
  const { feed } = server.streaming;
  let isDown = true;
  const told: string[] = [];
  delivery = startDelivery({
    webhook: webhookOf('{"types":["block"],"on_lag":"skip"}'),
    from: { cursor: await feed.cursorAt(null, new AbortController().signal), failures: 0, refusals: 0, error: '' },
    letters: 0,
    feed,
    poster: {
      async post(_url, body) {
        if (isDown) return { kind: 'away', reason: 'answered 503', retryAfterMs: null };
        told.push(JSON.parse(body.toString()).event_id);
        return { kind: 'taken' };
      },
      close: () => undefined,
    },
    mayDeliver: () => true,
    saveLetters: async () => undefined,
    metrics: metrics(),
    limits: { ...LIMITS, longestRetryMs: 20 },
  });
  await expect.poll(() => feed.figures.lines).toBe(1);
  for (const step of chain.steps.slice(1, 101)) {
    chain.advance(step);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await expect.poll(() => feed.figures.behind).toBe(1);
  isDown = false;
  await expect.poll(() => feed.figures.behind).toBe(0);
  const all = await openEvents(server.port, { types: ['block'], from_mc_seqno: chain.steps[1] });
  await expect.poll(() => all.events.at(-1)?.type).toBe('caught_up');
  const ids = all.events.slice(0, -1).map(({ event_id }) => event_id);
  await expect.poll(() => told.at(-1)).toBe(ids.at(-1));
  expect(told).toEqual(ids);
  all.close();
  await delivery.stop();
  await server.close();
});

describe('what is under way when a delivery ends', () => {
  async function deliverTo(post: (signal: AbortSignal) => Promise<Outcome>) {
    const chain = createFeedSource('private');
    chain.advance(chain.steps[0]);
    const server = await serveFeed(chain);
    const { feed } = server.streaming;
    const told: string[] = [];
    let requests = 0;
    delivery = startDelivery({
      webhook: webhookOf('{"types":["block"]}'),
      from: { cursor: await feed.cursorAt(null, new AbortController().signal), failures: 0, refusals: 0, error: '' },
      letters: 0,
      feed,
      poster: {
        async post(_url, body, _headers, signal) {
          requests++;
          const outcome = await post(signal);
          told.push(JSON.parse(body.toString()).cursor);
          return outcome;
        },
        close: () => undefined,
      },
      mayDeliver: () => true,
      saveLetters: async () => undefined,
      metrics: metrics(),
      limits: LIMITS,
    });
    await expect.poll(() => feed.figures.lines).toBe(1);
    for (const step of chain.steps.slice(1, 4)) chain.advance(step);
    await expect.poll(() => requests).toBe(1);
    return { delivery, told, close: server.close };
  }

  it('is waited for and counts, so that it is not told again', async () => {
    const { delivery, told, close } = await deliverTo(async (signal) => {
      await sleep(50, undefined, { signal });
      return { kind: 'taken' };
    });
    await delivery.stop();
    expect(told).toEqual([delivery.progress().cursor]);
    await close();
  });

  it('is given up when no answer comes', async () => {
    const { delivery, told, close } = await deliverTo(async (signal) => {
      await sleep(1_000_000, undefined, { signal });
      return { kind: 'taken' };
    });
    await delivery.stop();
    expect(told).toEqual([]);
    await close();
  });
});

/** A delivery of dead letters alone, to a target that does this with each body. */
function replaying(
  post: (body: string) => Promise<Outcome>,
  find = async (id: string) => Buffer.from(id),
  mayFail: () => void = () => undefined,
) {
  const saved: DeadLetter[] = [];
  const feed = {
    open: () => ({}) as Line,
    subscribe: async () => undefined,
    cursorOf: () => '',
    close: () => undefined,
    find: ({ id }: { id: string }) => find(id),
  } as unknown as Feed;
  delivery = startDelivery({
    webhook: webhookOf('{"types":["block"]}'),
    from: { cursor: '', failures: 0, refusals: 0, error: '' },
    letters: 10,
    feed,
    poster: { post: (_url, body) => post(body.toString()), close: () => undefined },
    mayDeliver: () => true,
    async saveLetters(letters) {
      await sleep(20);
      mayFail();
      saved.push(...letters);
    },
    metrics: metrics(),
    limits: LIMITS,
  });
  return { delivery, saved };
}

describe('dead letters that are told again', () => {
  it('come as seldom as anything else to a target that is away', async () => {
    const told: string[] = [];
    const { delivery } = replaying(async (body) => {
      told.push(body);
      return { kind: 'away', reason: 'answered 503', retryAfterMs: null };
    });
    for (let i = 0; i < 100; i++) delivery.replay(letter(`event ${i}`));
    await expect.poll(() => told.length).toBeGreaterThan(2);
    expect(told.length).toBeLessThan(8);
    expect(delivery.progress()).toMatchObject({ failures: told.length, error: 'answered 503' });
  });

  it('come once each, though they are read again before it is noted that they were taken', async () => {
    const told: string[] = [];
    const { delivery, saved } = replaying(async (body) => {
      told.push(body);
      return { kind: 'taken' };
    });
    const all = Array.from({ length: 5 }, (_, i) => letter(`event ${i}`));
    for (let i = 0; i < 20; i++) {
      for (const one of all.filter(({ eventId }) => !saved.some((done) => done.eventId === eventId))) {
        delivery.replay(one);
      }
      await sleep(10);
    }
    expect(told).toEqual(all.map(({ eventId }) => eventId));
    // Dead once more, and wanted once more.
    delivery.replay({ ...all[0], savedAt: 2 });
    await expect.poll(() => told.length).toBe(6);
  });

  it('come again when it could not be noted that they were taken', async () => {
    const told: string[] = [];
    let failures = 1;
    const { delivery, saved } = replaying(
      async (body) => {
        told.push(body);
        return { kind: 'taken' };
      },
      undefined,
      () => {
        if (failures-- > 0) throw new Error('the tables are away');
      },
    );
    await expect
      .poll(() => {
        delivery.replay(letter('event'));
        return saved.map(({ eventId, state }) => [eventId, state]);
      })
      .toEqual([['event', 'taken']]);
    expect(told).toEqual(['event', 'event']);
  });

  it('do not stand in the way of others when one cannot be made', async () => {
    const told: string[] = [];
    const { delivery } = replaying(
      async (body) => {
        told.push(body);
        return { kind: 'taken' };
      },
      async (id) => {
        if (id === 'broken') throw new Error('no such step');
        return Buffer.from(id);
      },
    );
    delivery.replay(letter('broken'));
    delivery.replay(letter('good'));
    await expect.poll(() => told).toEqual(['good']);
  });
});
