/**
 * The newest row of an address among those of a kind that has one for each step. What was found is remembered from step
 * to step: a step tells which addresses it has rows of, so nothing is looked for that no step since then has changed.
 */
import { LRUCache } from 'lru-cache';
import { atMost } from '../at-most.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address } from '../chain/model.ts';
import { createChanges } from './changes.ts';
import { stepOf } from './chunk.ts';
import { behindPrefix, type Kind, keyPrefix, layoutOf, restOf } from './kind.ts';
import type { View } from './view.ts';

/** About 300 bytes each. */
const REMEMBERED = 32_768;

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

/** Null where no step of the view has a row of the address. */
export type Newest = (view: View, address: Address) => NewestRow | null;

/** @param kind with a way named `address`, whose key is the address and the step */
export function createNewest(kind: Kind): Newest {
  const byAddress = layoutOf(kind, 'address');
  const remembered = new LRUCache<string, Remembered>(atMost(REMEMBERED));
  const changes = createChanges(kind, 'address');

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
    if (known && changes.isUnchanged(view, key, known.at)) {
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
