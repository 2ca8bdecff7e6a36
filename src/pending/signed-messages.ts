/** What signed blocks have, by the messages from outside that they have received: one may be told of a moment later. */
import { LRUCache } from 'lru-cache';
import { hashKey } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';
import { hashNormOf } from './merge.ts';
import type { SignedNode } from './nodes.ts';

/** Messages that are remembered, and memory for the blocks that they are in: of more the oldest are forgotten. */
const MESSAGES = 1_024;
const MEMORY = 128 * 1024 * 1024;

export function createSignedMessages(maxMemory = MEMORY) {
  const kept = new LRUCache<string, readonly SignedNode[]>({ max: MESSAGES, maxSize: maxMemory });
  return {
    /** @param memory that the nodes of the block take, about */
    note(nodes: readonly SignedNode[], memory: number): void {
      const received = nodes.flatMap(({ transaction: { inMsg } }) => (inMsg?.kind === 'external_in' ? [inMsg] : []));
      for (const message of received) {
        kept.set(hashKey(hashNormOf(message)), nodes, { size: Math.ceil(memory / received.length) });
      }
    },
    /** All nodes of the block with a message. */
    nodesWith: (hashNorm: Hash): readonly SignedNode[] | undefined => kept.get(hashKey(hashNorm)),
  };
}
