import { hashKey } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';
import { topFor } from '../emulation/trace.ts';
import type { Step } from '../state/steps.ts';
import type { OpenTrace, PendingStore } from './store.ts';

/** Steps after the one that passed a block by, in which what was in it may come again. */
const GRACE_STEPS = 2;

/** Traces that were seen in signed blocks that others have replaced, and that do not come again. */
export function createReplaced(store: PendingStore) {
  /** Steps that passed by a block that a confirmed transaction was in. */
  const passed = new Map<string, number>();
  return {
    at({ header, tops }: Step): OpenTrace[] {
      const over: OpenTrace[] = [];
      for (const one of store.all()) {
        // What follows from a final transaction comes, in whatever block.
        if (one.nodes[0].node.finality === 'finalized') continue;
        const left = one.nodes.filter(({ node }) => node.finality === 'confirmed');
        const isPassed = left.some(
          ({ node, transaction }) => topFor(tops ?? [], transaction.account).seqno >= node.block.seqno,
        );
        const key = hashKey(one.trace.hashNorm);
        if (!isPassed) {
          passed.delete(key);
          continue;
        }
        const since = passed.get(key) ?? header.seqno;
        passed.set(key, since);
        if (header.seqno - since >= GRACE_STEPS) over.push(one);
      }
      return over;
    },
    forget: (hashNorm: Hash): void => void passed.delete(hashKey(hashNorm)),
  };
}
