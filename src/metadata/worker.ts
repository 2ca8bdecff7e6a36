/** Fetches the documents of tokens and puts them into the log. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { type Document, encodeDocument } from '../../streams/document-record.ts';
import type { EventLog } from '../../streams/log.ts';
import { CONNECTIONS_OF_A_HOST, type Fetched, type Fetcher } from './fetcher.ts';
import { locationsOf } from './locations.ts';
import { createWaiting } from './waiting.ts';

/** `away`: to be tried again soon. `dropped`: too many wait for that; the next start tries. */
export type DocumentEvent = 'found' | 'lost' | 'away' | 'dropped';

export interface DocumentsWorkerOptions {
  log: EventLog;
  topic: string;
  /** URIs that nobody has tried to fetch; none for now when it is empty. */
  wanted: { next(signal: AbortSignal): Promise<string[]> };
  /** Documents to fetch again; none for now when it is empty. */
  stale: (signal: AbortSignal) => Promise<readonly Known[]>;
  fetcher: Fetcher;
  gateways: readonly string[];
  /** Documents at the same time. */
  concurrency: number;
  onEvent(event: DocumentEvent): void;
  logger: Pick<Logger, 'warn' | 'debug'>;
  /** Milliseconds before each further attempt; behind the last one a document counts as lost. */
  pausesMs?: readonly number[];
  /** How often new URIs are looked for. */
  pollMs?: number;
  /** How often old documents are looked for, where there was none. */
  stalePollMs?: number;
}

const PAUSES_MS = [10_000, 60_000, 600_000];
const POLL_MS = 5_000;
const STALE_POLL_MS = 60_000;
const MOST_RETRIES = 20_000;
/** Above it nothing more is looked for. */
const MOST_WAITING = 100_000;
/** Of those at a time, as far as that leaves one: so many hosts that do not answer are needed to hold up all others. */
const SHARE_OF_A_HOST = 1 / 4;
const RECENT = 100_000;
const RECENT_MS = 3_600_000;

/** A document that was fetched before. */
type Known = Pick<Document, 'uri' | 'content' | 'failures'>;

interface Attempt {
  uri: string;
  attempt: number;
  /** Null for one that nobody has tried to fetch. */
  before: Known | null;
}

/**
 * Until the signal aborts. What was fetched and is not in the log yet is fetched again by the next start.
 * @throws {LogError} `writer_busy` where another process fetches into an embedded log
 */
export async function fetchDocuments(options: DocumentsWorkerOptions, outer: AbortSignal): Promise<void> {
  const { log, topic, wanted, fetcher, gateways, concurrency, onEvent, logger } = options;
  const { pausesMs = PAUSES_MS, pollMs = POLL_MS, stalePollMs = STALE_POLL_MS } = options;
  const failed = new AbortController();
  const signal = AbortSignal.any([outer, failed.signal]);
  const ofAHost = Math.min(CONNECTIONS_OF_A_HOST, Math.max(1, Math.floor(concurrency * SHARE_OF_A_HOST)));
  const waiting = createWaiting<Attempt>(ofAHost);
  let retries: (Attempt & { dueAt: number })[] = [];
  /** The table of documents is behind the log. */
  const recent = new LRUCache<string, true>({ max: RECENT, ttl: RECENT_MS });
  let staleAt = 0;
  let filling: Promise<void> | null = null;
  await log.ensureTopic(topic);
  // An empty append takes the writer's lock of an embedded log: who comes second asks nobody for what he cannot keep.
  await log.append(topic, []);

  /** @returns how many of them are to be fetched */
  function add(known: readonly Pick<Attempt, 'uri' | 'before'>[]): number {
    let added = 0;
    for (const { uri, before } of known) {
      if (recent.has(uri)) continue;
      recent.set(uri, true);
      wait({ uri, attempt: 0, before });
      added++;
    }
    return added;
  }

  function wait(attempt: Attempt): void {
    const [url] = locationsOf(attempt.uri, gateways);
    waiting.add(url === undefined ? '' : new URL(url).host, attempt);
  }

  async function fill(): Promise<void> {
    if (waiting.length < MOST_WAITING) {
      if (add((await wanted.next(signal)).map((uri) => ({ uri, before: null }))) > 0) return;
      // What was never there goes before what may have changed.
      if (performance.now() >= staleAt && (await fillStale())) return;
    }
    await sleep(pollMs, undefined, { signal });
  }

  async function fillStale(): Promise<boolean> {
    const added = add((await options.stale(signal)).map((before) => ({ uri: before.uri, before })));
    if (added === 0) staleAt = performance.now() + stalePollMs;
    return added > 0;
  }

  function retryDue(): void {
    const now = performance.now();
    const due = retries.filter(({ dueAt }) => dueAt <= now);
    if (due.length === 0) return;
    retries = retries.filter(({ dueAt }) => dueAt > now);
    for (const { uri, attempt, before } of due) wait({ uri, attempt, before });
  }

  async function next(): Promise<{ host: string; one: Attempt }> {
    for (;;) {
      signal.throwIfAborted();
      retryDue();
      const taken = waiting.take();
      if (taken !== undefined) return taken;
      filling ??= fill()
        .catch(async (error: unknown) => {
          signal.throwIfAborted();
          logger.warn({ err: error }, 'the URIs of tokens cannot be read');
          await sleep(pollMs, undefined, { signal });
        })
        .finally(() => {
          filling = null;
        });
      await filling;
    }
  }

  async function fetch(uri: string): Promise<Fetched> {
    let outcome: Fetched = { kind: 'lost', reason: 'the URI leads nowhere' };
    for (const url of locationsOf(uri, gateways)) {
      const tried = await fetcher.fetch(url, signal);
      if (tried.kind === 'found') return tried;
      // What one gateway has not another one may have.
      if (outcome.kind !== 'away') outcome = tried;
    }
    return outcome;
  }

  async function settle({ uri, attempt, before }: Attempt): Promise<void> {
    const outcome = await fetch(uri);
    if (outcome.kind !== 'found') logger.debug({ uri, attempt, reason: outcome.reason }, 'no document');
    if (outcome.kind === 'away' && attempt < pausesMs.length) {
      onEvent(retries.length < MOST_RETRIES ? 'away' : 'dropped');
      if (retries.length < MOST_RETRIES) {
        retries.push({ uri, before, attempt: attempt + 1, dueAt: performance.now() + pausesMs[attempt] });
      }
      return;
    }
    const found = outcome.kind === 'found';
    // One that was there stays as it was: it is tried again.
    const content = found ? outcome.content : (before?.content ?? null);
    const failures = found ? 0 : (before?.failures ?? 0) + 1;
    await log.append(topic, [encodeDocument({ uri, content, failures, fetchedAt: Math.floor(Date.now() / 1000) })]);
    onEvent(found ? 'found' : 'lost');
  }

  async function lane(): Promise<void> {
    while (!signal.aborted) {
      const { host, one } = await next();
      await settle(one).finally(() => waiting.done(host));
    }
  }

  // All of them are waited for: one may be writing what it has fetched.
  await Promise.all(
    Array.from({ length: concurrency }, () => lane().catch((error: unknown) => failed.abort(signal.reason ?? error))),
  );
  if (!outer.aborted) throw failed.signal.reason;
}
