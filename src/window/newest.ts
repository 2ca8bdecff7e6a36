/**
 * The newest row of an address among those of a kind that has one for each step. What was found is remembered from step
 * to step: a step tells which addresses it has rows of, so nothing is looked for that no step since then has changed.
 */
import { LRUCache } from 'lru-cache';
import { hashKey } from '../chain/hash.ts';
import type { Address } from '../chain/model.ts';
import { stepOf } from './chunk.ts';
import { behindPrefix, columnOf, type Kind, keyPrefix, layoutOf, restOf } from './kind.ts';
import type { View } from './view.ts';

/** About 300 bytes each. */
const REMEMBERED = 20_000;
/** Steps whose addresses are remembered: after a longer pause is looked anew. */
const RECENT = 16;

/** What is behind the columns, and the step that wrote it. */
export interface NewestRow {
  rest: Buffer;
  mcSeqno: number;
}

interface Remembered {
  /** First and last step of those that were looked at. */
  first: number;
  at: number;
  row: NewestRow | null;
}

/** The newest steps of a view, the newest first: all that are behind `from`. */
interface Recent {
  steps: readonly number[];
  from: number;
}

/** Null where no step of the view has a row of the address. */
export type Newest = (view: View, address: Address) => NewestRow | null;

/** @param kind with a way named `address`, whose key is the address and the step */
export function createNewest(kind: Kind): Newest {
  const byAddress = layoutOf(kind, 'address');
  const remembered = new LRUCache<string, Remembered>({ max: REMEMBERED });
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
    const keys = new Set(
      view.rowsOf(kind, mcSeqno).map(({ row }) => hashKey(columnOf(kind, row, 'address') as Address)),
    );
    changed.set(mcSeqno, keys);
    return keys;
  }

  /** Whether the steps of the view behind that one have no row of it. */
  function isUnchanged(view: View, key: string, since: number): boolean {
    if (since === view.head) return true;
    if (since > view.head) return false;
    const { steps, from } = recentOf(view);
    if (since < from) return false;
    for (const step of steps) {
      if (step <= since) return true;
      if (changedIn(view, step).has(key)) return false;
    }
    return true;
  }

  /** The last of its rows. */
  function look(view: View, address: Address): NewestRow | null {
    const low = keyPrefix(kind, byAddress, [address]);
    for (const { value } of view.range(byAddress, { low, high: behindPrefix(low), reverse: true })) {
      return { rest: restOf(kind, view.row(kind, value)), mcSeqno: stepOf(value) };
    }
    return null;
  }

  return (view, address) => {
    const key = hashKey(address);
    const known = remembered.get(key);
    if (known && isUnchanged(view, key, known.at)) {
      known.at = view.head;
      // A row that has left the view may have had others before it, which have left it too.
      if (known.row !== null) return known.row.mcSeqno >= view.first ? known.row : null;
      // A view may begin with older steps by now.
      if (known.first <= view.first) return null;
    }
    const row = look(view, address);
    if (!known || known.at <= view.head) remembered.set(key, { first: view.first, at: view.head, row });
    return row;
  };
}
