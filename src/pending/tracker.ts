/**
 * What becomes of sent messages, told as changes of pending traces: emulated when they are sent, confirmed by signed
 * shard blocks, finalized by steps, invalidated when they cannot come true any more. One process of all hosts does so;
 * it changes its store, and so everybody else's, by what it appends to the topic and by nothing else.
 */

import { LRUCache } from 'lru-cache';
import type { StoredPendingMessage } from '../../streams/pending-record.ts';
import type { InvalidationReason, PendingChange, PendingTrace } from '../../streams/pending-trace.ts';
import { atMost } from '../at-most.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, Hash } from '../chain/model.ts';
import type { QueryContext } from '../chain/records.ts';
import { accountLeft, type Emulated, type Emulator } from '../emulation/emulator.ts';
import type { Knowledge } from '../emulation/knowledge.ts';
import { NotAccepted } from '../emulation/trace.ts';
import { NodeError } from '../node/chain-node.ts';
import type { StateSource } from '../state/source.ts';
import type { Step } from '../state/steps.ts';
import type { Comparison } from './compare.ts';
import { createDeeds } from './deeds.ts';
import { createGrowth, type Memories } from './growth.ts';
import { isReceived, receivedAmong, transactionsIn } from './indexed.ts';
import { LIFETIMES, type Lifetimes } from './lifetimes.ts';
import { hashNormOf, type OpenNode, openNode } from './merge.ts';
import type { PendingMetrics } from './metrics.ts';
import { confirmedNode, emulatedNodes, finalNode, type SignedNode, touchedBy, touchedByNodes } from './nodes.ts';
import { createOverdue } from './overdue.ts';
import { createPrepared } from './prepared.ts';
import { createRates } from './rates.ts';
import { createRecentSteps } from './recent-steps.ts';
import { createReplaced } from './replaced.ts';
import { createRoots, type Standing } from './roots.ts';
import type { SignedTransactions } from './signed-blocks.ts';
import { createSignedStates } from './signed-states.ts';
import type { OpenTrace, PendingStore } from './store.ts';
import { createUntold, type Untold } from './untold.ts';

export interface TrackerLimits {
  /** Traces at a time; of messages that come above the end alone is told. */
  traces: number;
  /** Messages to one account in ten seconds. */
  perAccount: number;
  /** Of the transactions of all traces; of messages that come above it the end alone is told. */
  bytes: number;
}

export interface TrackerOptions {
  store: PendingStore;
  /** Appends to the topic; then they are in the store, too. */
  append(changes: readonly PendingChange[], mcSeqno: number): Promise<void>;
  source: ChainSource;
  states: Pick<StateSource, 'step'>;
  emulator: Emulator;
  knowledge: Knowledge;
  limits: TrackerLimits;
  lifetimes?: Lifetimes;
  /** What one record of the topic says of a trace: a larger one is told by its steps alone. */
  largest?: { nodes: number; bytes: number };
  metrics: PendingMetrics;
  /** The step up to which the traces of the store are told. */
  mcSeqno: number;
  queryTimeoutMs: number;
  clock?: () => number;
  report(error: unknown): void;
  /** A trace did not come as it was emulated. */
  onDifferent(hashNorm: Hash, comparison: Comparison): void;
}

export interface Tracker {
  /** A message is being sent: what it would do is found out meanwhile, and told to nobody. */
  prepare(message: SentBytes, signal: AbortSignal): void;
  /** A message was sent. Resolves when its trace is told, or is not to be. */
  message(message: StoredPendingMessage, signal: AbortSignal): Promise<void>;
  /** A step is in the index. */
  step(mcSeqno: number, signal: AbortSignal): Promise<void>;
  /** A shard block is signed. */
  signed(block: SignedTransactions, signal: AbortSignal): Promise<void>;
  /** Tries again what has failed, what waited for its turn, and what was refused by accounts that have moved since. */
  retry(signal: AbortSignal): Promise<void>;
  /** Invalidates and forgets what has had its time, by the clock of the chain. */
  expire(signal: AbortSignal): Promise<void>;
  readonly mcSeqno: number;
  /** Whether a message is on its way: signed blocks are looked at then. */
  readonly isBusy: boolean;
}

type SentBytes = Pick<StoredPendingMessage, 'boc' | 'hash' | 'hashNorm' | 'destination'>;

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
/** The time of a block says the second that it was made in. */
const SECOND_MS = 1_000;
/** Steps behind the newest from which on nodes have let go of states that they do not show, whatever else they show. */
const FAR_STEPS = 32;
/** Accounts that have moved lately. */
const MOVED_ACCOUNTS = 16_384;
/** Messages of signed blocks that are remembered: what is in one may be told of a moment later. */
const SIGNED_MESSAGES = 1_024;

const isNotFound = (error: unknown): boolean => error instanceof NodeError && error.code === 'not_found';

export function createTracker(options: TrackerOptions): Tracker {
  const { store, append, source, states, emulator, knowledge, limits, metrics, report } = options;
  const { lifetimes = LIFETIMES, clock = Date.now, queryTimeoutMs: timeoutMs } = options;
  const context = (signal: AbortSignal): QueryContext => ({ signal, timeoutMs });
  const rates = createRates(limits.perAccount, clock);
  const memory: Memories = new LRUCache(atMost(limits.traces));
  const underWay = new Set<string>();
  const untold = createUntold();
  const recent = createRecentSteps(options.mcSeqno);
  const roots = createRoots(store, emulator, ({ trace }) => memory.get(hashKey(trace.hashNorm))?.ahead);
  /** Steps in which accounts took messages from outside last: what they refused before is tried again. */
  const moved = new LRUCache<string, number>({ max: MOVED_ACCOUNTS });
  /** Traces that are being told for the first time. */
  const telling = new Set<Promise<void>>();
  /** By message from outside what the signed block has that it is in. */
  const signedIn = new LRUCache<string, readonly SignedNode[]>({ max: SIGNED_MESSAGES });
  const prepared = createPrepared<Work>();
  const deeds = createDeeds(knowledge, (error) => {
    metrics.unclassified();
    report(error);
  });
  const signedStates = createSignedStates();
  const growth = createGrowth({ ...options, deeds, memory, clock, context, behind: signedStates.behind });
  const overdue = createOverdue(store, { standing }, lifetimes, limits.traces);
  const replaced = createReplaced(store);
  let { mcSeqno } = options;
  /** Unix milliseconds up to which the chain is known: it may stand still, or be behind, and what is pending with it. */
  let chainMs = 0;
  let last: Promise<unknown> = Promise.resolve();

  /** One after the other: what is read of the store is still so when it is changed. */
  function alone<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  }

  const tell = (changes: readonly PendingChange[]): Promise<void> => append(changes, mcSeqno);

  async function workOut(message: SentBytes, signal: AbortSignal): Promise<Work> {
    const step = await states.step(undefined, context(signal));
    const emulated = await roots.emulate(message, step, context(signal));
    const nodes = emulatedNodes(emulated);
    const hashes = { hashNorm: message.hashNorm, externalHash: message.hash };
    const told = await deeds.actions(nodes.map(openNode), hashes, { emulated, mcSeqno, signal });
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
      const signed = signedIn.get(hashKey(hashNorm));
      if (signed !== undefined) await alone(() => takeSigned(signed, signal, hashNorm));
      return 'told';
    }
  }

  /** Emulates a message and tells its trace; where that cannot be, it may be tried again. */
  async function attempt(message: StoredPendingMessage, signal: AbortSignal): Promise<void> {
    const key = hashKey(message.hashNorm);
    const tried = mcSeqno;
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
      if (one.hindrance === 'early' && one.tried >= mcSeqno) continue;
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

  /** Traces that do not come true; one whose message the index has all the same, out of a step passed by, did. */
  async function giveUp(
    over: readonly OpenTrace[],
    reason: InvalidationReason,
    signal: AbortSignal,
  ): Promise<PendingChange[]> {
    const received = await receivedAmong(
      over.map(({ trace }) => trace),
      source,
      context(signal),
    );
    const changes: PendingChange[] = [];
    for (const one of over) {
      const { hashNorm } = one.trace;
      const came = received.has(hashKey(hashNorm));
      if (!came) metrics.invalidated(reason);
      forget(one);
      changes.push(came ? { kind: 'ended', hashNorm } : { kind: 'invalidated', hashNorm, reason });
    }
    return changes;
  }

  /**
   * What new transactions make of a trace; null for nothing that was not told.
   * @param known the step behind which it is told what contracts are
   */
  async function changed(
    one: OpenTrace,
    more: readonly OpenNode[],
    known: number,
    signal: AbortSignal,
  ): Promise<PendingChange | null> {
    const change = await growth.by(one, more, { mcSeqno: known, signal });
    if (change?.kind === 'ended') forget(one);
    return change;
  }

  function forget({ trace }: OpenTrace): void {
    memory.delete(hashKey(trace.hashNorm));
    replaced.forget(trace.hashNorm);
  }

  /**
   * How what waits for an account stands on a step. Of an older one nodes may have the states no more, as after a restart
   * of the only one: then it is known once all is told up to a newer one.
   */
  async function standing(
    account: Address,
    step: Step,
    nowMs: number | undefined,
    context: QueryContext,
  ): Promise<Standing[]> {
    try {
      return await roots.standing(account, step, nowMs, context);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const newest = await states.step(undefined, context);
      const behind = newest.header.seqno - step.header.seqno;
      if (behind < FAR_STEPS && !(behind > 0 && (await isShown(account, newest, context)))) throw error;
      return [];
    }
  }

  /** Whether nodes have what the emulation for an account needs of a step. */
  async function isShown(account: Address, step: Step, context: QueryContext): Promise<boolean> {
    try {
      await roots.standing(account, step, undefined, context);
      return true;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return false;
    }
  }

  /** Emulated traces whose message its account does not accept any more, now that another one has come. */
  async function superseded(account: Address, step: Step, signal: AbortSignal): Promise<PendingChange[]> {
    const found = await standing(account, step, undefined, context(signal));
    for (const { one, left } of found) {
      const known = memory.get(hashKey(one.trace.hashNorm));
      if (left !== null && known !== undefined) known.ahead = left;
    }
    const over = found.flatMap(({ one, left }) => (left === null ? [one] : []));
    return giveUp(over, 'superseded', signal);
  }

  async function takeStep(seqno: number, signal: AbortSignal): Promise<void> {
    if (store.size + underWay.size === 0 && untold.isEmpty) {
      mcSeqno = seqno;
      recent.pass(seqno);
      signedStates.clear();
      return;
    }
    const [records, step] = await Promise.all([
      transactionsIn(seqno, source, context(signal)),
      states.step(seqno, context(signal)),
    ]);
    const accounts = recent.note(seqno, step.header.genUtime, records);
    signedStates.pass(step);
    // What is told from now on knows of this step.
    await Promise.allSettled(telling);
    const changes: PendingChange[] = [];
    for (const [one, own] of touchedBy(store, records)) {
      const change = await changed(one, own.map(finalNode), seqno, signal);
      if (change !== null) changes.push(change);
    }
    // The step counts once all that follows from it is told: it is gone through again when something fails.
    if (changes.length > 0) await append(changes, seqno - 1);
    const gone: PendingChange[] = [];
    for (const account of accounts.values()) gone.push(...(await superseded(account, step, signal)));
    gone.push(...(await giveUp(replaced.at(step), 'replaced', signal)));
    // Others tell of messages meanwhile: what they say names this step once all of it is told.
    if (gone.length > 0) await append(gone, seqno);
    mcSeqno = seqno;
    chainMs = step.header.genUtime * SECOND_MS;
    for (const key of accounts.keys()) moved.set(key, seqno);
  }

  /** @param only the trace that was not there when the block came: of the others later blocks may have said more */
  async function takeSigned(nodes: readonly SignedNode[], signal: AbortSignal, only?: Hash): Promise<void> {
    const changes: PendingChange[] = [];
    for (const [one, own] of touchedByNodes(store, nodes)) {
      if (only !== undefined && !one.trace.hashNorm.equals(only)) continue;
      const emulated = memory.get(hashKey(one.trace.hashNorm))?.emulated ?? null;
      const nodes = await deeds.withWallets(own, { emulated, mcSeqno, signal });
      const change = await changed(one, nodes, mcSeqno, signal);
      if (change !== null) changes.push(change);
    }
    if (changes.length > 0) await tell(changes);
  }

  return {
    get mcSeqno() {
      return mcSeqno;
    },
    get isBusy() {
      return store.size + underWay.size > 0;
    },
    prepare(message, signal) {
      const { hashNorm } = message;
      if (underWay.has(hashKey(hashNorm)) || store.hasEnded(hashNorm) || store.get(hashNorm)) return;
      prepared.begin(hashNorm, () => workOut(message, signal));
    },
    async message(message, signal) {
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
    step: (seqno, signal) => alone(() => takeStep(seqno, signal)),
    retry: tryAgain,
    signed: ({ id, transactions, state }, signal) =>
      alone(async () => {
        if (store.size + underWay.size === 0) return;
        signedStates.note(id, state);
        const nodes = transactions.map((one) => confirmedNode(one, id, mcSeqno + 1));
        for (const { transaction } of nodes) {
          const { inMsg } = transaction;
          if (inMsg?.kind === 'external_in') signedIn.set(hashKey(hashNormOf(inMsg)), nodes);
        }
        await takeSigned(nodes, signal);
      }),
    expire: (signal) =>
      alone(async () => {
        const now = Math.min(clock(), chainMs + SECOND_MS);
        await endOverdue(now, signal);
        const late = await overdue.at(now, () => states.step(mcSeqno, context(signal)), context(signal));
        const changes = await giveUp(late, 'expired', signal);
        const unseen: OpenTrace[] = [];
        for (const one of [...store.all()]) {
          const age = now - one.trace.changedMs;
          const [root] = one.nodes;
          if (root.node.finality === 'pending') continue;
          if (root.node.finality === 'confirmed') {
            if (age > lifetimes.partial) unseen.push(one);
          } else if (age > (one.finality === 'finalized' ? lifetimes.complete : lifetimes.partial)) {
            forget(one);
            changes.push({ kind: 'ended', hashNorm: one.trace.hashNorm });
          }
        }
        changes.push(...(await giveUp(unseen, 'replaced', signal)));
        if (changes.length > 0) await tell(changes);
      }),
  };
}
