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
  /** By trace, then by account: each shard counts its blocks for itself. */
  const passed = new Map<string, Map<string, Passed>>();
  return {
    at({ header, tops }: { header: Pick<BlockHeader, 'seqno'>; tops: readonly ShardTop[] | null }): T[] {
      const over: T[] = [];
      for (const one of store.all()) {
        // What follows from a final transaction comes, in whatever block.
        if (one.nodes[0].node.finality === 'finalized') continue;
        const key = hashKey(one.trace.hashNorm);
        const before = passed.get(key);
        const now = new Map<string, Passed>();
        let isOver = false;
        for (const { node, transaction } of one.nodes) {
          if (node.finality !== 'confirmed') continue;
          const { seqno } = topFor(tops ?? [], transaction.account);
          if (seqno < node.block.seqno) continue;
          const account = hashKey(transaction.account);
          const since = before?.get(account) ?? { mcSeqno: header.seqno, seqno };
          now.set(account, since);
          if (header.seqno - since.mcSeqno >= GRACE_STEPS && seqno > since.seqno) isOver = true;
        }
        if (now.size === 0) passed.delete(key);
        else passed.set(key, now);
        if (isOver) over.push(one);
      }
      return over;
    },
    forget: (hashNorm: Hash): void => void passed.delete(hashKey(hashNorm)),
  };
}
