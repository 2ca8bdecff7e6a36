/**
 * A sent message up to its first word: it is emulated on the newest step and its trace is told, unless it is in a block
 * already; what cannot be told yet is tried again, and what has had its time without a trace is invalid.
 */
import { LRUCache } from 'lru-cache';
import type { StoredPendingMessage } from '../../streams/pending-record.ts';
import type { PendingChange, PendingTrace } from '../../streams/pending-trace.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import { hashKey } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';
import type { QueryContext } from '../chain/records.ts';
import { accountLeft, type Emulated } from '../emulation/emulator.ts';
import { NotAccepted } from '../emulation/trace.ts';
import { isNotFound } from '../node/chain-node.ts';
import type { StateSource } from '../state/source.ts';
import type { Step } from '../state/steps.ts';
import type { Deeds } from './deeds.ts';
import type { Memories } from './growth.ts';
import { isReceived, receivedAmong } from './indexed.ts';
import { type Lifetimes, SECOND_MS } from './lifetimes.ts';
import { openNode } from './merge.ts';
import type { PendingMetrics } from './metrics.ts';
import { emulatedNodes } from './nodes.ts';
import { createPrepared } from './prepared.ts';
import { createRates } from './rates.ts';
import type { RecentSteps } from './recent-steps.ts';
import type { Roots } from './roots.ts';
import type { PendingStore } from './store.ts';
import { createUntold, type Untold } from './untold.ts';

export interface PendingLimits {
  /** Traces at a time; of messages that come above the end alone is told. */
  traces: number;
  /** Messages to one account in ten seconds. */
  perAccount: number;
  /** Of the transactions of all traces; of messages that come above it the end alone is told. */
  bytes: number;
}

export interface AnnouncingOptions {
  store: PendingStore;
  source: ChainSource;
  states: Pick<StateSource, 'step'>;
  limits: PendingLimits;
  lifetimes: Lifetimes;
  metrics: PendingMetrics;
  roots: Roots;
  recent: RecentSteps;
  deeds: Deeds;
  memory: Memories;
  /** The step up to which all is told. */
  mcSeqno(): number;
  tell(changes: readonly PendingChange[]): Promise<void>;
  /** A trace was told for the first time. */
  onTold(hashNorm: Hash, signal: AbortSignal): Promise<void>;
  context(signal: AbortSignal): QueryContext;
  clock(): number;
  report(error: unknown): void;
}

export type SentBytes = Pick<StoredPendingMessage, 'boc' | 'hash' | 'hashNorm' | 'destination'>;

/** What a message does, as of a step. */
interface Work {
  step: Step;
  emulated: Emulated;
  nodes: PendingTrace['nodes'];
  told: Pick<PendingTrace, 'actions' | 'classification'>;
}

/** Times that a message is emulated again because a step came meanwhile. */
const TRIES = 3;
/** From then on the index is asked for a message before it is emulated. */
const WAITED_MS = 3_000;
/** Accounts that have moved lately. */
const MOVED_ACCOUNTS = 16_384;

/**
 * Several messages may be given at a time. What fails of one is reported and tried again by `retry`, as is what an account
 * refuses, what is above its rate, and what the index is too far behind for; `endOverdue` takes those whose time is
 * over. `now` and the clock are Unix milliseconds.
 */
export function createAnnouncing(options: AnnouncingOptions) {
  const { store, source, states, limits, lifetimes, metrics, roots, recent, deeds, memory } = options;
  const { mcSeqno, tell, context, clock, report } = options;
  const rates = createRates(limits.perAccount, clock);
  const prepared = createPrepared<Work>();
  const underWay = new Set<string>();
  const untold = createUntold();
  /** Steps in which accounts took messages from outside last: what they refused before is tried again. */
  const moved = new LRUCache<string, number>({ max: MOVED_ACCOUNTS });
  /** Traces that are being told for the first time. */
  const telling = new Set<Promise<void>>();

  async function workOut(message: SentBytes, signal: AbortSignal): Promise<Work> {
    const step = await states.step(undefined, context(signal));
    const emulated = await roots.emulate(message, step, context(signal));
    const nodes = emulatedNodes(emulated);
    const hashes = { hashNorm: message.hashNorm, externalHash: message.hash };
    const told = await deeds.actions(nodes.map(openNode), hashes, { emulated, mcSeqno: mcSeqno(), signal });
    return { step, emulated, nodes, told };
  }

  /** Whether a step up to this one has a message: not every account refuses what it has received. */
  async function isIn(message: StoredPendingMessage, { header }: Step, signal: AbortSignal): Promise<boolean> {
    if (message.time >= (header.genUtime + 1) * SECOND_MS) return false;
    if (recent.cover(message.time, header.seqno)) return recent.has(message.hashNorm);
    return isReceived(message.hashNorm, source, context(signal));
  }

  /** Whether a message that has waited for some time is in a block meanwhile. */
  async function hasCome({ hashNorm, time }: StoredPendingMessage, signal: AbortSignal): Promise<boolean> {
    if (recent.has(hashNorm)) return true;
    return clock() - time > WAITED_MS && isReceived(hashNorm, source, context(signal));
  }

  /**
   * Emulates a message and tells its trace. Steps go on meanwhile: it is told of unless one of them has it, and once more
   * emulated where one has another message of its account.
   */
  async function announce(message: StoredPendingMessage, signal: AbortSignal): Promise<string> {
    const { hashNorm, hash: externalHash, destination } = message;
    const began = clock();
    // One who is behind need not emulate what has come already.
    if (await hasCome(message, signal)) return 'included';
    for (let tries = 1; ; tries++) {
      const { step, emulated, nodes, told } = (await prepared.take(hashNorm)) ?? (await workOut(message, signal));
      if (await isIn(message, step, signal)) return 'included';
      const since = () => recent.since(step.header.seqno, hashNorm, destination);
      if ((since() === 'moved' || since() === 'unknown') && tries < TRIES) continue;
      if (since() === 'unknown' && (await isReceived(hashNorm, source, context(signal)))) return 'included';
      if (since() === 'received') return 'included';
      const now = clock();
      const { globalVersion, isIncomplete } = emulated;
      const times = { begunMs: now, changedMs: now };
      const trace = { hashNorm, externalHash, version: 1, globalVersion, isIncomplete, ...times, nodes, ...told };
      memory.set(hashKey(hashNorm), { emulated, ahead: accountLeft(emulated.transactions[0]) });
      const done = tell([{ kind: 'trace', trace }]);
      telling.add(done);
      await done.finally(() => telling.delete(done));
      metrics.took(clock() - began);
      if (isIncomplete) metrics.cutOff();
      await options.onTold(hashNorm, signal);
      return 'told';
    }
  }

  /** Emulates a message and tells its trace; where that cannot be, it may be tried again. */
  async function attempt(message: StoredPendingMessage, signal: AbortSignal): Promise<void> {
    const key = hashKey(message.hashNorm);
    const tried = mcSeqno();
    underWay.add(key);
    try {
      metrics.message(await announce(message, signal));
      untold.forget(message);
    } catch (error) {
      signal.throwIfAborted();
      const isRefused = error instanceof NotAccepted;
      // Few accounts take twice what they have received.
      if (isRefused && recent.has(message.hashNorm)) {
        untold.forget(message);
        return metrics.message('included');
      }
      metrics.message(isRefused ? 'refused' : 'failed');
      // Where the index is behind what nodes keep, as after a restart, it comes to a step that they show.
      const isEarly = isNotFound(error);
      if (!isRefused && !isEarly) report(error);
      untold.note(message, isRefused ? 'refused' : isEarly ? 'early' : 'failed', tried);
    } finally {
      underWay.delete(key);
    }
  }

  const hasMoved = ({ message, tried }: Untold): boolean => (moved.get(hashKey(message.destination)) ?? 0) > tried;

  async function tryAgain(signal: AbortSignal): Promise<void> {
    for (const one of untold.waiting()) {
      if (underWay.has(hashKey(one.message.hashNorm))) continue;
      if (one.hindrance === 'refused' && !hasMoved(one)) continue;
      if (one.hindrance === 'early' && one.tried >= mcSeqno()) continue;
      if (store.size + underWay.size >= limits.traces || store.bytes >= limits.bytes) return;
      if (one.hindrance === 'rate' && !rates.take(one.message.destination)) continue;
      await attempt(one.message, signal);
    }
  }

  /** Messages that never had a trace, whose time is over: those that no block has taken are invalid. */
  async function endOverdue(now: number, signal: AbortSignal): Promise<void> {
    const past = untold.sentBefore(now - lifetimes.emulated, now - lifetimes.held);
    const due = past.filter(({ hashNorm }) => !underWay.has(hashKey(hashNorm)));
    const received = await receivedAmong(due, source, context(signal));
    const changes: PendingChange[] = [];
    for (const { hashNorm, destination: account } of due) {
      if (received.has(hashKey(hashNorm))) continue;
      changes.push({ kind: 'invalidated', hashNorm, reason: 'expired', account });
    }
    if (changes.length > 0) await tell(changes);
    for (const message of due) untold.forget(message);
    for (const _ of changes) metrics.invalidated('expired');
  }

  return {
    /** Messages that are being worked on. */
    get underWay() {
      return underWay.size;
    },
    /** Nothing is worked on, and nothing waits for another try or its end. */
    get isIdle() {
      return underWay.size === 0 && untold.isEmpty;
    },
    /** Resolves when what is being told for the first time is told. */
    async settled(): Promise<void> {
      await Promise.allSettled(telling);
    },
    /** Accounts took messages from outside in a step. */
    moved(accounts: Iterable<string>, seqno: number): void {
      for (const key of accounts) moved.set(key, seqno);
    },
    endOverdue,
    retry: tryAgain,
    prepare(message: SentBytes, signal: AbortSignal): void {
      const { hashNorm } = message;
      if (underWay.has(hashKey(hashNorm)) || store.hasEnded(hashNorm) || store.get(hashNorm)) return;
      prepared.begin(hashNorm, () => workOut(message, signal));
    },
    async message(message: StoredPendingMessage, signal: AbortSignal): Promise<void> {
      const key = hashKey(message.hashNorm);
      if (underWay.has(key) || untold.has(message) || store.hasEnded(message.hashNorm) || store.get(message.hashNorm))
        return metrics.message('known');
      if (store.size + underWay.size + untold.size >= limits.traces || store.bytes >= limits.bytes) {
        return metrics.message(untold.leave(message) ? 'full' : 'lost');
      }
      if (clock() - message.time > lifetimes.emulated) {
        untold.giveUp(message);
        return metrics.message('late');
      }
      if (!rates.take(message.destination)) {
        untold.hold(message);
        return metrics.message('rate');
      }
      await attempt(message, signal);
    },
  };
}
