import { hashKey } from '../chain/hash.ts';
import type { Address, BlockHeader, Hash } from '../chain/model.ts';
import type { Finality } from '../chain/records.ts';
import { type ShardTop, topFor } from '../emulation/trace.ts';

/** Steps behind the one that passed a block by, in which what was in it may come again. */
const GRACE_STEPS = 2;

/** What is looked at of a trace. */
interface Seen {
  trace: { hashNorm: Hash };
  nodes: readonly { node: { finality: Finality; block: { seqno: number } }; transaction: { account: Address } }[];
}

interface Passed {
  /** The step that passed the block by. */
  mcSeqno: number;
  /** Of the newest block of its shard then. */
  seqno: number;
}

/**
 * Traces that were seen in signed blocks that others have replaced, and that do not come again: not in the steps of
 * grace, nor in the next block that their shard has (spec v3 actions 1.2), which may be longer in coming.
 */
export function createReplaced<T extends Seen>(store: { all(): Iterable<T> }) {
  const passed = new Map<string, Passed>();
  return {
    at({ header, tops }: { header: Pick<BlockHeader, 'seqno'>; tops: readonly ShardTop[] | null }): T[] {
      const over: T[] = [];
      for (const one of store.all()) {
        // What follows from a final transaction comes, in whatever block.
        if (one.nodes[0].node.finality === 'finalized') continue;
        const newest = one.nodes
          .filter(({ node }) => node.finality === 'confirmed')
          .map(({ node, transaction }) => ({ node, top: topFor(tops ?? [], transaction.account) }))
          .find(({ node, top }) => top.seqno >= node.block.seqno);
        const key = hashKey(one.trace.hashNorm);
        if (newest === undefined) {
          passed.delete(key);
          continue;
        }
        const { seqno } = newest.top;
        const since = passed.get(key) ?? { mcSeqno: header.seqno, seqno };
        passed.set(key, since);
        if (header.seqno - since.mcSeqno >= GRACE_STEPS && seqno > since.seqno) over.push(one);
      }
      return over;
    },
    forget: (hashNorm: Hash): void => void passed.delete(hashKey(hashNorm)),
  };
}
