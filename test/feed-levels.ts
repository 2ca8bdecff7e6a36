/**
 * What the feed tells of a trace before it is final, held to the protocol over all transports and any log: a recorded
 * trace whose three transactions are put into three steps, and what the tracker would say of it, through its topic.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeStates } from '../clickhouse/states.ts';
import { rawAddress } from '../src/chain/address.ts';
import type { Finality, KnownState, TraceRecord, TransactionRecord } from '../src/chain/records.ts';
import { createHostCounts } from '../src/feed/key-counts.ts';
import { encodeCursor, endOf } from '../src/feed/place.ts';
import { followPending } from '../src/pending/follow.ts';
import { createPendingStore } from '../src/pending/store.ts';
import { startDelivery } from '../src/webhooks/delivery.ts';
import { createWebhookMetrics } from '../src/webhooks/metrics.ts';
import type { Follower } from '../streams/follow.ts';
import type { EventLog } from '../streams/log.ts';
import { encodePendingChange, type PendingChange } from '../streams/pending-trace.ts';
import { createKeptPositions, type FeedServer, openEvents, openSocket, serveFeed } from './feed-server.ts';
import { createFeedSource, type FeedSource } from './feed-source.ts';

/** A log that is there, and whether it wakes its readers itself. */
export interface LevelsLog {
  log: EventLog;
  continuous: boolean;
}

type Json = Record<string, unknown>;
/** Of each transaction its level, or null where it is not known of. */
type Levels = (Finality | null)[];

type Transport = 'ws' | 'sse' | 'webhook';

const PATIENT = { interval: 10, timeout: 20_000 };
/** Of the feed of tests. */
const GLOBAL_ID = -239;
const STATE: KnownState = {
  status: 'active',
  balance: '5',
  extraCurrencies: {},
  frozenHash: null,
  codeHash: null,
  dataHash: null,
};
let chain: FeedSource;
/** What each test has of its own of a log that they share. */
let topic: string;
let topics = 0;
let opened: LevelsLog;
let follower: Follower;
let following: Promise<void>;
let ended: AbortController;
/** Offsets in the topic: behind what was said, and what was followed. */
let said = 0;
let followed = 0;
let server: FeedServer;
/** The trace, and the steps that have its transactions. */
let records: TransactionRecord[];
let steps: number[];
let version = 0;
const listeners: Listener[] = [];

interface Listener {
  events: Json[];
  close(): void;
}

async function begin(log: LevelsLog): Promise<void> {
  opened = log;
  chain = createFeedSource('private');
  version = 0;
  spread();
  const store = createPendingStore();
  topic = `levels-${process.pid}-${++topics}.v1`;
  [said, followed] = [0, 0];
  await log.log.ensureTopic(topic);
  ended = new AbortController();
  const apply = store.apply.bind(store);
  store.apply = (...change) => {
    apply(...change);
    followed++;
  };
  const { continuous } = log;
  const report = (error: unknown): void => void server.failures.push(error);
  follower = followPending({ log: log.log, topic, store, continuous, report });
  server = await serveFeed(chain, {}, createKeptPositions(), createHostCounts(), store);
  following = follower.run(ended.signal);
  // What is in the topic when it is begun with is not announced.
  await say('nothing');
}

async function end(): Promise<void> {
  for (const one of listeners.splice(0)) one.close();
  ended.abort();
  await following;
  await server.close();
  expect(server.failures).toEqual([]);
}

/** Puts the longest recorded trace into steps of its own, as if each message had waited for the next step. */
function spread(): void {
  const all = chain.steps.flatMap((step) => chain.transactionsOf(step));
  const receivers = new Map(all.map((record) => [String(record.transaction.inMsg?.hash.toString('hex')), record]));
  const below = (record: TransactionRecord): TransactionRecord[] => {
    const received = record.transaction.outMsgs.flatMap(({ hash }) => receivers.get(hash.toString('hex')) ?? []);
    return [record, ...received.flatMap(below)];
  };
  const roots = all.filter(({ transaction: { inMsg } }) => inMsg?.kind === 'external_in');
  records = roots.map(below).sort((a, b) => b.length - a.length)[0];
  const first = chain.steps.indexOf(records[0].mcSeqno);
  steps = records.map((_, i) => chain.steps[first + i]);
  // Nothing else happens there.
  for (const step of steps) chain.transactionsOf(step).splice(0);
  for (const [i, record] of records.entries()) {
    record.mcSeqno = steps[i];
    record.traceId = records[0].transaction.hash;
    chain.transactionsOf(steps[i]).push(record);
  }
  chain.source.traces = async ({ traceIds }) => ({
    rows: traceIds.flatMap((id) => (id.equals(records[0].transaction.hash) ? [traceRecord()] : [])),
    nextCursor: null,
  });
  const stored = (): TransactionRecord[] => records.filter(({ mcSeqno }) => mcSeqno <= chain.head.seqno);
  chain.source.transactionsAt = async (places) =>
    stored().filter(({ transaction }) =>
      places.some(({ account, lt }) => account.equals(transaction.account) && lt === transaction.lt),
    );
  chain.source.transactionsByMessage = async ({ messageHashes: [hash] }) =>
    hash.equals(hashNorm()) ? stored().slice(0, 1) : [];
  chain.advance(chain.steps[first - 1]);
}

function traceRecord(): TraceRecord {
  const [root] = records;
  const last = records[records.length - 1];
  const { seqno } = chain.head;
  return {
    traceId: root.transaction.hash,
    externalHash: root.transaction.inMsg?.hash ?? null,
    mcSeqnoStart: root.mcSeqno,
    mcSeqnoEnd: Math.min(seqno, last.mcSeqno),
    startLt: root.transaction.lt,
    startUtime: root.transaction.now,
    endLt: last.transaction.lt,
    endUtime: last.transaction.now,
    transactions: records.length,
    messages: records.length,
    pendingMessages: seqno >= last.mcSeqno ? 0 : 1,
    state: seqno >= last.mcSeqno ? 'complete' : 'pending',
    classification: 'ok',
    places: records.map(({ transaction: { account, lt }, mcSeqno }) => ({ account, lt, mcSeqno })),
  };
}

const hashNorm = (): Buffer => {
  const { inMsg } = records[0].transaction;
  if (inMsg === null) throw new Error('the trace begins with a message');
  return inMsg.hashNorm() ?? inMsg.hash;
};
const traceHash = (): string => hashNorm().toString('base64');

/** What the tracker would say of the trace. */
function change(levels: Levels): PendingChange {
  const nodes = records.flatMap((record, i) => {
    const finality = levels[i] ?? null;
    if (finality === null) return [];
    const { block, mcSeqno } = record;
    const states = encodeStates(null, finality === 'pending' ? null : STATE);
    const wallet = finality === 'confirmed' && i === 1 ? walletOf(records[0]) : null;
    return [{ finality, block, blockHash: null, mcSeqno, transaction: chain.bagOf(record), states, wallet }];
  });
  version++;
  const times = { begunMs: 1, changedMs: version };
  const hashes = { hashNorm: hashNorm(), externalHash: records[0].transaction.inMsg?.hash ?? hashNorm() };
  const rest = { globalVersion: 9, isIncomplete: false, classification: 'ok' as const, actions: [action()] };
  return { kind: 'trace', trace: { ...hashes, version, ...times, ...rest, nodes } };
}

/** The second account keeps jettons of the first. */
const walletOf = ({ transaction: { account: owner } }: TransactionRecord) => ({
  owner,
  jetton: Buffer.alloc(36, 2),
  balance: '7',
});

const action = () => {
  const { hash, lt, now, account } = records[0].transaction;
  const times = { startLt: lt, endLt: lt, startUtime: now, endUtime: now };
  const what = { type: 'ton_transfer', success: true, ancestors: [], transactions: hash };
  const content = JSON.stringify([{ source: rawAddress(account), value: '1' }, [rawAddress(account)]]);
  return { actionId: Buffer.alloc(32, 1), ...times, ...what, content };
};

/** The tracker says so when it knows the chain up to here. */
async function say(what: Levels | 'invalidated' | 'never' | 'nothing', mcSeqno = chain.head.seqno): Promise<void> {
  await opened.log.append(topic, [encodePendingChange(changeOf(what), mcSeqno)]);
  said++;
  follower.wake();
  await expect.poll(() => followed, PATIENT).toBe(said);
  await server.streaming.feed.settled();
}

function changeOf(what: Levels | 'invalidated' | 'never' | 'nothing'): PendingChange {
  if (what === 'never') {
    const { account: whom } = records[0].transaction;
    return { kind: 'invalidated', hashNorm: hashNorm(), reason: 'expired', account: whom };
  }
  if (what === 'nothing') return { kind: 'levels', confirmed: true };
  return what === 'invalidated' ? { kind: what, hashNorm: hashNorm(), reason: 'expired' } : change(what);
}

/** The next step of the trace is in the index, and told. */
async function advance(at: number): Promise<void> {
  chain.advance(steps[at]);
  const { feed } = server.streaming;
  const position = (): string => {
    // Begins where the feed is.
    const line = feed.open({ write: () => true, onRoom: () => undefined, end: () => undefined });
    const cursor = feed.cursorOf(line);
    feed.close(line);
    return cursor;
  };
  await expect.poll(position, PATIENT).toBe(encodeCursor(GLOBAL_ID, endOf(steps[at])));
}

async function listenTo(transport: Transport, subscription: Json): Promise<Listener> {
  if (transport === 'webhook') return deliver(subscription);
  if (transport === 'sse') {
    const stream = await openEvents(server.port, subscription);
    await expect.poll(() => stream.answers, PATIENT).toEqual([{ status: 'subscribed' }]);
    listeners.push(stream);
    return stream;
  }
  const socket = await openSocket(server.port);
  socket.send({ operation: 'subscribe', ...subscription });
  await expect.poll(() => socket.answers, PATIENT).toEqual([{ status: 'subscribed' }]);
  listeners.push(socket);
  return socket;
}

/** A webhook from now on, whose target is away at every third attempt. */
async function deliver(subscription: Json): Promise<Listener> {
  const { feed } = server.streaming;
  const cursor = await feed.cursorAt(null, AbortSignal.timeout(PATIENT.timeout));
  const events: Json[] = [];
  let attempts = 0;
  const delivery = startDelivery({
    webhook: {
      ...{
        id: 'w',
        owner: '',
        url: 'https://example.com',
        secret: 'whsec_c2VjcmV0',
        batch: 1,
        revision: 1,
        createdAt: 0,
      },
      ...{ subscription: JSON.stringify(subscription), start: cursor },
    },
    from: { cursor, failures: 0, error: '' },
    letters: 0,
    feed,
    poster: {
      async post(_url, body) {
        if (++attempts % 3 === 1) return { kind: 'away', reason: 'busy', retryAfterMs: null };
        events.push(JSON.parse(String(body)));
        return { kind: 'taken' };
      },
      close: () => undefined,
    },
    mayDeliver: () => true,
    saveLetters: async () => undefined,
    metrics: createWebhookMetrics(new Registry()),
    limits: { queueBytes: 100_000, attempts: 3, retryMs: 1, longestRetryMs: 10, letters: 10 },
  });
  const listener = { events, close: () => void delivery.stop() };
  listeners.push(listener);
  await expect.poll(() => feed.figures.behind, PATIENT).toBe(0);
  return listener;
}

/** That this came, and nothing else does. */
async function expectHeard<T>(listener: Listener, as: (listener: Listener) => T[], expected: unknown[]): Promise<void> {
  await expect.poll(() => listener.events.length, PATIENT).toBeGreaterThanOrEqual(expected.length);
  await sleep(50);
  expect(as(listener)).toEqual(expected);
}

/** Whoever listened is gone, and the feed knows. */
async function leave(): Promise<void> {
  for (const one of listeners.splice(0)) one.close();
  await expect.poll(() => server.streaming.feed.figures.lines, PATIENT).toBe(0);
}

/** The cursor of one who heard that the trace is pending, in one notification, and is gone. */
async function heardAndGone(listen: (own: Json) => Promise<Listener>, own: Json): Promise<unknown> {
  const first = await listen(own);
  await say(['pending', 'pending', 'pending']);
  await expectHeard(first, typesOf, Array.isArray(own.types) ? own.types : []);
  const [{ cursor }] = first.events;
  await leave();
  return cursor;
}

const account = (i: number): string => rawAddress(records[i].transaction.account);
const everywhere = () => [...new Set(records.map((_, i) => account(i)))];

/** What came, briefly: type, level, and which transactions. */
const heard = ({ events }: Listener): string[] =>
  events.map((event) => {
    const transactions = Array.isArray(event.transactions) ? event.transactions : [];
    const which = transactions.map(({ hash }) =>
      records.findIndex(({ transaction }) => transaction.hash.toString('base64') === hash),
    );
    return [event.type, event.finality ?? '', ...which].join(' ').trim();
  });

const typesOf = ({ events }: Listener): unknown[] => events.map(({ type }) => type);

/** @param open gives the log, of which each test takes a topic of its own */
export function describeLevels(name: string, open: () => LevelsLog): void {
  describe.each(['ws', 'sse', 'webhook'] as const)(`levels over ${name}, told over %s`, (transport) => {
    const listen = (subscription: Json): Promise<Listener> => listenTo(transport, subscription);
    beforeEach(() => begin(open()));
    afterEach(end);

    it('tells a trace at every level as a whole, each level once, and final as it is stored', async () => {
      const [all, sure, final] = [
        await listen({ types: ['transactions'], addresses: everywhere(), min_finality: 'pending' }),
        await listen({ types: ['transactions'], addresses: everywhere(), min_finality: 'confirmed' }),
        await listen({ types: ['transactions'], addresses: everywhere(), finality_scope: 'trace' }),
      ];
      await say(['pending', 'pending', 'pending']);
      await say(['confirmed', 'pending', 'pending']);
      await say(['confirmed', 'confirmed', 'confirmed']);
      await advance(0);
      await say(['finalized', 'confirmed', 'confirmed']);
      await advance(1);
      await advance(2);
      await say(['finalized', 'finalized', 'finalized']);
      const ends = ['transactions confirmed 2 1 0', 'transactions confirmed 2 1 0', 'transactions finalized 2 1 0'];
      await expectHeard(all, heard, ['transactions pending 2 1 0', 'transactions pending 2 1 0', ...ends]);
      await expectHeard(sure, heard, ends);
      await expectHeard(final, heard, ends.slice(2));
      expect(all.events.at(-1)).toEqual(final.events[0]);
      expect(all.events.every((event) => event.trace_external_hash_norm === traceHash())).toBe(true);
      expect(levelsIn(all.events[1])).toEqual(['pending true', 'pending true', 'confirmed false']);
    });

    it('tells each transaction at its own level where that is asked for', async () => {
      const own = { addresses: everywhere(), finality_scope: 'transaction', min_finality: 'pending' };
      const one = await listen({ types: ['transactions'], ...own });
      await say(['pending', 'pending', 'pending']);
      await say(['confirmed', 'pending', 'pending']);
      await advance(0);
      await say(['finalized', 'pending', 'pending']);
      await say(['finalized', 'confirmed', 'pending']);
      await advance(1);
      await advance(2);
      await say(['finalized', 'finalized', 'finalized']);
      await expectHeard(one, heard, [
        ...[0, 1, 2].map((i) => `transactions pending ${i}`),
        'transactions confirmed 0',
        'transactions finalized 0',
        'transactions confirmed 1',
        'transactions finalized 1',
        'transactions finalized 2',
      ]);
    });

    it('goes never back: what was said before a step that was told is not told', async () => {
      const one = await listen({ types: ['transactions'], addresses: [account(0)], min_finality: 'pending' });
      const before = chain.head.seqno;
      await advance(0);
      await say(['pending', 'pending', 'pending'], before);
      await say(['confirmed', 'pending', 'pending'], before);
      await expectHeard(one, heard, []);
      await say(['finalized', 'pending', 'pending'], before);
      await advance(1);
      await advance(2);
      await say(['confirmed', 'confirmed', 'confirmed'], steps[1]);
      await say('invalidated');
      await expectHeard(one, heard, ['transactions pending 2 0', 'transactions finalized 2 0']);
    });

    it('takes back what was told of a trace that does not come, once and from those who heard of it', async () => {
      const [first, confirmed, stranger, final] = [
        await listen({ types: ['actions'], addresses: [account(0)], min_finality: 'pending', with_cursor: true }),
        await listen({ types: ['transactions'], addresses: [account(0)], min_finality: 'confirmed' }),
        await listen({ types: ['transactions'], addresses: [`0:${'1'.repeat(64)}`], min_finality: 'pending' }),
        await listen({ types: ['transactions'], addresses: [account(0)] }),
      ];
      await say(['pending', 'pending', 'pending']);
      await say('invalidated');
      await say('invalidated');
      await expectHeard(first, heard, ['actions pending', 'trace_invalidated']);
      expect(Object.keys(first.events[1])).toEqual(['type', 'trace_external_hash_norm', 'event_id', 'cursor']);
      expect(first.events[1].trace_external_hash_norm).toBe(traceHash());
      for (const other of [confirmed, stranger, final]) await expectHeard(other, heard, []);
    });

    it('says to those who waited for a message of which nothing could be told that it does not come', async () => {
      const own = { addresses: [account(0)], min_finality: 'pending' };
      const waiting = [
        await listen({ ...own, types: ['transactions'] }),
        await listen({ ...own, types: ['trace', 'actions'], trace_external_hash_norms: [traceHash()] }),
      ];
      const others = [
        await listen({ ...own, types: ['account_state_change'] }),
        await listen({ ...own, types: ['actions'], addresses: [account(1)] }),
        await listen({ ...own, types: ['transactions'], min_finality: 'confirmed' }),
        await listen({ ...own, types: ['transactions'], min_value: '1' }),
      ];
      await say('never');
      await say('never');
      for (const one of waiting) await expectHeard(one, typesOf, ['trace_invalidated']);
      for (const one of others) await expectHeard(one, typesOf, []);
    });

    it('takes back what was told to one whom the trace did not reach at last', async () => {
      const one = await listen({ types: ['transactions'], addresses: [account(1)], min_finality: 'pending' });
      await say(['pending', 'pending', 'pending']);
      // Of what was emulated only the root came.
      for (const { mcSeqno } of records.splice(1)) chain.transactionsOf(mcSeqno).splice(0);
      await advance(0);
      await say(['finalized']);
      await expectHeard(one, typesOf, ['transactions', 'trace_invalidated']);
    });

    it('tells states that are confirmed, and takes back those of blocks that were replaced', async () => {
      const types = ['account_state_change'];
      const one = await listen({ types, addresses: [account(0), account(1)], min_finality: 'pending' });
      await say(['pending', 'pending', 'pending']);
      await say(['confirmed', 'pending', 'pending']);
      await say(['confirmed', 'confirmed', 'pending']);
      await say('invalidated');
      const marks = ({ events }: Listener) => events.map(({ type, finality, account: of }) => [type, finality, of]);
      await expectHeard(one, marks, [
        ['account_state_change', 'confirmed', account(0)],
        ['account_state_change', 'confirmed', account(1)],
        ['state_invalidated', 'confirmed', account(0)],
        ['state_invalidated', 'confirmed', account(1)],
      ]);
      const { stateBefore } = records[0].transaction;
      expect(one.events[2]).toHaveProperty('state.hash', stateBefore.toString('base64'));
    });

    it('tells jettons that are confirmed to whom they belong, once, and takes them back with the state', async () => {
      const [owner, both] = [
        await listen({ types: ['jettons_change'], addresses: [account(0)], min_finality: 'confirmed' }),
        await listen({
          ...{ types: ['jettons_change', 'account_state_change'], addresses: [account(1)] },
          ...{ min_finality: 'pending', include_address_book: true },
        }),
      ];
      await say(['pending', 'pending', 'pending']);
      await say(['confirmed', 'confirmed', 'pending']);
      await say(['confirmed', 'confirmed', 'confirmed']);
      await say('invalidated');
      await expectHeard(owner, typesOf, ['jettons_change', 'state_invalidated']);
      await expectHeard(both, typesOf, ['account_state_change', 'jettons_change', 'state_invalidated']);
      const jetton = { address: account(1), balance: '7', owner: account(0), jetton: rawAddress(Buffer.alloc(36, 2)) };
      for (const event of [owner.events[0], both.events[1]]) {
        expect(event).toMatchObject({ finality: 'confirmed', jetton });
      }
      expect(both.events[1]).toHaveProperty('address_book');
      expect(owner.events[1]).toMatchObject({ account: account(1), finality: 'confirmed' });
    });

    // A webhook has no cursor to come back with.
    const whoResumes = transport === 'webhook' ? (): void => undefined : it;
    whoResumes('tells who comes back with a cursor how things stand, and what was taken back meanwhile', async () => {
      const types = ['trace', 'actions'];
      const subscription = { types, addresses: [account(0)], trace_external_hash_norms: [traceHash()] };
      const own = { ...subscription, min_finality: 'pending', with_cursor: true };
      const first = await listen(own);
      await say(['pending', 'pending', 'pending']);
      await expectHeard(first, typesOf, ['actions', 'trace']);
      const { cursor: from_cursor } = first.events[1];
      const again = await listen({ ...own, from_cursor });
      await expectHeard(again, typesOf, ['caught_up', 'actions', 'trace']);
      expect(again.events.slice(1)).toEqual(first.events);
      await leave();
      await say('invalidated');
      await expectHeard(await listen({ ...own, from_cursor }), typesOf, ['caught_up', 'trace_invalidated']);
      // Who heard nothing of it before has nothing to take back.
      await expectHeard(await listen(own), typesOf, []);
    });

    whoResumes('takes back what is invalidated while one who comes back is told how things stand', async () => {
      const own = { types: ['actions'], addresses: [account(0)], min_finality: 'pending', with_cursor: true };
      const from_cursor = await heardAndGone(listen, own);
      const { book } = chain.source;
      let [asked, release] = [0, (): void => undefined];
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      chain.source.book = async (...question) => {
        asked++;
        await released;
        return book(...question);
      };
      const back = await listen({ ...own, include_address_book: true, from_cursor });
      await expect.poll(() => asked, PATIENT).toBeGreaterThan(0);
      await say('invalidated');
      release();
      await expectHeard(back, typesOf, ['caught_up', 'trace_invalidated']);
    });

    whoResumes('tells who comes back how things stand, and what was taken back, once it can be known', async () => {
      const own = { types: ['actions'], addresses: [account(0)], min_finality: 'pending', with_cursor: true };
      const from_cursor = await heardAndGone(listen, own);
      const { book, transactionsByMessage } = chain.source;
      let failures = 0;
      const failing = async (): Promise<never> => {
        failures++;
        throw new Error('the tables do not answer');
      };
      chain.source.book = failing;
      const back = await listen({ ...own, include_address_book: true, from_cursor });
      await expect.poll(() => failures, PATIENT).toBeGreaterThan(0);
      chain.source.book = book;
      await expectHeard(back, typesOf, ['caught_up', 'actions']);
      await leave();
      await say('invalidated');
      [failures, chain.source.transactionsByMessage] = [0, failing];
      const again = await listen({ ...own, from_cursor });
      await expect.poll(() => failures, PATIENT).toBeGreaterThan(0);
      chain.source.transactionsByMessage = transactionsByMessage;
      await expectHeard(again, typesOf, ['caught_up', 'trace_invalidated']);
      for (const error of server.failures.splice(0)) expect(String(error)).toContain('the tables do not answer');
    });

    whoResumes('takes nothing back that was told as final before anything was said of it', async () => {
      const { feed } = server.streaming;
      const from_cursor = await feed.cursorAt(null, AbortSignal.timeout(PATIENT.timeout));
      const before = chain.head.seqno;
      const behind = chain.steps[chain.steps.indexOf(steps[2]) + 1];
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const { steps: whole, transactions } = chain.source;
      // One at a time, so that none waits for the one that is held.
      chain.source.steps = (range, context) => whole({ ...range, last: range.first }, context);
      chain.source.transactions = async (filter, context) => {
        if (filter.mcSeqno === behind) await released;
        return transactions(filter, context);
      };
      chain.advance(behind);
      const own = { types: ['transactions'], addresses: [account(1)], min_finality: 'pending' };
      const one = await listen({ ...own, from_cursor });
      const ofTrace = ({ events }: Listener) =>
        events.filter((event) => event.trace_external_hash_norm === traceHash()).map(({ type }) => type);
      await expectHeard(one, ofTrace, ['transactions']);
      // It is still on its way to where the others are when it is said what was so before.
      await say(['pending', 'pending', 'pending'], before);
      release();
      await expect.poll(() => one.events.at(-1)?.type, PATIENT).toBe('caught_up');
      await say(['finalized', 'finalized', 'finalized']);
      await expectHeard(one, ofTrace, ['transactions']);
    });

    whoResumes('takes nothing back of a trace that was told as final in part before one came back', async () => {
      const own = { types: ['transactions'], addresses: everywhere(), min_finality: 'pending', with_cursor: true };
      const first = await listen({ ...own, finality_scope: 'transaction' });
      await say(['pending', 'pending', 'pending']);
      await advance(0);
      await say(['finalized', 'pending', 'pending']);
      await expectHeard(first, heard, [
        ...[0, 1, 2].map((i) => `transactions pending ${i}`),
        'transactions finalized 0',
      ]);
      const { cursor: from_cursor } = first.events[3];
      await leave();
      const again = await listen({ ...own, finality_scope: 'transaction', from_cursor });
      const stranger = await listen({ ...own, finality_scope: 'transaction', addresses: [account(1)], from_cursor });
      await expectHeard(again, heard, ['caught_up', 'transactions pending 1', 'transactions pending 2']);
      await expectHeard(stranger, heard, ['caught_up', 'transactions pending 1']);
      // Of the rest nothing comes.
      for (const { mcSeqno } of records.splice(1)) chain.transactionsOf(mcSeqno).splice(0);
      await say(['finalized']);
      await expectHeard(stranger, typesOf, ['caught_up', 'transactions', 'trace_invalidated']);
      await expectHeard(again, typesOf, ['caught_up', 'transactions', 'transactions']);
    });

    whoResumes('takes nothing back that came after all', async () => {
      const types = ['transactions'];
      const own = { types, addresses: [account(0)], min_finality: 'pending', finality_scope: 'transaction' };
      const first = await listen({ ...own, with_cursor: true });
      await say(['pending', 'pending', 'pending']);
      await expectHeard(first, heard, ['transactions pending 0', 'transactions pending 2']);
      await leave();
      await say('invalidated');
      // Its message was in a block when its time was over; nobody listens.
      chain.source.transactionsByMessage = async () => [records[0]];
      for (const step of steps) chain.advance(step);
      const from_cursor = await server.streaming.feed.cursorAt(null, AbortSignal.timeout(PATIENT.timeout));
      for (const cursor of [String(first.events[1].cursor), from_cursor]) {
        const back = await listen({ ...own, from_cursor: cursor });
        const last = cursor === from_cursor ? [] : ['transactions finalized 0', 'transactions finalized 2'];
        await expectHeard(back, heard, [...last, 'caught_up']);
      }
    });

    whoResumes('takes back at another host what was told before it had seen the steps since', async () => {
      const own = { types: ['transactions'], addresses: [account(0)], min_finality: 'pending', with_cursor: true };
      const from_cursor = await heardAndGone(listen, own);
      // Nobody listens: the steps until then are not looked at.
      for (const step of chain.steps.slice(chain.steps.indexOf(steps[2]) + 1).slice(0, 3)) chain.advance(step);
      const back = await listen({ ...own, from_cursor, types: ['actions'] });
      await expectHeard(back, typesOf, ['caught_up']);
      await say('invalidated');
      await expectHeard(back, typesOf, ['caught_up', 'trace_invalidated']);
    });
  });

  describe(`levels over ${name}, in the words of v1`, () => {
    beforeEach(() => begin(open()));
    afterEach(end);

    async function openV1(subscriptions: Record<string, string[]>): Promise<Listener> {
      const socket = await openSocket(server.port, {}, 'v1');
      socket.send({ operation: 'set_subscription', subscriptions });
      await expect.poll(() => socket.answers, PATIENT).toEqual([{ status: 'subscription_set' }]);
      listeners.push(socket);
      return socket;
    }

    it('tells what is pending by types of its own, what is final by the others, and no level', async () => {
      const all = await openV1({
        [account(0)]: ['pending_transactions', 'transactions'],
        [account(1)]: ['pending_transactions'],
      });
      const pending = await openV1({ [account(0)]: ['pending_transactions', 'pending_actions'] });
      const final = await openV1({ [account(0)]: ['transactions', 'account_state_change'] });
      await say(['pending', 'pending', 'pending']);
      await say(['confirmed', 'pending', 'pending']);
      await say(['confirmed', 'confirmed', 'confirmed']);
      for (const at of [0, 1, 2]) await advance(at);
      await say(['finalized', 'finalized', 'finalized']);
      // The first account sends to the second, which answers.
      expect(account(2)).toBe(account(0));
      const own = ['transactions 0', 'transactions 2'];
      await expectHeard(all, briefly, ['pending_transactions 2 1 0', 'pending_transactions 2 1', ...own]);
      await expectHeard(pending, briefly, [
        ...['pending_transactions 2 0', 'pending_actions'],
        ...['pending_transactions 2', 'pending_actions'],
      ]);
      await expectHeard(
        final,
        briefly,
        own.flatMap((text) => [text, 'account_state_change']),
      );
      for (const { finality } of [...all.events, ...pending.events]) expect(finality).toBeUndefined();
    });

    it('takes back what was told and does not come', async () => {
      const one = await openV1({ [account(0)]: ['pending_actions'] });
      await say(['pending', 'pending', 'pending']);
      await say('invalidated');
      await expectHeard(one, typesOf, ['pending_actions', 'trace_invalidated']);
    });
  });
}

/** Without levels, where none are told. */
const briefly = (listener: Listener): string[] => heard(listener).map((text) => text.replace(/ +/g, ' '));

function levelsIn({ transactions }: Json): string[] {
  if (!Array.isArray(transactions)) throw new Error('an event without transactions');
  return transactions.map(({ finality, emulated }) => `${finality} ${emulated}`);
}
