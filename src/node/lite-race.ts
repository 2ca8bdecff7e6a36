import { setMaxListeners } from 'node:events';
import { errorMessage } from '../chain/errors.ts';
import { AdnlError } from './adnl.ts';
import { NodeError, type NodeErrorCode } from './chain-node.ts';
import { LiteTimeoutError } from './lite-connection.ts';
import { judge } from './lite-faults.ts';
import { backOff, type LiteLimits } from './lite-limits.ts';
import { type LitePeer, standing } from './lite-peer.ts';

/** A call to whichever server can answer it. */
export interface Question<T> {
  /** Names the call in errors and in the figures of its latency. */
  name: string;
  /** Body of the call. */
  body: Buffer;
  /** Reads and checks the answer. What it throws is judged (lite-faults.ts) and may count against the server. */
  check(answer: Buffer, peer: LitePeer): T;
  signal: AbortSignal;
  timeoutMs: number;
  /** Masterchain block the answering server must have; one that has it not yet is asked to wait for it. */
  minMcSeqno?: number | undefined;
  /** Masterchain block that a server had better have: others are asked last, and not to wait. */
  preferMcSeqno?: number;
  /** Refusals of different servers that make a refusal: one alone may be of its own making. Default 2. */
  opinions?: number;
}

const OPINIONS = 2;
/**
 * Opinions on something that is known to be asked rightly, so that a refusal is the server's own trouble: whoever refuses
 * at once is asked first, and any number of those must not keep from it who has it.
 */
export const ALL = Number.POSITIVE_INFINITY;

export interface RaceMetrics {
  /** A second server was asked because the first was slow. */
  hedged?(name: string): void;
  answered?(name: string, server: string, ms: number): void;
}

/** Slowest twentieth of recent answers, by name of the call. */
function createLatencies(limits: LiteLimits) {
  const ring = 128;
  const books = new Map<string, { times: number[]; next: number; p95: number }>();
  return {
    note(name: string, ms: number): void {
      const book = books.get(name) ?? { times: [], next: 0, p95: limits.hedgeMs };
      books.set(name, book);
      book.times[book.next++ % ring] = ms;
      if (book.times.length < 16 || book.next % 16 !== 0) return;
      const sorted = [...book.times].sort((a, b) => a - b);
      book.p95 = sorted[Math.floor(sorted.length * 0.95)];
    },
    /** When a second server is asked. */
    hedgeMs(name: string): number {
      const p95 = books.get(name)?.p95 ?? limits.hedgeMs;
      return Math.min(Math.max(p95, limits.minHedgeMs), limits.attemptMs / 2);
    },
  };
}

type Latencies = ReturnType<typeof createLatencies>;

interface Settle<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
}

interface Field {
  peers: readonly LitePeer[];
  limits: LiteLimits;
  metrics: RaceMetrics;
  latencies: Latencies;
  /** Ends every race. */
  signal: AbortSignal;
  /** Races without a server at the moment, first come first served. */
  queue: Set<{ advance(): void }>;
}

/** One call over all its attempts. */
class Race<T> {
  readonly #field: Field;
  readonly #question: Question<T>;
  readonly #asked = new Set<LitePeer>();
  readonly #controller = new AbortController();
  readonly #deadline: number;
  readonly #settle: Settle<T>;
  readonly #timer: NodeJS.Timeout;
  #hedge: NodeJS.Timeout | undefined;
  #pause: NodeJS.Timeout | undefined;
  #done = false;
  #running = 0;
  #refusals = 0;
  #absences = 0;
  #rounds = 0;
  #last: { peer: LitePeer; error: unknown } | null = null;

  constructor(field: Field, question: Question<T>, settle: Settle<T>) {
    this.#field = field;
    this.#question = question;
    this.#settle = settle;
    this.#deadline = performance.now() + question.timeoutMs;
    this.#timer = setTimeout(() => this.#giveUp(), question.timeoutMs);
    for (const signal of this.#signals()) {
      setMaxListeners(0, signal);
      signal.addEventListener('abort', this.#abort, { once: true });
    }
  }

  #signals(): AbortSignal[] {
    return [this.#question.signal, this.#field.signal];
  }

  readonly #abort = (): void => {
    this.#controller.abort();
    this.#fail('aborted', 'aborted');
  };

  /** Asks the next server if there is one, else waits for one, else ends. */
  advance(): void {
    if (this.#done || this.#pause !== undefined) return;
    const peer = this.#pick();
    if (peer !== null) {
      this.#field.queue.delete(this);
      this.#asked.add(peer);
      this.#running++;
      void this.#attempt(peer);
      return;
    }
    if (this.#running > 0) return;
    if (this.#field.peers.some((one) => !this.#asked.has(one) && (one.state === 'ready' || one.fresh))) this.#wait();
    else if (this.#refusals > 0) this.#fail('refused', 'refused');
    else if (this.#absences > 0) this.#fail('not_found', 'not found');
    else if (this.#asked.size > 0) this.#again();
    else this.#wait();
  }

  #wait(): void {
    const { queue, limits } = this.#field;
    if (!queue.has(this) && queue.size >= limits.maxQueued) {
      this.#fail('unavailable', `${queue.size} calls wait for a server already`);
    } else queue.add(this);
  }

  /** Every server failed: all over again after a pause. */
  #again(): void {
    const { limits } = this.#field;
    this.#pause = setTimeout(
      () => {
        this.#pause = undefined;
        this.#asked.clear();
        this.advance();
      },
      backOff(limits.backoffMs, this.#rounds++, limits.maxBackoffMs),
    );
  }

  /**
   * The best server with a free slot that was not asked yet. One that is behind, be it what was asked for or the
   * foremost, is chosen when the others are much slower.
   */
  #pick(): LitePeer | null {
    const { peers, limits } = this.#field;
    const needed = this.#question.minMcSeqno ?? this.#question.preferMcSeqno ?? 0;
    const foremost = Math.max(...peers.map(seqnoOf));
    let best: LitePeer | null = null;
    let bestScore = Number.POSITIVE_INFINITY;
    for (const peer of peers) {
      if (peer.state !== 'ready' || this.#asked.has(peer) || peer.inFlight >= limits.maxInFlight) continue;
      const missing = Math.max(0, needed - seqnoOf(peer));
      const score = peer.score() * (1 + missing) ** 2 * (1 + (foremost - seqnoOf(peer)) / 10);
      if (score < bestScore) {
        best = peer;
        bestScore = score;
      }
    }
    return best;
  }

  async #attempt(peer: LitePeer): Promise<void> {
    const { body, minMcSeqno, name, check } = this.#question;
    const remaining = Math.max(1, Math.ceil(this.#deadline - performance.now()));
    const waits = minMcSeqno !== undefined && seqnoOf(peer) < minMcSeqno;
    const wait = waits ? { seqno: minMcSeqno, timeoutMs: remaining } : undefined;
    const timeoutMs = waits ? remaining : Math.min(remaining, this.#field.limits.attemptMs);
    if (!waits) this.#startHedge();
    const startedAt = performance.now();
    try {
      const answer = await peer.exchange(body, { signal: this.#controller.signal, timeoutMs, wait });
      const value = check(answer, peer);
      const tookMs = performance.now() - startedAt;
      peer.succeeded();
      if (!waits) this.#field.latencies.note(name, tookMs);
      this.#field.metrics.answered?.(name, peer.name, tookMs);
      this.#finish(() => this.#settle.resolve(value));
    } catch (error) {
      this.#failed({ peer, error, waits, timeoutMs });
    }
  }

  #startHedge(): void {
    clearTimeout(this.#hedge);
    this.#hedge = setTimeout(() => {
      if (this.#running !== 1) return;
      const before = this.#asked.size;
      this.advance();
      if (this.#asked.size > before) this.#field.metrics.hedged?.(this.#question.name);
    }, this.#field.latencies.hedgeMs(this.#question.name));
  }

  /** Also for an attempt that lost the race: what the server did wrong counts all the same. */
  #failed({ peer, error, waits, timeoutMs }: Failure): void {
    this.#running--;
    if (this.#controller.signal.aborted) return;
    const verdict = judge(error);
    const absent = verdict?.kind === 'not_found' || (waits && verdict?.kind === 'fault' && verdict.fault === 'busy');
    if (verdict?.kind === 'fault' && !absent && this.#counts(error, timeoutMs)) peer.fault(verdict.fault, error);
    if (this.#done) return;
    this.#last = { peer, error };
    // Not of the server's making: a mistake of this program, which no other server will mend.
    if (verdict === null) this.#finish(() => this.#settle.reject(error));
    else if (absent) this.#absences++;
    else if (verdict.kind === 'refused') this.#refusals++;
    if (this.#refusals >= (this.#question.opinions ?? OPINIONS)) this.#fail('refused', 'refused');
    else this.advance();
  }

  /**
   * The end of a connection is counted once, where it is noticed, not for every call that was on it; and a server that
   * was given little time is not to blame for needing more.
   */
  #counts(error: unknown, timeoutMs: number): boolean {
    if (error instanceof AdnlError) return false;
    return !(error instanceof LiteTimeoutError) || timeoutMs >= this.#field.limits.attemptMs / 2;
  }

  #giveUp(): void {
    const ms = this.#question.timeoutMs;
    if (this.#absences > 0) this.#fail('not_found', 'not found');
    else if (this.#asked.size > 0) this.#fail('unavailable', `no answer in ${ms} ms`);
    else this.#fail('unavailable', `no server in ${ms} ms (${standing(this.#field.peers)})`);
  }

  #fail(code: NodeErrorCode, what: string): void {
    const { name } = this.#question;
    const reason = this.#last === null ? '' : `; ${this.#last.peer.name}: ${errorMessage(this.#last.error)}`;
    const cause = code === 'aborted' ? this.#signals().find((one) => one.aborted)?.reason : this.#last?.error;
    this.#finish(() => this.#settle.reject(new NodeError(code, `${name}: ${what}${reason}`, { cause })));
  }

  /** Attempts that are still under way go on: their outcome tells something about the server. */
  #finish(settle: () => void): void {
    if (this.#done) return;
    this.#done = true;
    this.#field.queue.delete(this);
    for (const timer of [this.#timer, this.#hedge, this.#pause]) clearTimeout(timer);
    for (const signal of this.#signals()) signal.removeEventListener('abort', this.#abort);
    settle();
  }
}

interface Failure {
  peer: LitePeer;
  error: unknown;
  /** The server was asked to wait for a block first. */
  waits: boolean;
  timeoutMs: number;
}

function seqnoOf(peer: LitePeer): number {
  return peer.head?.seqno ?? 0;
}

/** Asks questions of a set of servers. */
export interface Asker {
  /**
   * The first right answer. Servers that do not have the thing, fail or lie are passed over; a slow one gets company
   * after the p95 of the call. @throws {NodeError}
   */
  ask<T>(question: Question<T>): Promise<T>;
  /** A server has a free slot again. */
  slotFree(): void;
  /** A server came or went. */
  peerChanged(): void;
}

export function createAsker(
  peers: readonly LitePeer[],
  limits: LiteLimits,
  metrics: RaceMetrics,
  signal: AbortSignal,
): Asker {
  const field: Field = { peers, limits, metrics, latencies: createLatencies(limits), queue: new Set(), signal };
  const hasRoom = (peer: LitePeer): boolean => peer.state === 'ready' && peer.inFlight < limits.maxInFlight;
  return {
    async ask<T>(question: Question<T>): Promise<T> {
      for (const one of [question.signal, signal]) {
        if (one.aborted) throw new NodeError('aborted', `${question.name}: aborted`, { cause: one.reason });
      }
      return new Promise<T>((resolve, reject) => new Race(field, question, { resolve, reject }).advance());
    },
    slotFree(): void {
      for (const race of field.queue) {
        if (!peers.some(hasRoom)) return;
        race.advance();
      }
    },
    peerChanged(): void {
      for (const race of [...field.queue]) race.advance();
    },
  };
}
