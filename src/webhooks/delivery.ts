/**
 * One webhook told of what it listens to, in order, each event until it was taken: a line of the feed that ends in a
 * URL.
 */
import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '../chain/errors.ts';
import type { Feed } from '../feed/feed.ts';
import type { Mark, Sink } from '../feed/line.ts';
import { CursorError } from '../feed/place.ts';
import { readKept } from '../feed/protocol.ts';
import type { WebhookMetrics } from './metrics.ts';
import type { Outcome, Poster } from './poster.ts';
import { messageId, signedHeaders } from './signature.ts';
import type { DeadLetter, ListedLetter, Webhook } from './store.ts';

export interface Delivery {
  readonly webhook: Webhook;
  /** Behind the last event that was taken or is a dead letter, and how it goes. */
  progress(): Progress;
  /** Tells a dead letter again, between other events: once, however often it is asked for before it is noted as told. */
  replay(letter: ListedLetter): void;
  /** Resolves when nothing more is sent, and what was under way is answered or given up. */
  stop(): Promise<void>;
}

export interface Progress {
  cursor: string;
  /** Attempts in a row that have failed. */
  failures: number;
  /** Attempts of the event behind the cursor that were refused. */
  refusals: number;
  error: string;
}

export interface DeliveryOptions {
  webhook: Webhook;
  /** Cursor behind which it begins, and how it went so far. */
  from: Progress;
  /** Dead letters that it has already. */
  letters: number;
  feed: Feed;
  poster: Poster;
  /** Whether this process may send at this moment. */
  mayDeliver: () => boolean;
  saveLetters: (letters: readonly DeadLetter[], signal: AbortSignal) => Promise<void>;
  metrics: WebhookMetrics;
  limits: DeliveryLimits;
}

export interface DeliveryLimits {
  /** Bytes read ahead for one webhook. */
  queueBytes: number;
  /** Attempts of an event that is refused. */
  attempts: number;
  /** Milliseconds before the second attempt; twice as long each time. */
  retryMs: number;
  longestRetryMs: number;
  /** Dead letters of one webhook. */
  letters: number;
  /** Longest wait for the answer that is under way when a delivery ends, milliseconds: what was taken is not told again. */
  lastAnswerMs: number;
}

interface Queued extends Mark {
  json: Buffer;
}

/** Of the queue, at which there is room again. */
const LOW_WATER = 0.5;
/** Between two looks whether this process may send again. */
const IDLE_MS = 200;
const ERROR_LENGTH = 300;

export function startDelivery(options: DeliveryOptions): Delivery {
  const { webhook, feed, poster, metrics, limits } = options;
  const subscription = readKept(webhook.subscription);
  const stopping = new AbortController();
  const { signal } = stopping;
  /** What is under way is given up. */
  const leaving = new AbortController();
  const queue = createQueue(limits.queueBytes);
  const replays = new Map<string, ListedLetter>();
  /** When those were saved that were told again, by event. */
  const replayed = new Map<string, number>();
  const line = feed.open(queue.sink, { isPatient: true });
  let { cursor, failures, refusals, error } = options.from;
  let { letters } = options;
  /** Events to be sent one by one, because one of them was refused among others. */
  let alone = 0;
  /** Where the stream is told of what happens, and all that was told is taken, its own place counts. */
  let subscribed = false;

  async function subscribe(): Promise<void> {
    while (!subscribed) {
      try {
        // It gets all that it has missed, whatever it would leave out on a stream.
        await feed.subscribe(line, { ...subscription, cursors: true, onLag: 'disconnect', start: { cursor } }, signal);
        subscribed = true;
      } catch (reason) {
        signal.throwIfAborted();
        if (!(reason instanceof CursorError)) throw reason;
        await fail(reason.message, null);
      }
    }
  }

  /** Notes why, and waits: longer each time. */
  async function fail(reason: string, retryAfterMs: number | null): Promise<void> {
    failures++;
    error = reason.slice(0, ERROR_LENGTH);
    const backoff = limits.retryMs * 2 ** Math.min(failures - 1, 30) * (0.5 + Math.random() / 2);
    await sleep(Math.min(Math.max(backoff, retryAfterMs ?? 0), limits.longestRetryMs), undefined, { signal });
  }

  async function send(events: readonly Queued[]): Promise<Outcome> {
    while (!options.mayDeliver()) await sleep(IDLE_MS, undefined, { signal });
    signal.throwIfAborted();
    const body = bodyOf(events, webhook.batch);
    const id = messageId(events.map((event) => event.id));
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'tonstream',
      ...signedHeaders(webhook.secret, id, Math.floor(Date.now() / 1000), body),
    };
    const outcome = await poster.post(webhook.url, body, headers, leaving.signal);
    metrics.attempted(outcome.kind);
    if (outcome.kind === 'taken') {
      metrics.delivered(events.length);
      [failures, error] = [0, ''];
    }
    return outcome;
  }

  async function sendNext(): Promise<void> {
    const events = queue.first(alone > 0 ? 1 : webhook.batch);
    const outcome = await send(events);
    if (outcome.kind === 'away') return fail(outcome.reason, outcome.retryAfterMs);
    if (outcome.kind === 'refused') {
      if (events.length > 1) {
        alone = events.length;
        return;
      }
      refusals++;
      if (refusals < limits.attempts || !(await bury(events[0], outcome.reason))) return fail(outcome.reason, null);
    }
    queue.take(events.length);
    cursor = events[events.length - 1].cursor;
    alone = Math.max(0, alone - events.length);
    refusals = 0;
  }

  /** False when it has as many dead letters as it may have: then it waits, and nothing is lost. */
  async function bury({ id, cursor: at }: Mark, reason: string): Promise<boolean> {
    if (letters >= limits.letters) {
      metrics.full();
      return false;
    }
    await options.saveLetters([letterOf(webhook, id, at, 'dead', reason)], leaving.signal);
    letters++;
    metrics.buried();
    return true;
  }

  /** Once: what is refused again is dead again, and for who is away it waits. */
  async function sendAgain(letter: ListedLetter): Promise<void> {
    // It is read again until it is noted what became of it: one that cannot be told now is behind the others then.
    replays.delete(letter.eventId);
    const json = await feed.find(
      { cursor: letter.cursor, id: letter.eventId },
      { ...subscription, cursors: true },
      signal,
    );
    const gone: Outcome = { kind: 'refused', reason: 'the event is not in the history' };
    const outcome = json === null ? gone : await send([{ json, id: letter.eventId, cursor: letter.cursor }]);
    if (outcome.kind === 'away') return fail(outcome.reason, outcome.retryAfterMs);
    const state = outcome.kind === 'taken' ? 'taken' : 'dead';
    const reason = outcome.kind === 'taken' ? '' : outcome.reason;
    replayed.set(letter.eventId, letter.savedAt);
    try {
      await options.saveLetters([letterOf(webhook, letter.eventId, letter.cursor, state, reason)], leaving.signal);
    } catch (error) {
      replayed.delete(letter.eventId);
      throw error;
    }
    const [oldest] = replayed.keys();
    if (replayed.size > limits.letters) replayed.delete(oldest);
    if (state === 'taken') letters--;
  }

  async function run(): Promise<void> {
    await subscribe();
    while (!signal.aborted) {
      const [letter] = replays.values();
      if (letter !== undefined) await sendAgain(letter);
      if (queue.length > 0) await sendNext();
      else if (replays.size === 0) await once(queue.bell, 'more', { signal });
    }
  }

  async function keep(): Promise<void> {
    while (!signal.aborted) {
      try {
        await run();
      } catch (reason) {
        if (signal.aborted) return;
        // Of the tables or the feed, which may be back soon; the event that was under way is still the first.
        await fail(errorMessage(reason), null).catch(() => undefined);
      }
    }
  }

  const running = keep();
  return {
    webhook,
    progress() {
      // With nothing under way the line's own place counts: what it does not hear is not looked through again.
      const at = subscribed && queue.length === 0 ? feed.cursorOf(line) : cursor;
      return { cursor: at, failures, refusals, error };
    },
    replay(letter) {
      if (replayed.get(letter.eventId) === letter.savedAt) return;
      replays.set(letter.eventId, letter);
      queue.bell.emit('more');
    },
    async stop() {
      stopping.abort();
      const patience = setTimeout(() => leaving.abort(), limits.lastAnswerMs);
      await running;
      clearTimeout(patience);
      feed.close(line);
    },
  };
}

function letterOf(webhook: Webhook, eventId: string, cursor: string, state: DeadLetter['state'], reason: string) {
  return { webhook: webhook.id, eventId, cursor, state, error: reason.slice(0, ERROR_LENGTH) };
}

function bodyOf(events: readonly Queued[], batch: number): Buffer {
  if (batch === 1) return events[0].json;
  const parts = events.flatMap(({ json }, at) => [Buffer.from(at === 0 ? '[' : ','), json]);
  return Buffer.concat([...parts, Buffer.from(']')]);
}

/** What a line was told and the webhook has not taken. It is taken out only then. */
function createQueue(maxBytes: number) {
  const events: Queued[] = [];
  const bell = new EventEmitter();
  let bytes = 0;
  let full = false;
  let room: () => void = () => undefined;
  const sink: Sink = {
    write(json, mark) {
      if (mark === null) return !full;
      events.push({ json, ...mark });
      bytes += json.length;
      full ||= bytes > maxBytes;
      bell.emit('more');
      return !full;
    },
    onRoom(call) {
      room = call;
    },
    end: () => undefined,
  };
  return {
    sink,
    bell,
    get length() {
      return events.length;
    },
    first: (count: number): readonly Queued[] => events.slice(0, count),
    take(count: number): void {
      for (const { json } of events.splice(0, count)) bytes -= json.length;
      if (!full || bytes > maxBytes * LOW_WATER) return;
      full = false;
      room();
    },
  };
}
