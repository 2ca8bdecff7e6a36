/**
 * Subscribers of the soaked service, over WebSocket, server-sent events and webhooks, with different filters. Each hears
 * from the first step on, is cut off again and again, and goes on behind what it has heard. At the end each must have
 * heard what the log says, once and in order; who listens below final has heard one end of every trace.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { rawAddress } from '../../src/chain/address.ts';
import { openEvents, openSocket } from '../feed-server.ts';
import { openTarget, type WebhookTarget } from '../webhook-target.ts';
import { ask } from './asking.ts';
import type { Journal } from './journal.ts';
import { createLevelsHeard, type LevelsHeard } from './levels.ts';
import { heardIn, isKnown, type Wanted } from './told.ts';
import { pause } from './traffic.ts';
import type { Truth } from './truth.ts';

export interface SubscribersOptions {
  /** Where webhooks are made. */
  url: string;
  /** Of the hosts; who was cut off goes on at the next one. */
  ports: readonly number[];
  truth: Truth;
  journal: Journal;
  /** Of each kind. */
  sockets: number;
  streams: number;
  webhooks: number;
  signal: AbortSignal;
}

export interface Subscribers {
  /** Waits until all have heard what there is up to a step, and compares it. */
  compare(mcSeqno: number): Promise<void>;
  close(): Promise<void>;
}

interface Subscriber {
  name: string;
  /** Among all; also says at which host it begins. */
  place: number;
  wanted: Wanted;
  /** Hears of traces from the moment they are pending. */
  below: boolean;
  /**
   * What is final, in the order of its coming; a webhook may be told an event twice, and the second time does not
   * count.
   */
  heard: Heard[];
  levels: LevelsHeard;
  /** Of the last notification. */
  cursor: string | null;
}

interface Heard {
  id: string;
  cursor: string;
}

const LOOK_MS = 20;
const AGAIN_MS = 100;
/** Events after which a connection is cut, at most. */
const LONGEST_CONNECTION = 400;
const PATIENCE_MS = 120_000;
const WEBHOOK_BATCH = 40;
/** Bytes of a cursor: what is before the place, and the step in it. */
const [PLACE_AT, STEP_BYTES] = [5, 4];
const FEWEST_BUSY = 3;
const GRAM = 10n ** 9n;
/** Also listened to by those who listen below final; not compared with the log. */
const BELOW_FINAL = ['account_state_change', 'jettons_change'];

const PENDING = z.object({ traces: z.array(z.unknown()).default([]) });

type Json = Record<string, unknown>;

export async function openSubscribers(options: SubscribersOptions): Promise<Subscribers> {
  const { truth, journal, signal } = options;
  // Some are of accounts that are busy.
  while (busyIn(truth).length < FEWEST_BUSY) await truth.until(truth.head + 1);
  const filters = filtersOf(truth);
  const subscribers: Subscriber[] = [];
  const add = (kind: string): Subscriber => {
    const place = subscribers.length;
    const wanted = filters[place % filters.length];
    // Of those with the same filter every other one.
    const below = Math.floor(place / filters.length) % 2 === 0 ? place % 2 === 0 : place % 2 === 1;
    const name = `${kind} ${place} (${print(wanted)}${below ? ', below final' : ''})`;
    const levels = createLevelsHeard(name, journal);
    const made: Subscriber = { name, place, wanted, below, heard: [], levels, cursor: null };
    subscribers.push(made);
    return made;
  };
  const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);
  const ended = new AbortController();
  const until = AbortSignal.any([signal, ended.signal]);
  setMaxListeners(0, until);
  const following = [
    ...times(options.sockets, () => follow(add('WebSocket'), openWebSocket, options, until)),
    ...times(options.streams, () => follow(add('server-sent events'), openStream, options, until)),
  ];
  const targets = await Promise.all(times(options.webhooks, () => openWebhook(add('webhook'), options)));
  return {
    async compare(mcSeqno) {
      for (const subscriber of subscribers) {
        const expected = truth
          .told()
          .flatMap((step) => (step.mcSeqno > mcSeqno ? [] : heardIn(step, subscriber.wanted)));
        await untilHeard(subscriber, expected, mcSeqno);
        check(subscriber, expected, mcSeqno, journal);
      }
      await Promise.all(subscribers.map((one) => checkLevels(one, options)));
    },
    async close() {
      ended.abort();
      await Promise.all(following);
      for (const target of targets) target.close();
    },
  };
}

/** Accounts by their transactions, the busiest first. */
function busyIn(truth: Truth): string[] {
  const counts = new Map<string, number>();
  for (const { told } of truth.told()) {
    for (const { type, own, workchain } of told) {
      if (type === 'transactions' && workchain === 0) counts.set(own, (counts.get(own) ?? 0) + 1);
    }
  }
  return [...counts].sort((a, b) => b[1] - a[1]).map(([account]) => account);
}

function filtersOf(truth: Truth): Wanted[] {
  const busy = busyIn(truth);
  const opcodes = truth.told().flatMap(({ told }) => told.flatMap(({ opcode }) => opcode ?? []));
  return [
    { types: ['transactions', 'block'], everything: true },
    { types: ['transactions', 'message', 'external_out'], accounts: busy.slice(0, 5) },
    { types: ['message', 'external_out'], everything: true, workchain: 0 },
    { types: ['transactions'], everything: true, opcodes: [...new Set(opcodes)].slice(0, 3) },
    { types: ['transactions', 'message'], accounts: busy.slice(2, 40), direction: 'out' },
    { types: ['block'], workchain: -1 },
    { types: ['message'], everything: true, minValue: GRAM / 10n, direction: 'in' },
    { types: ['transactions'], accounts: busy.slice(0, 1) },
  ];
}

function subscriptionOf({ wanted, below }: Pick<Subscriber, 'wanted' | 'below'>): Json {
  const { types, everything, accounts, workchain, opcodes, minValue, direction } = wanted;
  return {
    // Blocks alone are of no account.
    types: below && (everything || accounts) ? [...types, ...BELOW_FINAL] : types,
    ...(below ? { min_finality: 'pending', finality_scope: 'transaction' } : {}),
    ...(everything ? { everything } : {}),
    ...(accounts ? { addresses: accounts.map((account) => rawAddress(Buffer.from(account, 'hex'))) } : {}),
    ...(workchain === undefined ? {} : { workchain }),
    ...(opcodes ? { opcodes: opcodes.map((opcode) => `0x${opcode.toString(16)}`) } : {}),
    ...(minValue === undefined ? {} : { min_value: String(minValue) }),
    ...(direction ? { direction } : {}),
  };
}

function print({ accounts, minValue, ...rest }: Wanted): string {
  const few = accounts ? { accounts: accounts.length } : {};
  return JSON.stringify({ ...rest, ...few, ...(minValue === undefined ? {} : { minValue: String(minValue) }) });
}

/** One connection: what came on it so far, and whether it is over. */
interface Connection {
  events(): readonly Json[];
  over(): boolean;
  refusal(): string | null;
  cut(): void;
}

async function openWebSocket(port: number, subscription: Json): Promise<Connection> {
  const socket = await openSocket(port);
  socket.send({ operation: 'subscribe', ...subscription });
  return {
    events: () => socket.events,
    over: () => socket.closed !== null,
    refusal: () => String(socket.answers.find(({ error }) => error !== undefined)?.error ?? '') || null,
    cut: socket.close,
  };
}

async function openStream(port: number, subscription: Json): Promise<Connection> {
  const stream = await openEvents(port, subscription);
  let over = false;
  void stream.ended.then(() => {
    over = true;
  });
  const { status } = stream.response;
  return {
    events: () => stream.events,
    over: () => over,
    refusal: () => (status === 200 ? null : `status ${status}`),
    cut: stream.close,
  };
}

async function follow(
  subscriber: Subscriber,
  open: (port: number, subscription: Json) => Promise<Connection>,
  { ports, journal }: SubscribersOptions,
  signal: AbortSignal,
): Promise<void> {
  for (let turn = subscriber.place; !signal.aborted; turn++) {
    const { cursor } = subscriber;
    const port = ports[turn % ports.length];
    const from = cursor === null ? { from_mc_seqno: 1 } : { from_cursor: cursor };
    const connection = await open(port, { ...subscriptionOf(subscriber), ...from }).catch(() => null);
    if (connection !== null) {
      journal.count('connections of subscribers');
      await listen(connection, subscriber, signal);
      // Also one that was refused, or is over: it would stay open.
      connection.cut();
      if (connection.refusal() !== null) journal.count(`subscriber refused: ${connection.refusal()}`);
    }
    await pause(AGAIN_MS, signal);
  }
}

/** Until it is over, or to be cut: behind any event; what came after that one is not heard. */
async function listen(connection: Connection, subscriber: Subscriber, signal: AbortSignal): Promise<void> {
  const cutAfter = 1 + Math.floor(Math.random() * LONGEST_CONNECTION);
  let at = 0;
  let count = 0;
  while (!signal.aborted && count < cutAfter) {
    const isOver = connection.over() || connection.refusal() !== null;
    const events = connection.events();
    for (; at < events.length && count < cutAfter; at++) {
      if (typeof events[at].event_id !== 'string') continue;
      hear(subscriber, events[at]);
      count++;
    }
    if (isOver) return;
    await pause(LOOK_MS, signal);
  }
}

function hear(subscriber: Subscriber, event: Json): void {
  const cursor = String(event.cursor);
  subscriber.cursor = cursor;
  if (event.finality === 'finalized' && isKnown(event.type))
    subscriber.heard.push({ id: String(event.event_id), cursor });
  if (subscriber.below) subscriber.levels.hear(event);
}

/** A target that does not always answer, and whose refusals are not for long. */
async function openWebhook(subscriber: Subscriber, { url, journal }: SubscribersOptions): Promise<WebhookTarget> {
  const target = await openTarget();
  const seen = new Set<string>();
  target.answer = (told) => {
    const chance = Math.random();
    if (chance < 0.05) return chance < 0.02 ? 0 : chance < 0.04 ? 503 : 500;
    target.received = [];
    for (const event of told) {
      if (seen.has(event.event_id)) journal.count('events told to a webhook again');
      else hear(subscriber, event);
      seen.add(event.event_id);
    }
    return 200;
  };
  const subscription = { ...subscriptionOf(subscriber), from_mc_seqno: 1 };
  const body = { url: target.url, secret: target.secret, batch: WEBHOOK_BATCH, subscription };
  const begun = performance.now();
  for (;;) {
    const { status, text } = await ask(`${url}/api/v3/webhooks`, 'new', JSON.stringify(body));
    if (status === 200) return target;
    // On a busy machine the tables may not answer in time.
    if (performance.now() - begun > PATIENCE_MS) throw new Error(`a webhook cannot be made: ${status} ${text}`);
    await sleep(AGAIN_MS);
  }
}

/** For as long as more comes: behind an event of a later step nothing of these steps does. */
async function untilHeard(subscriber: Subscriber, expected: readonly string[], mcSeqno: number): Promise<void> {
  let [count, since] = [-1, performance.now()];
  for (; performance.now() - since < PATIENCE_MS; await sleep(LOOK_MS)) {
    const { heard, cursor } = subscriber;
    if (heard.length === count) continue;
    if (missing(expected, subscriber).length === 0 || (cursor !== null && stepOf(cursor) > mcSeqno)) return;
    [count, since] = [heard.length, performance.now()];
  }
}

function missing(expected: readonly string[], { heard }: Subscriber): string[] {
  const ids = new Set(heard.map(({ id }) => id));
  return expected.filter((id) => !ids.has(id));
}

function check(subscriber: Subscriber, expected: readonly string[], mcSeqno: number, journal: Journal): void {
  const { name, cursor } = subscriber;
  const heard = subscriber.heard.filter(({ cursor }) => stepOf(cursor) <= mcSeqno);
  const ids = new Set(heard.map(({ id }) => id));
  const wanted = new Set(expected);
  const lost = missing(expected, subscriber).length;
  const strange = [...ids].filter((id) => !wanted.has(id)).length;
  const turns = heard.filter(({ cursor }, at) => at > 0 && placeOf(cursor).compare(placeOf(heard[at - 1].cursor)) <= 0);
  journal.count('subscribers compared with the log');
  journal.count('events that subscribers heard', heard.length);
  if (lost + strange + turns.length + (heard.length - ids.size) === 0) return;
  journal.wrong(
    `${name}: of ${expected.length} events ${lost} are missing, ${heard.length - ids.size} came twice, ` +
      `${strange} are not in the log, ${turns.length} came before their time; ` +
      `it is at step ${cursor === null ? 0 : stepOf(cursor)} of ${mcSeqno}`,
  );
}

/** Of what was open when this began. What is still pending has no end yet: an account may take it minutes later. */
async function checkLevels({ name, below, levels }: Subscriber, { url, journal }: SubscribersOptions): Promise<void> {
  if (!below) return;
  let left = levels.open();
  for (
    const begun = performance.now();
    left.length > 0 && performance.now() - begun < PATIENCE_MS;
    await sleep(LOOK_MS)
  ) {
    const open = new Set(levels.open());
    left = left.filter((trace) => open.has(trace));
  }
  const without: string[] = [];
  for (const trace of left) {
    const { text } = await ask(`${url}/api/v3/pendingTraces?ext_msg_hash=${encodeURIComponent(trace)}`, 'new');
    if (PENDING.parse(JSON.parse(text)).traces.length > 0) journal.count('traces still pending at the end');
    else if (levels.open().includes(trace)) without.push(trace);
  }
  journal.count('subscribers below final compared');
  if (without.length > 0) journal.wrong(`${name}: ${without.length} traces without an end, as ${without[0]}`);
}

/** Places compare as their bytes do. */
function placeOf(cursor: string): Buffer {
  return Buffer.from(cursor, 'base64url').subarray(PLACE_AT);
}

function stepOf(cursor: string): number {
  return placeOf(cursor).readUIntBE(0, STEP_BYTES);
}
