/**
 * What becomes of sent messages, told as changes of pending traces: emulated when they are sent, confirmed by signed
 * shard blocks, finalized by steps, invalidated when they cannot come true any more. One process of all hosts does so;
 * it changes its store, and so everybody else's, by what it appends to the topic and by nothing else.
 */

import { LRUCache } from 'lru-cache';
import type { StoredPendingMessage } from '../../streams/pending-record.ts';
import type { InvalidationReason, PendingChange, PendingTrace } from '../../streams/pending-trace.ts';
import { parseBoc } from '../chain/builder.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address } from '../chain/model.ts';
import type { QueryContext, TransactionRecord } from '../chain/records.ts';
import { serialize } from '../chain/serialize.ts';
import { accountLeft, beginningOf, type Emulated, type Emulator, readMessage } from '../emulation/emulator.ts';
import { type Knowledge, traceOf } from '../emulation/knowledge.ts';
import { type AccountBefore, type Beginning, EMULATION_LIMITS, NotAccepted, topFor } from '../emulation/trace.ts';
import type { StateSource } from '../state/source.ts';
import type { Step } from '../state/steps.ts';
import { likenessOf } from './compare.ts';
import { type Dangling, leastSure, markOf, mergeNodes, type OpenNode, openNode, receives } from './merge.ts';
import type { PendingMetrics } from './metrics.ts';
import { aheadOf, confirmedNode, emulatedNodes, finalNode, pendingAction, touchedBy, touchedByNodes } from './nodes.ts';
import { createRates } from './rates.ts';
import type { SignedTransactions } from './signed-blocks.ts';
import { type OpenTrace, type PendingStore, rootOf } from './store.ts';

export interface TrackerLimits {
  /** Traces at a time; messages that come above are not told of. */
  traces: number;
  /** Messages to one account in ten seconds. */
  perAccount: number;
}

/** Milliseconds. */
export interface Lifetimes {
  /** Since it was last changed: a trace whose root is emulated, one that is real in part, one that is complete. */
  emulated: number;
  partial: number;
  complete: number;
}

export const LIFETIMES: Lifetimes = { emulated: 30_000, partial: 60_000, complete: 30_000 };

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
  metrics: PendingMetrics;
  /** The step up to which the traces of the store are told. */
  mcSeqno: number;
  queryTimeoutMs: number;
  clock?: () => number;
  report(error: unknown): void;
}

export interface Tracker {
  /** A message was sent. Resolves when its trace is told, or is not to be. */
  message(message: StoredPendingMessage, signal: AbortSignal): Promise<void>;
  /** A step is in the index. */
  step(mcSeqno: number, signal: AbortSignal): Promise<void>;
  /** A shard block is signed. */
  signed(block: SignedTransactions, signal: AbortSignal): Promise<void>;
  /** Invalidates and forgets what has had its time. */
  expire(): Promise<void>;
  readonly mcSeqno: number;
}

/** What is remembered of a trace beside what is told; a restart forgets it. */
interface Memory {
  /** As it was emulated first. */
  emulated: Emulated;
  /** The account of the root as the root leaves it. */
  ahead: AccountBefore;
}

const PAGE = 1000;
/** Times that a message is emulated again because a step came meanwhile. */
const TRIES = 3;
/** Steps after the one that passed a block by, in which what was in it may come again. */
const GRACE_STEPS = 2;
const ENDED = 16_384;
const ROOT_ALONE = { ...EMULATION_LIMITS, transactions: 1 };

export function createTracker(options: TrackerOptions): Tracker {
  const { store, append, source, states, emulator, knowledge, limits, metrics, report } = options;
  const { lifetimes = LIFETIMES, clock = Date.now, queryTimeoutMs: timeoutMs } = options;
  const rates = createRates(limits.perAccount, clock);
  const memory = new LRUCache<string, Memory>({ max: limits.traces });
  const ended = new LRUCache<string, true>({ max: ENDED });
  const underWay = new Set<string>();
  /** Steps that passed by a block that a confirmed transaction was in. */
  const passed = new Map<string, number>();
  let { mcSeqno } = options;
  let last: Promise<unknown> = Promise.resolve();

  store.onEvent(({ kind, ...event }) => {
    if (kind === 'invalidated' && 'hashNorm' in event) ended.set(hashKey(event.hashNorm), true);
  });

  /** One after the other: what is read of the store is still so when it is changed. */
  function alone<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  }

  const context = (signal: AbortSignal): QueryContext => ({ signal, timeoutMs });
  const tell = (changes: readonly PendingChange[]): Promise<void> => append(changes, mcSeqno);

  async function emulateMessage(message: StoredPendingMessage, step: Step, signal: AbortSignal): Promise<Emulated> {
    const beginning = beginningOf(readMessage(message.boc));
    try {
      return await emulator.run([beginning], step, {}, context(signal));
    } catch (error) {
      const before = error instanceof NotAccepted ? newestAhead(message.destination) : undefined;
      if (before === undefined) throw error;
      // Behind another message of the same account that waits, too.
      return emulator.run([beginning], step, { ahead: aheadOf(message.destination, before) }, context(signal));
    }
  }

  function newestAhead(account: Address): AccountBefore | undefined {
    const waiting = emulatedRootsOf(account);
    const newest = waiting.at(-1);
    return newest && memory.get(hashKey(newest.trace.hashNorm))?.ahead;
  }

  /** Traces of the account whose root is emulated, the oldest first. */
  function emulatedRootsOf(account: Address): OpenTrace[] {
    return store
      .byAccount(account)
      .filter((one) => rootOf(one) === null && one.nodes[0].transaction.account.equals(account))
      .sort((a, b) => a.trace.begunMs - b.trace.begunMs);
  }

  async function actionsOf(
    nodes: readonly OpenNode[],
    hashes: Pick<PendingTrace, 'hashNorm' | 'externalHash'>,
    emulated: Emulated | null,
    signal: AbortSignal,
  ): Promise<Pick<PendingTrace, 'actions' | 'classification'>> {
    const { hashNorm, externalHash } = hashes;
    const [root] = nodes;
    const ends = {
      id: root.node.finality === 'pending' ? null : root.transaction.hash.toString('base64'),
      externalHash: externalHash.toString('base64'),
      externalHashNorm: hashNorm.equals(externalHash) ? null : hashNorm.toString('base64'),
      mcSeqnoEnd: Math.max(...nodes.map(({ node }) => node.mcSeqno)),
    };
    const trace = traceOf(
      ends,
      nodes.map(({ transaction }) => transaction),
    );
    try {
      const told = await knowledge.classify(trace, emulated, mcSeqno, signal);
      return { actions: told.actions.map(pendingAction), classification: told.state };
    } catch (error) {
      signal.throwIfAborted();
      // The trace is told without them.
      report(error);
      return { actions: [], classification: 'unclassified' };
    }
  }

  async function announce(message: StoredPendingMessage, signal: AbortSignal): Promise<string> {
    for (let tries = 0; tries < TRIES; tries++) {
      const step = await states.step(undefined, context(signal));
      const emulated = await emulateMessage(message, step, signal);
      const nodes = emulatedNodes(emulated);
      const { hashNorm, hash: externalHash } = message;
      const opened = nodes.map(openNode);
      const told = await actionsOf(opened, { hashNorm, externalHash }, emulated, signal);
      const now = clock();
      const { globalVersion, isIncomplete } = emulated;
      const times = { begunMs: now, changedMs: now };
      const trace = { hashNorm, externalHash, version: 1, globalVersion, isIncomplete, ...times, nodes, ...told };
      const isNew = await alone(async () => {
        // A step that came meanwhile may have had the message in it.
        if (mcSeqno > step.header.seqno) return false;
        const [first] = emulated.transactions;
        memory.set(hashKey(hashNorm), { emulated, ahead: accountLeft(first) });
        await tell([{ kind: 'trace', trace }]);
        return true;
      });
      if (isNew) return 'told';
    }
    return 'overtaken';
  }

  /** What new transactions make of a trace. Null for nothing that was not told. */
  async function changed(
    one: OpenTrace,
    more: readonly OpenNode[],
    signal: AbortSignal,
  ): Promise<PendingChange | null> {
    const { hashNorm } = one.trace;
    const merged = mergeNodes([...one.nodes, ...more], receives(hashNorm));
    if (merged.nodes.length === 0) return null;
    const marks = (nodes: readonly OpenNode[]): string => nodes.map(markOf).join(' ');
    if (marks(merged.nodes) === marks(one.nodes)) return null;
    const tail = merged.dangling.length === 0 ? null : await emulateTail(merged.dangling, signal);
    const nodes = [...merged.nodes, ...(tail === null || tail === 'failed' ? [] : emulatedNodes(tail).map(openNode))];
    const known = memory.get(hashKey(hashNorm));
    const emulated = tail === null || tail === 'failed' ? (known?.emulated ?? null) : tail;
    const final = leastSure(nodes.map(({ node }) => node)) === 'finalized' && tail === null;
    const told = await actionsOf(nodes, one.trace, final ? null : emulated, signal);
    if (final && known !== undefined) metrics.compared(likenessOf(known.emulated.transactions, nodes));
    return {
      kind: 'trace',
      trace: {
        ...one.trace,
        version: one.trace.version + 1,
        isIncomplete: tail === 'failed' || tail?.isIncomplete === true || (!final && one.trace.isIncomplete),
        changedMs: clock(),
        nodes: nodes.map(({ node }) => node),
        ...told,
      },
    };
  }

  /** What follows from messages that left real transactions. */
  async function emulateTail(dangling: readonly Dangling[], signal: AbortSignal): Promise<Emulated | 'failed'> {
    const beginnings = dangling.map(({ bag, message, depth }): Beginning => {
      if (message.destination === null) throw new RangeError('a message out of the chain is received by nobody');
      const cell = parseBoc(serialize(bag, message.cell));
      return { message: cell, destination: message.destination, createdLt: message.createdLt, hop: 0, depth };
    });
    try {
      const step = await states.step(undefined, context(signal));
      return await emulator.run(beginnings, step, {}, context(signal));
    } catch (error) {
      signal.throwIfAborted();
      metrics.tailFailed();
      report(error);
      return 'failed';
    }
  }

  function invalidate(one: OpenTrace, reason: InvalidationReason): PendingChange {
    metrics.invalidated(reason);
    forget(one);
    return { kind: 'invalidated', hashNorm: one.trace.hashNorm, reason };
  }

  function forget({ trace }: OpenTrace): void {
    const key = hashKey(trace.hashNorm);
    memory.delete(key);
    passed.delete(key);
    ended.set(key, true);
  }

  /** Emulated traces whose message its account does not accept any more, now that another one has come. */
  async function superseded(account: Address, step: Step, signal: AbortSignal): Promise<PendingChange[]> {
    const changes: PendingChange[] = [];
    let before: AccountBefore | undefined;
    for (const one of emulatedRootsOf(account)) {
      const left = await leftBy(one, step, before, signal);
      if (left === null) changes.push(invalidate(one, 'superseded'));
      else {
        before = left;
        const known = memory.get(hashKey(one.trace.hashNorm));
        if (known) known.ahead = left;
      }
    }
    return changes;
  }

  /** The account as the root of a trace would leave it; null where it is not accepted, on the step nor behind another. */
  async function leftBy(one: OpenTrace, step: Step, before: AccountBefore | undefined, signal: AbortSignal) {
    const [{ bag, transaction }] = one.nodes;
    if (transaction.inMsg === null) return null;
    const { account } = transaction;
    const message = parseBoc(serialize(bag, transaction.inMsg.cell));
    const beginning = { message, destination: account, createdLt: null, hop: 0, depth: 0 };
    for (const ahead of before === undefined ? [undefined] : [undefined, before]) {
      const how = { limits: ROOT_ALONE, ...(ahead && { ahead: aheadOf(account, ahead) }) };
      try {
        const { transactions } = await emulator.run([beginning], step, how, context(signal));
        return accountLeft(transactions[0]);
      } catch (error) {
        if (!(error instanceof NotAccepted)) throw error;
      }
    }
    return null;
  }

  /** Traces that were seen in signed blocks that others have replaced, and that have not come again since. */
  function replaced(step: Step): PendingChange[] {
    const tops = step.tops ?? [];
    const changes: PendingChange[] = [];
    for (const one of store.all()) {
      const left = one.nodes.filter(({ node }) => node.finality === 'confirmed');
      const isPassed = left.some(
        ({ node, transaction }) => topFor(tops, transaction.account).seqno >= node.block.seqno,
      );
      const key = hashKey(one.trace.hashNorm);
      if (!isPassed) {
        passed.delete(key);
        continue;
      }
      const since = passed.get(key) ?? step.header.seqno;
      passed.set(key, since);
      if (step.header.seqno - since >= GRACE_STEPS) changes.push(invalidate(one, 'replaced'));
    }
    return changes;
  }

  async function transactionsIn(seqno: number, signal: AbortSignal): Promise<TransactionRecord[]> {
    const records: TransactionRecord[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const filter = { mcSeqno: seqno, accounts: [], excludeAccounts: [], hashes: [], utime: {}, ltWindow: {}, cursor };
      const page = { limit: PAGE, offset: 0 };
      const found = await source.transactions({ ...filter, sort: 'asc', page }, context(signal));
      records.push(...found.rows);
      cursor = found.nextCursor;
    }
    return records;
  }

  return {
    get mcSeqno() {
      return mcSeqno;
    },
    async message(message, signal) {
      const key = hashKey(message.hashNorm);
      if (underWay.has(key) || ended.has(key) || store.get(message.hashNorm)) return metrics.message('known');
      if (clock() - message.time > lifetimes.emulated) return metrics.message('late');
      if (store.size + underWay.size >= limits.traces) return metrics.message('full');
      if (!rates.take(message.destination)) return metrics.message('rate');
      const began = clock();
      underWay.add(key);
      try {
        metrics.message(await announce(message, signal));
        metrics.took(clock() - began);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof NotAccepted) return metrics.message('refused');
        metrics.message('failed');
        report(error);
      } finally {
        underWay.delete(key);
      }
    },
    step: (seqno, signal) =>
      alone(async () => {
        const records = store.size === 0 ? [] : await transactionsIn(seqno, signal);
        const touched = touchedBy(store, records);
        const changes: PendingChange[] = [];
        for (const [one, own] of touched) {
          const change = await changed(one, own.map(finalNode), signal);
          if (change !== null) changes.push(change);
        }
        // The step counts once all that follows from it is told: it is gone through again when something fails.
        if (changes.length > 0) await append(changes, seqno - 1);
        if (store.size === 0) {
          mcSeqno = seqno;
          return;
        }
        const step = await states.step(seqno, context(signal));
        const accounts = new Map(
          records.flatMap(({ transaction: { inMsg, account } }) =>
            inMsg?.kind === 'external_in' ? [[hashKey(account), account] as const] : [],
          ),
        );
        const gone: PendingChange[] = [];
        for (const account of accounts.values()) gone.push(...(await superseded(account, step, signal)));
        gone.push(...replaced(step));
        mcSeqno = seqno;
        if (gone.length > 0) await tell(gone);
      }),
    signed: ({ id, transactions }, signal) =>
      alone(async () => {
        if (store.size === 0) return;
        const changes: PendingChange[] = [];
        const nodes = transactions.map((one) => confirmedNode(one, id, mcSeqno + 1));
        for (const [one, own] of touchedByNodes(store, nodes)) {
          const change = await changed(one, own, signal);
          if (change !== null) changes.push(change);
        }
        if (changes.length > 0) await tell(changes);
      }),
    expire: () =>
      alone(async () => {
        const now = clock();
        const changes: PendingChange[] = [];
        for (const one of [...store.all()]) {
          const age = now - one.trace.changedMs;
          const [root] = one.nodes;
          if (root.node.finality === 'pending') {
            if (age > lifetimes.emulated) changes.push(invalidate(one, 'expired'));
          } else if (root.node.finality === 'confirmed') {
            if (age > lifetimes.partial) changes.push(invalidate(one, 'replaced'));
          } else if (age > (one.finality === 'finalized' ? lifetimes.complete : lifetimes.partial)) {
            forget(one);
            changes.push({ kind: 'ended', hashNorm: one.trace.hashNorm });
          }
        }
        if (changes.length > 0) await tell(changes);
      }),
  };
}
