/**
 * Which addresses the newest steps of a view have rows of. What was found of any other is still true: it need not be looked
 * for again with every step.
 */
import { LRUCache } from 'lru-cache';
import { hashKey } from '../chain/hash.ts';
import type { Address } from '../chain/model.ts';
import { columnOf, type Kind } from './kind.ts';
import type { View } from './view.ts';

/** Steps whose addresses are remembered: after a longer pause is looked anew. */
const RECENT = 16;

export interface Changes {
  /**
   * Whether none of the view's steps behind `since` has a row of the address; false where that is not known.
   * @param key the address, by `hashKey`
   */
  isUnchanged(view: View, key: string, since: number): boolean;
}

/** The newest steps of a view, the newest first: all that are behind `from`. */
interface Recent {
  steps: readonly number[];
  from: number;
}

/** @param column of the kind, that has the address */
export function createChanges(kind: Kind, column: string): Changes {
  const changed = new LRUCache<number, ReadonlySet<string>>({ max: 4 * RECENT });
  let recent: { head: number; first: number; told: Recent } | null = null;

  function recentOf(view: View): Recent {
    const { head, first } = view;
    if (recent?.head === head && recent.first === first) return recent.told;
    const steps: number[] = [];
    for (const step of view.steps(first, true)) {
      if (steps.length > RECENT) break;
      steps.push(step);
    }
    const from = steps.length > RECENT ? steps[RECENT] : first - 1;
    recent = { head, first, told: { steps, from } };
    return recent.told;
  }

  function changedIn(view: View, mcSeqno: number): ReadonlySet<string> {
    const known = changed.get(mcSeqno);
    if (known) return known;
    const keys = new Set(view.rowsOf(kind, mcSeqno).map(({ row }) => hashKey(columnOf(kind, row, column) as Address)));
    changed.set(mcSeqno, keys);
    return keys;
  }

  return {
    isUnchanged(view, key, since) {
      if (since === view.head) return true;
      if (since > view.head) return false;
      const { steps, from } = recentOf(view);
      if (since < from) return false;
      for (const step of steps) {
        if (step <= since) return true;
        if (changedIn(view, step).has(key)) return false;
      }
      return true;
    },
  };
}
