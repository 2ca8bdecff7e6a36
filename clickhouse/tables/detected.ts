/** What tables of contracts of a kind have in common: the newest state of each contract that was found to be of it. */
import { address, hash, u32, u64 } from './columns.ts';
import type { Index } from './table.ts';

/** Steps stand in the upper bits of an id. */
export const ID_STEP_BITS = 24n;

/** The first id that a contract can have which was told for the first time behind a step. */
export function idsBehind(mcSeqno: number): string {
  return ((BigInt(mcSeqno) + 1n) << ID_STEP_BITS).toString();
}

const columns = {
  address,
  /** Grows in the order of first detection: by step, then by account. */
  id: u64,
  mcSeqno: u32,
  lastTransactionLt: u64,
  codeHash: hash,
  dataHash: hash,
};

/** Rows stay when their contract is no longer of the kind, or gone. */
export function detected<const N extends string>(name: N) {
  return { name, kind: 'newest', key: ['address'], version: 'lastTransactionLt', inStatus: true } as const;
}

detected.columns = columns;

/** Every state that such contracts had at the end of a step in which they changed, in a table of its own. */
export function statesOf<const N extends string>(name: N) {
  return { name, kind: 'fact', key: ['address', 'lastTransactionLt'], carried: false } as const;
}

/** In the order of first detection. */
export function detectedIndexes(name: string): Index[] {
  return [{ name: `${name}_by_id`, key: ['id'], also: ['address'], stays: true }];
}
