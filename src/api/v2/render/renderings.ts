/** Transactions as text, the ones asked for lately kept: what is shown again is neither decoded nor rendered. */
import { LRUCache } from 'lru-cache';
import type { TransactionRecord } from '../../../chain/records.ts';
import { storedKey } from '../../../chain/stored.ts';
import { extTransaction } from './transaction.ts';

export interface Renderings {
  /** JSON of an `ext.transaction`. */
  transaction(record: TransactionRecord): string;
  /** Kept now. */
  readonly bytes: number;
}

/** All that the text is made of, and the text. */
interface Rendering {
  payload: Buffer;
  globalVersion: number;
  json: string;
}

/** An entry and its key besides the bytes, in memory. */
const ENTRY_BYTES = 500;
/** A rendering above this share of the room is not kept: it would push out too many others. */
const LARGEST_SHARE = 1 / 16;

/**
 * Found by account and lt, and used only where the bytes of the transaction, the version of its block and the network
 * are the same. @param maxBytes most to keep, about; 0 keeps nothing
 */
export function createRenderings(maxBytes: number): Renderings {
  const kept = maxBytes > 0 ? new LRUCache<string, Rendering>({ maxSize: maxBytes, sizeCalculation }) : null;
  const make = (record: TransactionRecord): string => JSON.stringify(extTransaction(record));

  return {
    get bytes() {
      return kept?.calculatedSize ?? 0;
    },
    transaction(record) {
      const { stored, globalVersion } = record;
      const key = kept === null || stored === undefined ? null : storedKey(stored.payload);
      if (kept === null || stored === undefined || key === null) return make(record);
      const known = kept.get(key);
      const same = known?.globalVersion === globalVersion;
      if (same && known.payload.equals(stored.payload)) return known.json;
      const json = make(record);
      // In memory of its own: the bytes of a record are part of the page they came in.
      const rendering = { payload: Buffer.from(stored.payload), globalVersion, json };
      if (sizeCalculation(rendering) <= maxBytes * LARGEST_SHARE) kept.set(key, rendering);
      return json;
    },
  };
}

function sizeCalculation({ payload, json }: Rendering): number {
  return ENTRY_BYTES + payload.length + json.length;
}
