/**
 * Contracts of an owner: jetton wallets, items, or records of a name or of the account that names lead to, which are an
 * owner here, too. What the tables said of an owner is remembered, and moved by what the window has: it is true as long
 * as no step since then has left the window.
 */
import { LRUCache } from 'lru-cache';
import { address } from '../../clickhouse/tables/columns.ts';
import type { TableWith } from '../../clickhouse/tables/table.ts';
import type { DetectedRecord } from '../chain/contract-records.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address } from '../chain/model.ts';
import { packDetected } from './detected-rows.ts';
import { behindPrefix, type Kind, keyPrefix, layoutOf, ordered } from './kind.ts';
import type { Sides } from './sides.ts';
import type { NewestStates } from './tokens.ts';
import type { View } from './view.ts';

const ADDRESS = ordered(address);
/** Of one owner: who has more is asked of the tables. */
const MOST_OWNED = 1_000;
/** Contracts of all owners that are remembered, about 300 bytes each. */
const REMEMBERED = 100_000;

interface Remembered {
  /** What steps up to this one have left is in it, or in a view that has them. */
  at: number;
  /** Null for too many. */
  rows: { address: Address; packed: Buffer; mcSeqno: number }[] | null;
}

interface OwnedOptions<R, O> {
  kind: Kind;
  /** Leads from an owner to addresses, and the steps that left each with the owner. */
  way: string;
  table: TableWith<R>;
  states: NewestStates<R>;
  /** As it stands in the way. */
  keyOf(owner: O): Buffer;
  isOf(row: R, owner: O): boolean;
  /** What the tables say, one more than are remembered at most. */
  fetch(owner: O, limit: number, sides: Sides): Promise<R[]>;
}

export function createOwned<R extends DetectedRecord, O>(options: OwnedOptions<R, O>) {
  const { kind, way, table, states, keyOf, isOf, fetch } = options;
  const remembered = new LRUCache<string, Remembered>({
    maxSize: REMEMBERED,
    sizeCalculation: ({ rows }) => 1 + (rows?.length ?? 0),
  });
  const byOwner = layoutOf(kind, way);

  /** Those that a step of the window has left with the owner; null for too many. */
  function here(view: View, owner: Buffer): Address[] | null {
    const found: Address[] = [];
    const all = keyPrefix(kind, byOwner, [owner]);
    const high = behindPrefix(all);
    for (let low = all; ; ) {
      const [next] = first(view.range(byOwner, { low, high }));
      if (next === undefined) return found;
      if (found.length === MOST_OWNED) return null;
      const address = Buffer.from(ADDRESS.get(next.key, all.length));
      found.push(address);
      const behind = behindPrefix(keyPrefix(kind, byOwner, [owner, address]));
      if (behind === null) return found;
      low = behind;
    }
  }

  async function beneath(owner: O, key: string, sides: Sides): Promise<Remembered['rows']> {
    const { view } = sides;
    if (view.below === null) return [];
    const known = remembered.get(key);
    if (known !== undefined && known.at >= view.first) return known.rows;
    const found = await fetch(owner, MOST_OWNED + 1, sides);
    const rows =
      found.length > MOST_OWNED
        ? null
        : found.map((row) => ({ address: row.address, packed: packDetected(table, row), mcSeqno: row.mcSeqno }));
    remembered.set(key, { at: sides.wholeTo, rows });
    return rows;
  }

  /** The newest states of all that an owner has, in no order; null for too many. */
  return async function owned(owner: O, sides: Sides): Promise<R[] | null> {
    const key = keyOf(owner);
    const older = await beneath(owner, hashKey(key), sides);
    const newer = here(sides.view, key);
    if (older === null || newer === null) return null;
    const rows = new Map<string, R>();
    for (const { address, packed, mcSeqno } of older) {
      rows.set(hashKey(address), states.newest(sides.view, address) ?? states.read(packed, mcSeqno));
    }
    for (const address of newer) {
      const row = states.newest(sides.view, address);
      if (row !== null) rows.set(hashKey(address), row);
    }
    return [...rows.values()].filter((row) => isOf(row, owner));
  };
}

function* first<T>(all: Iterable<T>): Generator<T> {
  for (const one of all) {
    yield one;
    return;
  }
}
