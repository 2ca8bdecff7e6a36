/**
 * The pending traces as the topic tells them. A reader's state follows from the records alone, so every process of every
 * host shows the same ones, and one that was started again knows them as soon as it has read the topic.
 */
import type { InvalidationReason, PendingChange, PendingTrace } from '../../streams/pending-trace.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, Hash } from '../chain/model.ts';
import type { Finality } from '../chain/records.ts';
import { leastSure, type OpenNode, openNode } from './merge.ts';

/** A pending trace with its transactions read. */
export interface OpenTrace {
  trace: PendingTrace;
  nodes: readonly OpenNode[];
  /** Of its least sure transaction. */
  finality: Finality;
}

/**
 * What listeners are told of, in the order of the topic: of one trace first that it is pending, then each change of it,
 * at last that it is finalized or invalidated, and never both. `live` is false for what was said before this process
 * began to listen: a restart announces nothing a second time.
 */
export type PendingEvent =
  /** `before`: as it was, null for one that was not known. */
  | { kind: 'trace'; trace: OpenTrace; before: OpenTrace | null; live: boolean }
  | { kind: 'invalidated'; hashNorm: Hash; reason: InvalidationReason; before: OpenTrace | null; live: boolean };

export interface PendingStore {
  apply(change: PendingChange, live: boolean): void;
  get(hashNorm: Hash): OpenTrace | undefined;
  /** By the hash of the message that begins it, as sent, as it is in a block, or normalised. */
  byMessage(hash: Hash): OpenTrace | undefined;
  /** By the hash of its root transaction, once that is real. */
  byRoot(hash: Hash): OpenTrace | undefined;
  /** Those in which the account has a transaction. */
  byAccount(account: Address): readonly OpenTrace[];
  all(): Iterable<OpenTrace>;
  readonly size: number;
  /** Whether signed shard blocks are seen; null before anybody has said so. */
  readonly confirmed: boolean | null;
  /** Everything begins anew, from the oldest record on. */
  clear(): void;
  /** Returns what ends it. */
  onEvent(listener: (event: PendingEvent) => void): () => void;
}

export function createPendingStore(): PendingStore {
  const traces = new Map<string, OpenTrace>();
  const byMessage = new Map<string, OpenTrace>();
  const byRoot = new Map<string, OpenTrace>();
  const byAccount = new Map<string, Set<OpenTrace>>();
  const listeners = new Set<(event: PendingEvent) => void>();
  let confirmed: boolean | null = null;

  const tell = (event: PendingEvent): void => {
    for (const listener of listeners) listener(event);
  };

  function put(one: OpenTrace): void {
    traces.set(hashKey(one.trace.hashNorm), one);
    for (const key of messageKeys(one)) byMessage.set(key, one);
    const root = rootOf(one);
    if (root !== null) byRoot.set(hashKey(root), one);
    for (const key of accountKeys(one)) {
      const own = byAccount.get(key);
      if (own) own.add(one);
      else byAccount.set(key, new Set([one]));
    }
  }

  function drop(hashNorm: Hash): OpenTrace | null {
    const one = traces.get(hashKey(hashNorm));
    if (one === undefined) return null;
    traces.delete(hashKey(hashNorm));
    for (const key of messageKeys(one)) byMessage.delete(key);
    const root = rootOf(one);
    if (root !== null) byRoot.delete(hashKey(root));
    for (const key of accountKeys(one)) {
      const own = byAccount.get(key);
      own?.delete(one);
      if (own?.size === 0) byAccount.delete(key);
    }
    return one;
  }

  return {
    apply(change, live) {
      if (change.kind === 'levels') {
        confirmed = change.confirmed;
      } else if (change.kind === 'trace') {
        const before = drop(change.trace.hashNorm);
        const nodes = change.trace.nodes.map(openNode);
        const trace = { trace: change.trace, nodes, finality: leastSure(change.trace.nodes) };
        put(trace);
        tell({ kind: 'trace', trace, before, live });
      } else {
        const before = drop(change.hashNorm);
        if (change.kind === 'invalidated') tell({ ...change, before, live });
      }
    },
    get: (hashNorm) => traces.get(hashKey(hashNorm)),
    byMessage: (hash) => byMessage.get(hashKey(hash)),
    byRoot: (hash) => byRoot.get(hashKey(hash)),
    byAccount: (account) => [...(byAccount.get(hashKey(account)) ?? [])],
    all: () => traces.values(),
    get size() {
      return traces.size;
    },
    get confirmed() {
      return confirmed;
    },
    clear() {
      for (const { trace } of [...traces.values()]) drop(trace.hashNorm);
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

/** Hash of the root transaction; null while that is emulated. */
export function rootOf({ nodes: [root] }: OpenTrace): Hash | null {
  return root.node.finality === 'pending' ? null : root.transaction.hash;
}

function messageKeys({ trace, nodes: [root] }: OpenTrace): Set<string> {
  const hashes = [trace.hashNorm, trace.externalHash, root.transaction.inMsg?.hash];
  return new Set(hashes.flatMap((hash) => (hash ? [hashKey(hash)] : [])));
}

function accountKeys({ nodes }: OpenTrace): Set<string> {
  return new Set(nodes.map(({ transaction }) => hashKey(transaction.account)));
}
