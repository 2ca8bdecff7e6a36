/**
 * What becomes of sent messages, told as changes of pending traces: emulated when they are sent (announcing.ts), confirmed
 * by signed shard blocks, finalized by steps, invalidated when they cannot come true any more. One process of all hosts
 * does so; it changes its store, and so everybody else's, by what it appends to the topic and by nothing else.
 */

import { LRUCache } from 'lru-cache';
import type { StoredPendingMessage } from '../../streams/pending-record.ts';
import type { InvalidationReason, PendingChange } from '../../streams/pending-trace.ts';
import { atMost } from '../at-most.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, Hash } from '../chain/model.ts';
import type { QueryContext } from '../chain/records.ts';
import type { Emulator } from '../emulation/emulator.ts';
import type { Knowledge } from '../emulation/knowledge.ts';
import { isNotFound } from '../node/chain-node.ts';
import type { StateSource } from '../state/source.ts';
import type { Step } from '../state/steps.ts';
import { createAnnouncing, type PendingLimits, type SentBytes } from './announcing.ts';
import type { Comparison } from './compare.ts';
import { createDeeds } from './deeds.ts';
import { createGrowth, type Memories } from './growth.ts';
import { receivedAmong, transactionsIn } from './indexed.ts';
import { LIFETIMES, type Lifetimes, SECOND_MS } from './lifetimes.ts';
import type { OpenNode } from './merge.ts';
import type { PendingMetrics } from './metrics.ts';
import { confirmedNode, finalNode, type SignedNode, touchedBy, touchedByNodes } from './nodes.ts';
import { createOverdue } from './overdue.ts';
import { createRecentSteps } from './recent-steps.ts';
import { createReplaced } from './replaced.ts';
import { createRoots, type Standing } from './roots.ts';
import type { SignedTransactions } from './signed-blocks.ts';
import { createSignedMessages } from './signed-messages.ts';
import { createSignedStates } from './signed-states.ts';
import type { OpenTrace, PendingStore } from './store.ts';

export interface TrackerOptions {
  store: PendingStore;
  /** Appends to the topic; then they are in the store, too. */
  append(changes: readonly PendingChange[], mcSeqno: number): Promise<void>;
  source: ChainSource;
  states: Pick<StateSource, 'step'>;
  emulator: Emulator;
  knowledge: Knowledge;
  limits: PendingLimits;
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

/** Steps behind the newest from which on nodes have let go of states that they do not show, whatever else they show. */
const FAR_STEPS = 32;

/**
 * One for a topic of pending traces at a time, over a store that holds what the topic says already. Steps are to come
 * in order, and may be passed over. A call rejects with what the source, a liteserver or `append` fails with; what
 * fails of one message is reported and left to `retry`.
 */
export function createTracker(options: TrackerOptions): Tracker {
  const { store, append, source, states, emulator, knowledge, limits, metrics, report } = options;
  const { lifetimes = LIFETIMES, clock = Date.now, queryTimeoutMs: timeoutMs } = options;
  const context = (signal: AbortSignal): QueryContext => ({ signal, timeoutMs });
  const memory: Memories = new LRUCache(atMost(limits.traces));
  const recent = createRecentSteps(options.mcSeqno);
  const roots = createRoots(store, emulator, ({ trace }) => memory.get(hashKey(trace.hashNorm))?.ahead);
  const signedMessages = createSignedMessages();
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
  const announcing = createAnnouncing({
    store,
    source,
    states,
    limits,
    lifetimes,
    metrics,
    roots,
    recent,
    deeds,
    memory,
    tell,
    context,
    clock,
    report,
    mcSeqno: () => mcSeqno,
    async onTold(hashNorm, signal) {
      const signed = signedMessages.nodesWith(hashNorm);
      if (signed !== undefined) await alone(() => takeSigned(signed, signal, hashNorm));
    },
  });

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
    if (store.size === 0 && announcing.isIdle) {
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
    await announcing.settled();
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
    announcing.moved(accounts.keys(), seqno);
  }

  /** @param only the trace that was not there when the block came: of the others later blocks may have said more */
  async function takeSigned(nodes: readonly SignedNode[], signal: AbortSignal, only?: Hash): Promise<void> {
    const changes: PendingChange[] = [];
    for (const [one, own] of touchedByNodes(store, nodes)) {
      if (only !== undefined && !one.trace.hashNorm.equals(only)) continue;
      const emulated = memory.get(hashKey(one.trace.hashNorm))?.emulated ?? null;
      const nodes = await deeds.withWallets(own, one.trace, { emulated, mcSeqno, signal });
      const change = await changed(one, nodes, mcSeqno, signal);
      if (change !== null) changes.push(change);
    }
    if (changes.length > 0) await tell(changes);
  }

  /** Those that begin in a step are forgotten in their time: for that nobody needs to be asked. */
  async function endDone(now: number): Promise<void> {
    const changes: PendingChange[] = [];
    for (const one of [...store.all()]) {
      if (one.nodes[0].node.finality !== 'finalized') continue;
      const lifetime = one.finality === 'finalized' ? lifetimes.complete : lifetimes.partial;
      if (now - one.trace.changedMs <= lifetime) continue;
      forget(one);
      changes.push({ kind: 'ended', hashNorm: one.trace.hashNorm });
    }
    if (changes.length > 0) await tell(changes);
  }

  /** Emulated traces that do not come any more. */
  async function endLate(now: number, signal: AbortSignal): Promise<void> {
    const late = await overdue.at(now, () => states.step(mcSeqno, context(signal)), context(signal));
    const changes = await giveUp(late, 'expired', signal);
    if (changes.length > 0) await tell(changes);
  }

  /** Those that were seen in signed blocks alone. */
  async function endUnseen(now: number, signal: AbortSignal): Promise<void> {
    const unseen = [...store.all()].filter(
      ({ nodes: [{ node }], trace }) => node.finality === 'confirmed' && now - trace.changedMs > lifetimes.partial,
    );
    const changes = await giveUp(unseen, 'replaced', signal);
    if (changes.length > 0) await tell(changes);
  }

  return {
    get mcSeqno() {
      return mcSeqno;
    },
    get isBusy() {
      return store.size + announcing.underWay > 0;
    },
    prepare: announcing.prepare,
    message: announcing.message,
    step: (seqno, signal) => alone(() => takeStep(seqno, signal)),
    retry: announcing.retry,
    signed: ({ id, transactions, memory: nodesMemory, state }, signal) =>
      alone(async () => {
        if (store.size + announcing.underWay === 0) return;
        signedStates.note(id, state);
        const nodes = transactions.map((one) => confirmedNode(one, id, mcSeqno + 1));
        signedMessages.note(nodes, nodesMemory);
        await takeSigned(nodes, signal);
      }),
    expire: (signal) =>
      alone(async () => {
        const now = Math.min(clock(), chainMs + SECOND_MS);
        await endDone(now);
        // What cannot be known now of some holds up no others.
        const asked = [endLate, endUnseen, announcing.endOverdue];
        const failures: unknown[] = [];
        for (const end of asked) await end(now, signal).catch((error: unknown) => failures.push(error));
        if (failures.length > 0) throw failures[0];
      }),
  };
}
