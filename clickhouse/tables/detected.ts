/** What tables of contracts of a kind have in common: the newest state of each contract that was found to be of it. */
import { address, hash, u32, u64 } from './columns.ts';
import type { Index } from './table.ts';

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

/** In the order of first detection. */
export function detectedIndexes(name: string): Index[] {
  return [{ name: `${name}_by_id`, key: ['id'], also: ['address'], stays: true }];
}
