/** A recorded trace on its way through the levels: its steps, what the tracker says of it, and those who listen. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { expect } from 'vitest';
import { encodeStates } from '../clickhouse/states.ts';
import { rawAddress } from '../src/chain/address.ts';
import type { Finality, KnownState, TraceRecord, TransactionRecord } from '../src/chain/records.ts';
import { createHostCounts } from '../src/feed/key-counts.ts';
import { encodeCursor, endOf, type Place } from '../src/feed/place.ts';
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

export type Json = Record<string, unknown>;
/** Of each transaction its level, or null where it is not known of. */
type Levels = (Finality | null)[];

export const TRANSPORTS = ['ws', 'sse', 'webhook'] as const;
export type Transport = (typeof TRANSPORTS)[number];

export const PATIENT = { interval: 10, timeout: 20_000 };
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
export let chain: FeedSource;
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
export let server: FeedServer;
/** The trace, and the steps that have its transactions. */
export let records: TransactionRecord[];
export let steps: number[];
let version = 0;
export const listeners: Listener[] = [];

export interface Listener {
  events: Json[];
  close(): void;
}

export async function begin(log: LevelsLog): Promise<void> {
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

export async function end(): Promise<void> {
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
export const traceHash = (): string => hashNorm().toString('base64');

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

/** Whom the action is for, who has no transaction in the trace. */
export const FOR_WHOM = `0:${'7'.repeat(64)}`;

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
  const content = JSON.stringify([{ source: rawAddress(account), value: '1' }, [rawAddress(account), FOR_WHOM]]);
  return { actionId: Buffer.alloc(32, 1), ...times, ...what, content };
};

/** The trace does as a whole, in the end, what was emulated. */
export function comesWithActions(): void {
  const { transaction, traceId } = records[0];
  const end = { traceEndLt: transaction.lt, traceEndUtime: transaction.now, mcSeqno: steps[2], number: 0 };
  const record = { ...action(), ...end, traceId: traceId ?? transaction.hash, externalHash: null };
  chain.source.actions = async () => ({ rows: [{ ...record, externalHashNorm: hashNorm() }], nextCursor: null });
}

/** The tracker says so when it knows the chain up to here. */
export async function say(
  what: Levels | 'invalidated' | 'never' | 'ended' | 'nothing',
  mcSeqno = chain.head.seqno,
): Promise<void> {
  await opened.log.append(topic, [encodePendingChange(changeOf(what), mcSeqno)]);
  said++;
  follower.wake();
  await expect.poll(() => followed, PATIENT).toBe(said);
  await server.streaming.feed.settled();
}

function changeOf(what: Levels | 'invalidated' | 'never' | 'ended' | 'nothing'): PendingChange {
  if (what === 'ended') return { kind: what, hashNorm: hashNorm() };
  if (what === 'never') {
    const { account: whom } = records[0].transaction;
    return { kind: 'invalidated', hashNorm: hashNorm(), reason: 'expired', account: whom };
  }
  if (what === 'nothing') return { kind: 'levels', confirmed: true };
  return what === 'invalidated' ? { kind: what, hashNorm: hashNorm(), reason: 'expired' } : change(what);
}

export const cursorOf = (place: Place): string => encodeCursor(GLOBAL_ID, place);

/** The next step of the trace is in the index, and told. */
export async function advance(at: number): Promise<void> {
  chain.advance(steps[at]);
  const { feed } = server.streaming;
  const position = (): string => {
    // Begins where the feed is.
    const line = feed.open({ write: () => true, onRoom: () => undefined, end: () => undefined });
    const cursor = feed.cursorOf(line);
    feed.close(line);
    return cursor;
  };
  await expect.poll(position, PATIENT).toBe(cursorOf(endOf(steps[at])));
}

export async function listenTo(transport: Transport, subscription: Json): Promise<Listener> {
  if (transport === 'webhook') return deliver(subscription);
  if (transport === 'sse') {
    const stream = await openEvents(server.port, subscription);
    await expect.poll(() => stream.answers, PATIENT).toEqual([{ status: 'subscribed' }]);
    listeners.push(stream);
    return stream;
  }
  const socket = await openSocket(server.port);
  socket.send({ operation: 'subscribe', ...subscription });
  await expect.poll(() => socket.answers, PATIENT).toMatchObject([{ status: 'subscribed' }]);
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
    from: { cursor, failures: 0, refusals: 0, error: '' },
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
    limits: { queueBytes: 100_000, attempts: 3, retryMs: 1, longestRetryMs: 10, letters: 10, lastAnswerMs: 200 },
  });
  const listener = { events, close: () => void delivery.stop() };
  listeners.push(listener);
  await expect.poll(() => feed.figures.behind, PATIENT).toBe(0);
  return listener;
}

/** That this came, and nothing else does. */
export async function expectHeard<T>(
  listener: Listener,
  as: (listener: Listener) => T[],
  expected: unknown[],
): Promise<void> {
  await expect.poll(() => listener.events.length, PATIENT).toBeGreaterThanOrEqual(expected.length);
  await sleep(50);
  expect(as(listener)).toEqual(expected);
}

/** Whoever listened is gone, and the feed knows. */
export async function leave(): Promise<void> {
  for (const one of listeners.splice(0)) one.close();
  await expect.poll(() => server.streaming.feed.figures.lines, PATIENT).toBe(0);
}

/** The cursor of one who heard that the trace is pending, in one notification, and is gone. */
export async function heardAndGone(listen: (own: Json) => Promise<Listener>, own: Json): Promise<unknown> {
  const first = await listen(own);
  await say(['pending', 'pending', 'pending']);
  await expectHeard(first, typesOf, Array.isArray(own.types) ? own.types : []);
  const [{ cursor }] = first.events;
  await leave();
  return cursor;
}

export const account = (i: number): string => rawAddress(records[i].transaction.account);
export const everywhere = () => [...new Set(records.map((_, i) => account(i)))];

/** What came, briefly: type, level, and which transactions. */
export const heard = ({ events }: Listener): string[] =>
  events.map((event) => {
    const transactions = Array.isArray(event.transactions) ? event.transactions : [];
    const which = transactions.map(({ hash }) =>
      records.findIndex(({ transaction }) => transaction.hash.toString('base64') === hash),
    );
    return [event.type, event.finality ?? '', ...which].join(' ').trim();
  });

export const typesOf = ({ events }: Listener): unknown[] => events.map(({ type }) => type);
