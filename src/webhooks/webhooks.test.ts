import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type ClickHouse, createClickHouse } from '../../clickhouse/client.ts';
import { migrateSubscribers, subscribersDatabase } from '../../clickhouse/subscribers.ts';
import { silent, startTestServer, type TestServer } from '../../clickhouse/test-server.ts';
import { openSocket } from '../../test/feed-server.ts';
import { createFeedSource, type FeedSource } from '../../test/feed-source.ts';
import { LEASE, openWebhookHost, type WebhookHost, type WebhookHostOptions } from '../../test/webhook-host.ts';
import { openTarget, type WebhookTarget } from '../../test/webhook-target.ts';
import { createHostCounts } from '../feed/key-counts.ts';
import { createPositions } from '../feed/positions.ts';
import { isPublic } from './addresses.ts';
import { createWebhookStore, weightOf } from './store.ts';
import { STARTED_AT_ONCE } from './webhooks.ts';

type Json = Record<string, unknown>;

let tables: TestServer;
let clickhouse: ClickHouse;
let databases = 0;
let chain: FeedSource;
let target: WebhookTarget;
const hosts: WebhookHost[] = [];

beforeAll(async () => {
  tables = await startTestServer();
});
afterAll(async () => {
  await tables.remove();
});

beforeEach(async () => {
  clickhouse = createClickHouse({ url: tables.server.url, database: `hooks_${++databases}`, logger: silent });
  await migrateSubscribers(clickhouse, silent);
  chain = createFeedSource('private');
  chain.advance(chain.steps[10]);
  target = await openTarget();
});
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.close();
  target.close();
  await clickhouse.close();
});

const BRIEF_LEASE = { ...LEASE, lastsMs: 2_000 };

async function openHost(
  options: Pick<WebhookHostOptions, 'isAllowed' | 'keys' | 'lease' | 'limits'> = {},
): Promise<WebhookHost> {
  const host = await openWebhookHost({ clickhouse, chain, target, ...options });
  hosts.push(host);
  return host;
}

/** Ids of all events that a subscriber over WebSocket is told behind a step, to the head. */
async function eventsFrom(port: number, mcSeqno: number, types = ['transactions', 'block']): Promise<unknown[]> {
  const socket = await openSocket(port);
  socket.send({ operation: 'subscribe', types, everything: true, from_mc_seqno: mcSeqno });
  await expect.poll(() => socket.events.at(-1)?.type).toBe('caught_up');
  socket.close();
  return socket.events.slice(0, -1).map((event) => event.event_id);
}

async function advance(from: number, to: number): Promise<void> {
  for (const step of chain.steps.slice(from + 1, to + 1)) {
    chain.advance(step);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const ids = () => target.received.map(({ event_id }) => event_id);

describe('a webhook', () => {
  it('is told of everything once, in order, signed, one by one or in lists', async () => {
    const host = await openHost({ lease: { ...LEASE, settleMs: 1_000 } });
    for (const batch of [1, 50]) {
      const id = await host.make({ batch });
      const from = chain.steps.indexOf(chain.head.seqno);
      target.received = [];
      await advance(from, from + 15);
      const expected = await eventsFrom(host.feedPort, chain.steps[from + 1]);
      await expect.poll(() => target.received.length).toBeGreaterThanOrEqual(expected.length);
      expect(new Set(host.outcomes)).toEqual(new Set(['taken']));
      expect(ids()).toEqual(expected);
      expect((await host.ask('DELETE', `?id=${id}`)).answer).toEqual({ id });
      await expect.poll(() => host.ask('GET', '').then(({ answer }) => answer)).toEqual({ webhooks: [] });
    }
    expect(target.forged).toEqual([]);
    expect(host.reported).toEqual([]);
  });

  it('that was made before there was a step is told of the first one, and of all behind it', async () => {
    chain = createFeedSource('private');
    const host = await openHost();
    const id = await host.make();
    await advance(-1, 5);
    const expected = await eventsFrom(host.feedPort, chain.steps[0]);
    await expect.poll(() => target.received.length).toBe(expected.length);
    expect(ids()).toEqual(expected);
    expect(await host.shown(id)).toMatchObject({ failures: 0, error: null });
  });

  it('goes on where it was when it was away, and when the service was', async () => {
    const first = await openHost();
    let down = false;
    target.answer = () => (down ? [0, 429, 503][target.requests % 3] : 200);
    const id = await first.make({ subscription: { types: ['transactions'], everything: true, from_mc_seqno: 0 } });
    await expect.poll(() => target.received.length).toBeGreaterThan(3);
    down = true;
    await advance(10, 20);
    await expect.poll(() => first.shown(id)).toMatchObject({ failures: expect.any(Number), error: expect.any(String) });
    await hosts.splice(0)[0].close();
    await advance(20, 30);
    const second = await openHost();
    await new Promise((resolve) => setTimeout(resolve, 500));
    down = false;
    const expected = await eventsFrom(second.feedPort, 0, ['transactions']);
    await expect.poll(() => target.received.length).toBeGreaterThanOrEqual(expected.length);
    expect(ids()).toEqual(expected);
    await expect.poll(() => second.shown(id)).toMatchObject({ failures: 0, error: null, dead_letters: 0 });
  });

  it('has what it refuses kept for it, and told again', async () => {
    const host = await openHost();
    const id = await host.make({ batch: 10, subscription: { types: ['block'], from_mc_seqno: 0 } });
    const expected = await eventsFrom(host.feedPort, 0, ['block']);
    const unwanted = [expected[3], expected[7]];
    target.answer = (told) => (told.some(({ event_id }) => unwanted.includes(event_id)) ? 500 : 200);
    await expect.poll(() => target.received.length).toBeGreaterThanOrEqual(expected.length - 2);
    expect(ids()).toEqual(expected.filter((one) => !unwanted.includes(one)));
    await expect.poll(() => host.shown(id)).toMatchObject({ dead_letters: 2 });
    const { answer } = await host.ask('GET', `/deadLetters?id=${id}`);
    expect(answer.dead_letters).toMatchObject([
      { event_id: unwanted[0], error: 'answered 500', replaying: false },
      { event_id: unwanted[1], error: 'answered 500', replaying: false },
    ]);
    target.answer = () => 200;
    target.received = [];
    expect((await host.ask('POST', '/replay', { id, event_ids: [unwanted[1]] })).answer).toEqual({ replayed: 1 });
    await expect.poll(ids).toEqual([unwanted[1]]);
    // It is one no more when the answer has been noted.
    await expect.poll(() => host.shown(id)).toMatchObject({ dead_letters: 1 });
    expect((await host.ask('POST', '/replay', { id })).answer).toEqual({ replayed: 1 });
    await expect.poll(ids).toEqual([unwanted[1], unwanted[0]]);
    await expect.poll(() => host.shown(id)).toMatchObject({ dead_letters: 0 });
  });

  it('is asked no more often about what it refuses where another host goes on', async () => {
    const limits = { attempts: 6, retryMs: 200, longestRetryMs: 200 };
    const attempts = new Map<unknown, number>();
    target.answer = ([{ event_id }]) => {
      attempts.set(event_id, (attempts.get(event_id) ?? 0) + 1);
      return 400;
    };
    const first = await openHost({ limits });
    const id = await first.make({ subscription: { types: ['block'], from_mc_seqno: 0 } });
    const ofFirst = () => [...attempts.values()][0];
    await expect.poll(ofFirst).toBeGreaterThanOrEqual(3);
    await hosts.splice(0)[0].close();
    const second = await openHost({ limits });
    await expect.poll(() => second.shown(id).then(({ dead_letters }) => dead_letters)).toBeGreaterThanOrEqual(1);
    expect(ofFirst()).toBe(limits.attempts);
  });

  it('is read once, and not each time that it is looked what there is to do', async () => {
    const host = await openHost();
    await host.make();
    await expect.poll(() => host.asked().some((sql) => sql.includes('secret'))).toBe(true);
    const before = host.asked().length;
    await expect.poll(() => host.asked().length).toBeGreaterThan(before + 4);
    expect(host.asked().filter((sql) => sql.includes('secret'))).toHaveLength(1);
  });

  it('is told nothing twice when the tables were away, and nobody else has told it more meanwhile', async () => {
    const host = await openHost({ lease: BRIEF_LEASE });
    await host.make();
    target.answer = () => {
      host.loseTables(true);
      return 200;
    };
    await advance(10, 20);
    await expect.poll(() => target.received.length).toBeGreaterThan(0);
    // For longer than a lease lasts.
    await new Promise((resolve) => setTimeout(resolve, BRIEF_LEASE.lastsMs));
    await advance(20, 30);
    target.answer = () => 200;
    host.loseTables(false);
    const all = await eventsFrom(host.feedPort, chain.steps[11]);
    await expect.poll(() => new Set(ids()).size).toBe(all.length);
    expect(ids()).toEqual(all);
  });

  it('is told while others are read, for however long that takes', async () => {
    const host = await openHost({ lease: BRIEF_LEASE });
    const id = await host.make({ subscription: { types: ['block'] } });
    const own = subscribersDatabase(clickhouse);
    const store = createWebhookStore(own);
    const { signal } = new AbortController();
    const [first] = await store.read({ ids: [id] }, signal);
    const last = '~';
    host.holdQuestions(`'${last}'`);
    const others = Array.from({ length: 150 }, (_, n) => `other ${n}`);
    await Promise.all(others.map((other) => store.save({ ...first, id: other }, signal)));
    await store.save({ ...first, id: last }, signal);
    await own.close();
    // Longer than a lease lasts.
    await new Promise((resolve) => setTimeout(resolve, BRIEF_LEASE.lastsMs * 1.5));
    await advance(10, 11);
    const [event] = await eventsFrom(host.feedPort, chain.steps[11], ['block']);
    const told = () => ids().filter((one) => one === event).length;
    // But for those that are read together with the last one.
    await expect.poll(told).toBeGreaterThan(1 + others.length - STARTED_AT_ONCE);
    host.holdQuestions(null);
    await expect.poll(told).toBe(1 + others.length + 1);
    expect(host.reported).toEqual([]);
  });

  it('is told everything behind a cursor again', async () => {
    const host = await openHost();
    const id = await host.make({ batch: 100, subscription: { types: ['block'], from_mc_seqno: 0 } });
    const expected = await eventsFrom(host.feedPort, 0, ['block']);
    await expect.poll(ids).toEqual(expected);
    const { cursor } = target.received[5];
    target.received = [];
    await host.ask('POST', '/replay', { id, from_cursor: cursor });
    await expect.poll(ids).toEqual(expected.slice(6));
  });
});

describe('several processes of a host', () => {
  it('leave it to one of them to look for webhooks, and another looks when that one is gone', async () => {
    const counts = createHostCounts();
    const [busy, idle] = [counts.open(), counts.open()];
    const first = await openHost({ keys: busy, lease: BRIEF_LEASE });
    await expect.poll(first.questions).toBeGreaterThan(0);
    const second = await openHost({ keys: idle, lease: BRIEF_LEASE });
    await first.make();
    await advance(10, 20);
    await expect.poll(() => target.received.length).toBeGreaterThan(0);
    expect(second.questions()).toBe(0);
    // Killed: it says nothing any more, and has nothing of what it had.
    await first.cutOff();
    busy.end();
    await expect.poll(second.questions).toBeGreaterThan(0);
    await advance(20, 30);
    const all = await eventsFrom(second.feedPort, chain.steps[11]);
    await expect.poll(() => new Set(ids()).size).toBe(all.length);
  });
});

describe('several hosts', () => {
  it('go on with each other although the clock of the tables was set back by an hour', async () => {
    const first = await openHost();
    const id = await first.make();
    await advance(10, 20);
    const subscribers = subscribersDatabase(clickhouse);
    const { signal } = new AbortController();
    await expect.poll(() => createPositions(subscribers).read('webhook', '', [id], signal)).toHaveLength(1);
    // What was noted before is of a time to come.
    await subscribers.command(
      `INSERT INTO leases (name, holder, claimed_us, released, renewed_at)
       SELECT name, holder, claimed_us + 3600000000, released, renewed_at + INTERVAL 1 HOUR FROM leases FINAL`,
    );
    await subscribers.command(
      `INSERT INTO subscriber_positions (kind, owner, name, revision, cursor, failures, error, saved_at)
       SELECT kind, owner, name, revision, cursor, failures, error, saved_at + INTERVAL 1 HOUR
       FROM subscriber_positions FINAL`,
    );
    await subscribers.close();
    await first.close();
    const second = await openHost();
    await advance(20, 30);
    const sofar = await eventsFrom(second.feedPort, chain.steps[11]);
    await expect.poll(() => new Set(ids()).size).toBe(sofar.length);
    await second.close();
    target.received = [];
    const third = await openHost();
    await advance(30, 40);
    const all = await eventsFrom(third.feedPort, chain.steps[11]);
    // What the second one has noted counts.
    await expect.poll(() => ids().length).toBeGreaterThanOrEqual(all.length - sofar.length);
    expect(ids()).toEqual(all.slice(sofar.length));
  });

  it('deliver in turns: one at a time, and another when the first cannot', async () => {
    const first = await openHost({ lease: BRIEF_LEASE });
    const id = await first.make({ batch: 5 });
    await advance(10, 20);
    await expect.poll(() => target.received.length).toBeGreaterThan(0);
    const second = await openHost({ lease: BRIEF_LEASE });
    await advance(20, 30);
    const sofar = await eventsFrom(first.feedPort, chain.steps[11]);
    await expect.poll(() => target.received.length).toBeGreaterThanOrEqual(sofar.length);
    expect(ids()).toEqual(sofar);
    const cursor = target.received.at(-1)?.cursor;
    await expect.poll(async () => (await second.shown(id)).cursor !== undefined).toBe(true);
    await first.cutOff();
    await advance(30, 45);
    const all = await eventsFrom(second.feedPort, chain.steps[11]);
    await expect.poll(() => new Set(ids()).size).toBe(all.length);
    // Without the tables it stops by itself, and the other one tells what is new.
    await advance(45, 50);
    const more = await eventsFrom(second.feedPort, chain.steps[11]);
    await expect.poll(() => ids().at(-1)).toBe(more.at(-1));
    expect(new Set(ids())).toEqual(new Set(more));
    expect(await second.shown(id)).not.toMatchObject({ cursor });
  });
});

describe('the operations', () => {
  it('say what is wrong', async () => {
    const host = await openHost({ isAllowed: isPublic });
    const subscription = { types: ['block'] };
    const deep: unknown = JSON.parse(`${'['.repeat(1_000)}${']'.repeat(1_000)}`);
    const refusals: [Json, RegExp][] = [
      [{ subscription }, /^url: /],
      [{ url: 'https://1.1.1.1/' }, /^subscription: /],
      [{ url: 'http://127.0.0.1:1/', subscription }, /127\.0\.0\.1:1 leads to no public address$/],
      [{ url: 'https://1.1.1.1/', subscription: { types: ['x'] } }, /^subscription: invalid event type: x$/],
      [{ url: 'https://1.1.1.1/', subscription: { types: ['transactions'] } }, /^subscription: addresses are required/],
      [{ url: 'https://1.1.1.1/', subscription: { types: ['block'], from_cursor: 'AAAA' } }, /^cursor is not one/],
      [
        { url: 'https://1.1.1.1/', subscription: { types: deep } },
        /^subscription: invalid subscription request: types/,
      ],
      [{ url: 'https://1.1.1.1/', subscription, batch: 0 }, /^batch: /],
      [{ url: 'https://1.1.1.1/', subscription, secret: 'x' }, /^secret: /],
    ];
    for (const [body, text] of refusals) {
      const { status, answer } = await host.ask('POST', '', body);
      expect({ status, text: String(answer.error) }).toEqual({ status: 422, text: expect.stringMatching(text) });
    }
    for (const [method, path, body] of [
      ['DELETE', '?id=none'],
      ['GET', '/deadLetters?id=none'],
      ['POST', '/replay', { id: 'none' }],
    ] as const) {
      expect(await host.ask(method, path, body)).toEqual({
        status: 404,
        answer: { error: 'there is no webhook none' },
      });
    }
  });

  it('show each key its own, and make no more than may be', async () => {
    const host = await openHost();
    const asked = { url: target.url, subscription: { types: ['block'] } };
    for (const key of ['a', 'a', 'b', 'b', '']) {
      const { status, answer } = await host.ask('POST', '', asked, key);
      expect([status, answer.secret]).toEqual([200, expect.stringMatching(/^whsec_[\w+/]{43}=$/)]);
    }
    expect(await host.ask('POST', '', asked, 'a')).toMatchObject({ status: 429 });
    const shown = async (key: string) => (await host.ask('GET', '', undefined, key)).answer.webhooks as Json[];
    expect((await Promise.all(['a', 'b', '', 'c'].map(shown))).map(({ length }) => length)).toEqual([2, 2, 1, 0]);
    const [own] = await shown('a');
    expect(own).not.toHaveProperty('secret');
    expect(await host.ask('DELETE', `?id=${own.id}`, undefined, 'b')).toMatchObject({ status: 404 });
    expect(await host.ask('DELETE', `?id=${own.id}`, undefined, 'a')).toMatchObject({ status: 200 });
  });

  it('listen together to no more than they may', async () => {
    const host = await openHost();
    const asked = (action: string) => ({
      url: target.url,
      subscription: { types: ['actions'], everything: true, action_types: [action] },
    });
    const { status, answer } = await host.ask('POST', '', asked('x'.repeat(60_000)));
    expect(status).toBe(200);
    expect(await host.ask('POST', '', asked('x'.repeat(60_000)))).toEqual({
      status: 429,
      answer: { error: 'all webhooks together would listen to more than they may' },
    });
    // One list of many short names is as much as one long name.
    const many = { types: ['actions'], everything: true, action_types: Array(1_000).fill('x') };
    expect(await host.ask('POST', '', { url: target.url, subscription: many })).toMatchObject({ status: 429 });
    expect(await host.ask('DELETE', `?id=${answer.id}`)).toMatchObject({ status: 200 });
    expect(await host.ask('POST', '', asked('x'.repeat(60_000)))).toMatchObject({ status: 200 });
  });

  it('are read in parts, for all together are more than is read at once', async () => {
    const own = subscribersDatabase(clickhouse);
    const store = createWebhookStore(own);
    const { signal } = new AbortController();
    const common = { owner: '', url: 'http://x/', secret: '', batch: 1, start: '', revision: 1 };
    const subscription = '{"types":["block"],"addresses":["ä",""]}';
    const ids = Array.from({ length: 10 }, (_, n) => `${n}`);
    const saved = ids.map((id, createdAt) => ({ ...common, id, subscription, createdAt }));
    for (const one of saved) await store.save(one, signal);
    const asked = vi.spyOn(own, 'json');
    expect(await store.read({ owner: '' }, signal)).toEqual(saved);
    expect(asked.mock.calls.filter(([sql]) => sql.includes('secret'))).toHaveLength(3);
    expect((await store.read({ ids: [...ids, 'none'] }, signal)).map(({ id }) => id).toSorted()).toEqual(
      ids.toSorted(),
    );
    expect(await store.weight(signal)).toBe(10 * weightOf(subscription));
  });

  it('make no more than may be when they are asked at once of all processes of a host', async () => {
    const counts = createHostCounts();
    const processes = [await openHost({ keys: counts.open() }), await openHost({ keys: counts.open() })];
    const asked = { url: target.url, subscription: { types: ['block'] } };
    const answers = await Promise.all(
      [...processes, ...processes, ...processes, ...processes].map((host) => host.ask('POST', '', asked)),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array(5).fill(200), ...Array(3).fill(429)]);
  });

  it('change a webhook one after the other, and what was removed stays removed', async () => {
    const host = await openHost();
    const id = await host.make({ subscription: { types: ['block'] } });
    const { cursor } = await host.shown(id);
    const store = createWebhookStore(subscribersDatabase(clickhouse));
    const signal = new AbortController().signal;
    const again = () => host.ask('POST', '/replay', { id, from_cursor: cursor });
    await Promise.all([again(), again(), again()]);
    const [found] = await store.read({ ids: [id] }, signal);
    expect(found.revision).toBe(4);
    await store.remove(found, signal);
    // Of another host, which has read it before.
    await store.save({ ...found, revision: found.revision + 1 }, signal);
    expect(await store.read({ ids: [id] }, signal)).toEqual([]);
    expect(await again()).toMatchObject({ status: 404 });
  });

  it('keep nothing of what was removed a while ago', async () => {
    const host = await openHost();
    const subscription = { types: ['block'] };
    const [removed, stays] = [await host.make({ subscription }), await host.make({ subscription })];
    const own = subscribersDatabase(clickhouse);
    const store = createWebhookStore(own);
    const signal = new AbortController().signal;
    const named = z.object({ name: z.string() });
    const kept = async (sql: string) => [...new Set((await own.json(sql, named)).map(({ name }) => name))];
    await createPositions(own).save(
      [removed, stays].map((name) => {
        return {
          kind: 'webhook',
          owner: '',
          name,
          revision: 1,
          cursor: 'c',
          failures: 0,
          refusals: 0,
          error: '',
        } as const;
      }),
      signal,
    );
    const letter = { webhook: removed, eventId: 'e', cursor: 'c', state: 'dead', error: '' } as const;
    await store.saveLetters([letter], signal);
    await host.ask('DELETE', `?id=${removed}`);
    expect(await kept('SELECT concat(url, secret, subscription) AS name FROM webhooks FINAL WHERE removed')).toEqual([
      '',
    ]);

    await store.forget(Date.now() - 60_000, signal);
    expect(await kept('SELECT id AS name FROM webhooks FINAL WHERE removed')).toEqual([removed]);
    await store.forget(Date.now() + 60_000, signal);
    expect(await kept('SELECT id AS name FROM webhooks')).toEqual([stays]);
    expect(await kept('SELECT webhook AS name FROM dead_letters')).toEqual([]);
    expect(await host.shown(stays)).toMatchObject({ id: stays });
    await store.forget(Date.now() + 60_000, signal);
    await expect.poll(() => kept('SELECT name FROM subscriber_positions')).toEqual([stays]);
  });
});
