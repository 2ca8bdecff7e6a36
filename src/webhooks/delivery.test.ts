import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, it } from 'vitest';
import type { Feed } from '../feed/feed.ts';
import type { Line } from '../feed/line.ts';
import { type Delivery, startDelivery } from './delivery.ts';
import { createWebhookMetrics } from './metrics.ts';
import type { Outcome } from './poster.ts';
import { newSecret } from './signature.ts';
import type { DeadLetter, ListedLetter } from './store.ts';

let delivery: Delivery | undefined;
afterEach(() => delivery?.stop());

const letter = (eventId: string): ListedLetter => {
  return { webhook: 'hook', eventId, cursor: '', state: 'replay', error: '', savedAt: 1 };
};

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
    webhook: {
      id: 'hook',
      owner: '',
      url: '',
      secret: newSecret(),
      subscription: '{"types":["block"]}',
      batch: 1,
      start: '',
      revision: 1,
      createdAt: 0,
    },
    from: { cursor: '', failures: 0, error: '' },
    letters: 10,
    feed,
    poster: { post: (_url, body) => post(body.toString()), close: () => undefined },
    mayDeliver: () => true,
    async saveLetters(letters) {
      await sleep(20);
      mayFail();
      saved.push(...letters);
    },
    metrics: createWebhookMetrics(new Registry()),
    limits: { queueBytes: 1_000, attempts: 3, retryMs: 20, longestRetryMs: 1_000, letters: 100 },
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
