/**
 * How what is known of a trace is put together: at each message the surest transaction that received it. Where a real
 * one is, what was emulated below another message vanishes with that message (spec v3 actions 1.2).
 */
import type { PendingNode } from '../../streams/pending-trace.ts';
import { type Boc, openBoc } from '../chain/boc.ts';
import { hashKey } from '../chain/hash.ts';
import type { Hash, Message, Transaction } from '../chain/model.ts';
import type { Finality } from '../chain/records.ts';
import { decodeTransaction } from '../chain/transaction.ts';

/** A node with its transaction read. */
export interface OpenNode {
  node: PendingNode;
  bag: Boc;
  transaction: Transaction;
}

/** A message that left a real transaction, and that nobody has received yet. */
export interface Dangling {
  bag: Boc;
  message: Message;
  /** Of the transaction that receives it, from 0 at the root. */
  depth: number;
}

export interface Merged {
  /** A parent is before its children. */
  nodes: OpenNode[];
  dangling: Dangling[];
}

/** @throws {DecodeError} */
export function openNode(node: PendingNode): OpenNode {
  const bag = openBoc(node.transaction);
  const transaction = decodeTransaction(bag, bag.roots[0], node.block.workchain);
  return { node, bag, transaction };
}

const LEVEL: Record<Finality, number> = { pending: 0, confirmed: 1, finalized: 2 };

export const surer = (a: Finality, b: Finality): boolean => LEVEL[a] > LEVEL[b];

/** The least sure of them. */
export function leastSure(nodes: readonly Pick<PendingNode, 'finality'>[]): Finality {
  let least: Finality = 'finalized';
  for (const { finality } of nodes) if (surer(least, finality)) least = finality;
  return least;
}

/**
 * @param isRoot whether a transaction received the message that begins the trace, in whatever encoding
 * @param nodes what was known, then what is new: of two that are as sure the later one counts
 */
export function mergeNodes(nodes: readonly OpenNode[], isRoot: (transaction: Transaction) => boolean): Merged {
  let root: OpenNode | null = null;
  const receivers = new Map<string, OpenNode>();
  for (const one of nodes) {
    const { inMsg } = one.transaction;
    if (inMsg === null) continue;
    const key = hashKey(inMsg.hash);
    const known = receivers.get(key);
    if (known === undefined || !surer(known.node.finality, one.node.finality)) receivers.set(key, one);
    if (isRoot(one.transaction) && (root === null || !surer(root.node.finality, one.node.finality))) root = one;
  }
  const merged: Merged = { nodes: [], dangling: [] };
  if (root === null) return merged;
  const queue = [{ one: root, depth: 0 }];
  const seen = new Set<OpenNode>([root]);
  for (const { one, depth } of queue) {
    merged.nodes.push(one);
    const real = one.node.finality !== 'pending';
    for (const message of one.transaction.outMsgs) {
      if (message.destination === null) continue;
      const child = receivers.get(hashKey(message.hash));
      if (child !== undefined && !seen.has(child)) {
        seen.add(child);
        queue.push({ one: child, depth: depth + 1 });
      } else if (child === undefined && real) merged.dangling.push({ bag: one.bag, message, depth: depth + 1 });
    }
  }
  return merged;
}

/** What names a transaction at its level: a trace whose nodes have the same marks is told already. */
export function markOf({ node, transaction }: OpenNode): string {
  return `${node.finality} ${hashKey(transaction.hash)}`;
}

/** What names a message from outside however it is encoded; others have their hash alone. */
export const hashNormOf = (message: Pick<Message, 'hash' | 'hashNorm'>): Hash => message.hashNorm() ?? message.hash;

/** Whether the message that a transaction received is this one from outside, by its normalised hash. */
export function receives(hashNorm: Hash): (transaction: Transaction) => boolean {
  return ({ inMsg }) => inMsg?.kind === 'external_in' && hashNormOf(inMsg).equals(hashNorm);
}
