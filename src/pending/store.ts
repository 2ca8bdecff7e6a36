/**
 * The pending traces as the topic tells them. A reader's state follows from the records alone, so every process of every
 * host shows the same ones, and one that was started again knows them as soon as it has read the topic.
 */
import { LRUCache } from 'lru-cache';
import type { InvalidationReason, PendingChange, PendingNode, PendingTrace } from '../../streams/pending-trace.ts';
import { atMost } from '../at-most.ts';
import { readContent } from '../chain/actions/content.ts';
import { rawAddress } from '../chain/address.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, Hash } from '../chain/model.ts';
import type { Finality } from '../chain/records.ts';
import { leastSure, type OpenNode, openNode } from './merge.ts';

/** A pending trace with its transactions read. */
export interface OpenTrace {
  trace: PendingTrace;
  nodes: readonly OpenNode[];
  /** Of its least sure transaction; pending while nobody knows what follows from it. */
  finality: Finality;
}

/**
 * What listeners are told of, in the order of the topic: of one trace first that it is pending, then each change of it,
 * at last that it is finalized or invalidated, and never both. `live` is false for what was said before this process
 * began to listen: a restart announces nothing a second time.
 */
export type PendingEvent =
  /**
   * `before`: as it was, null for one that was not known. `mcSeqno`: of the newest step that was known to whoever said so.
   */
  | { kind: 'trace'; trace: OpenTrace; before: OpenTrace | null; live: boolean; mcSeqno: number }
  | {
      kind: 'invalidated';
      hashNorm: Hash;
      reason: InvalidationReason;
      /** Of a message of which nothing was told before: whom it was for. */
      account?: Address;
      before: OpenTrace | null;
      live: boolean;
      mcSeqno: number;
    };

/** When a message got surer, in Unix milliseconds: first said of the transaction that received it; null for never. */
export interface TraceLife {
  pendingMs: number | null;
  confirmedMs: number | null;
  finalizedMs: number | null;
  invalidatedMs: number | null;
  reason: InvalidationReason | null;
}

export interface PendingStore {
  /**
   * What is said of a trace behind its end, or once more, changes nothing: a process whose turn was over may have said
   * it. So nothing that was told becomes less sure.
   * @param timeMs when it was said, in Unix milliseconds
   */
  apply(change: PendingChange, live: boolean, mcSeqno?: number, timeMs?: number): void;
  get(hashNorm: Hash): OpenTrace | undefined;
  /** Whether it was told to its end; the newest of them are remembered. */
  hasEnded(hashNorm: Hash): boolean;
  /** By the hash of the message that begins it, as sent, as it is in a block, or normalised. */
  byMessage(hash: Hash): OpenTrace | undefined;
  /** By the same hashes, also of one that has ended: the newest are remembered. */
  lifeOf(hash: Hash): TraceLife | undefined;
  /** By the hash of its root transaction, once that is real. */
  byRoot(hash: Hash): OpenTrace | undefined;
  /** Those in which the account has a transaction. */
  byAccount(account: Address): readonly OpenTrace[];
  /** Those of which an action is found by the account. */
  byActor(account: Address): readonly OpenTrace[];
  all(): Iterable<OpenTrace>;
  readonly size: number;
  /** Of the transactions of all traces. */
  readonly bytes: number;
  /** Whether signed shard blocks are seen; null before anybody has said so. */
  readonly confirmed: boolean | null;
  /** Everything begins anew, from the oldest record on. */
  clear(): void;
  /** Returns what ends it. */
  onEvent(listener: (event: PendingEvent) => void): () => void;
}

/** Ended traces that are remembered. */
const ENDED = 16_384;
/** By each of the hashes of their messages. */
const LIVES = 3 * ENDED;

const NO_LIFE: TraceLife = {
  pendingMs: null,
  confirmedMs: null,
  finalizedMs: null,
  invalidatedMs: null,
  reason: null,
};

export function createPendingStore(): PendingStore {
  const traces = new Map<string, OpenTrace>();
  const byMessage = new Map<string, OpenTrace>();
  const byRoot = new Map<string, OpenTrace>();
  const byAccount = createIndex();
  const byActor = createIndex();
  const listeners = new Set<(event: PendingEvent) => void>();
  const ended = new LRUCache<string, true>(atMost(ENDED));
  const lives = new LRUCache<string, TraceLife>(atMost(LIVES));
  let confirmed: boolean | null = null;
  let bytes = 0;

  const tell = (event: PendingEvent): void => {
    for (const listener of listeners) listener(event);
  };

  function put(one: OpenTrace): void {
    traces.set(hashKey(one.trace.hashNorm), one);
    bytes += bytesOf(one.trace.nodes);
    for (const key of messageKeys(one)) byMessage.set(key, one);
    const root = rootOf(one);
    if (root !== null) byRoot.set(hashKey(root), one);
    byAccount.put(accountKeys(one), one);
    byActor.put(actorsOf(one), one);
  }

  function drop(hashNorm: Hash): OpenTrace | null {
    const one = traces.get(hashKey(hashNorm));
    if (one === undefined) return null;
    traces.delete(hashKey(hashNorm));
    bytes -= bytesOf(one.trace.nodes);
    for (const key of messageKeys(one)) byMessage.delete(key);
    const root = rootOf(one);
    if (root !== null) byRoot.delete(hashKey(root));
    byAccount.take(accountKeys(one), one);
    byActor.take(actorsOf(one), one);
    return one;
  }

  function noteLife(one: OpenTrace): void {
    const { hashNorm, begunMs, changedMs } = one.trace;
    const known = lives.get(hashKey(hashNorm)) ?? { ...NO_LIFE, pendingMs: begunMs };
    const { finality } = one.nodes[0].node;
    const life = {
      ...known,
      confirmedMs: known.confirmedMs ?? (finality === 'confirmed' ? changedMs : null),
      finalizedMs: known.finalizedMs ?? (finality === 'finalized' ? changedMs : null),
    };
    for (const key of messageKeys(one)) lives.set(key, life);
  }

  function noteEnd(hashNorm: Hash, reason: InvalidationReason, invalidatedMs: number): void {
    const one = traces.get(hashKey(hashNorm));
    const life = { ...(lives.get(hashKey(hashNorm)) ?? NO_LIFE), invalidatedMs, reason };
    for (const key of one ? messageKeys(one) : [hashKey(hashNorm)]) lives.set(key, life);
  }

  return {
    apply(change, live, mcSeqno = 0, timeMs = Date.now()) {
      if (change.kind === 'levels') {
        confirmed = change.confirmed;
      } else if (change.kind === 'trace') {
        const key = hashKey(change.trace.hashNorm);
        if (ended.has(key) || change.trace.version <= (traces.get(key)?.trace.version ?? 0)) return;
        const before = drop(change.trace.hashNorm);
        const nodes = change.trace.nodes.map(openNode);
        const finality = change.trace.isIncomplete ? 'pending' : leastSure(change.trace.nodes);
        const trace: OpenTrace = { trace: change.trace, nodes, finality };
        put(trace);
        noteLife(trace);
        tell({ kind: 'trace', trace, before, live, mcSeqno });
      } else {
        const key = hashKey(change.hashNorm);
        if (ended.has(key) || (change.kind === 'invalidated' && traces.get(key)?.finality === 'finalized')) return;
        ended.set(key, true);
        if (change.kind === 'invalidated') noteEnd(change.hashNorm, change.reason, timeMs);
        const before = drop(change.hashNorm);
        if (change.kind === 'invalidated') tell({ ...change, before, live, mcSeqno });
      }
    },
    get: (hashNorm) => traces.get(hashKey(hashNorm)),
    hasEnded: (hashNorm) => ended.has(hashKey(hashNorm)),
    byMessage: (hash) => byMessage.get(hashKey(hash)),
    lifeOf: (hash) => lives.get(hashKey(hash)),
    byRoot: (hash) => byRoot.get(hashKey(hash)),
    byAccount: (account) => byAccount.at(hashKey(account)),
    byActor: (account) => byActor.at(rawAddress(account)),
    all: () => traces.values(),
    get size() {
      return traces.size;
    },
    get bytes() {
      return bytes;
    },
    get confirmed() {
      return confirmed;
    },
    clear() {
      for (const { trace } of [...traces.values()]) drop(trace.hashNorm);
      ended.clear();
      lives.clear();
    },
    onEvent(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** What `/status` tells: how many there are, and whether signed shard blocks are seen; null before that is known. */
export function pendingStatus({ size, confirmed }: PendingStore): { traces: number; confirmed: boolean | null } {
  return { traces: size, confirmed };
}

/** Of transactions as they are kept. */
export function bytesOf(nodes: readonly Pick<PendingNode, 'transaction' | 'states'>[]): number {
  return nodes.reduce((sum, { transaction, states }) => sum + transaction.length + states.length, 0);
}

/** Hash of the root transaction; null while that is emulated. */
export function rootOf({ nodes: [root] }: OpenTrace): Hash | null {
  return root.node.finality === 'pending' ? null : root.transaction.hash;
}

function messageKeys({ trace, nodes: [root] }: OpenTrace): Set<string> {
  const hashes = [trace.hashNorm, trace.externalHash, root.transaction.inMsg?.hash];
  return new Set(hashes.flatMap((hash) => (hash ? [hashKey(hash)] : [])));
}

/** Traces by several keys each. */
function createIndex() {
  const kept = new Map<string, Set<OpenTrace>>();
  return {
    put(keys: Iterable<string>, one: OpenTrace): void {
      for (const key of keys) {
        const own = kept.get(key);
        if (own) own.add(one);
        else kept.set(key, new Set([one]));
      }
    },
    take(keys: Iterable<string>, one: OpenTrace): void {
      for (const key of keys) {
        const own = kept.get(key);
        own?.delete(one);
        if (own?.size === 0) kept.delete(key);
      }
    },
    at: (key: string): OpenTrace[] => [...(kept.get(key) ?? [])],
  };
}

const actors = new WeakMap<OpenTrace, ReadonlySet<string>>();

/** Read once. */
function actorsOf(one: OpenTrace): ReadonlySet<string> {
  const known = actors.get(one) ?? new Set(one.trace.actions.flatMap(({ content }) => readContent(content)[1]));
  actors.set(one, known);
  return known;
}

function accountKeys({ nodes }: OpenTrace): Set<string> {
  return new Set(nodes.map(({ transaction }) => hashKey(transaction.account)));
}
