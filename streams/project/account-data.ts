import { type Boc, openBoc } from '../../src/chain/boc.ts';
import { compareDecimal } from '../../src/chain/decimal.ts';
import { mergePruned } from '../../src/chain/merge.ts';
import type { AccountState, Hash } from '../../src/chain/model.ts';
import type { BatchAccounts } from './accounts.ts';
import { orNull, storedForm, wholeCells } from './cells.ts';
import type { AssemblyMetrics } from './counters.ts';
import type { StoredAccount } from './packed.ts';

export interface FullData {
  hash: Hash;
  boc: Buffer;
}

/**
 * The data of a state in full when it is new to the tables; null when they have it or it cannot be known. What the
 * block leaves out is taken from the data stored before.
 */
export async function findData(
  accounts: BatchAccounts,
  previous: StoredAccount | null,
  state: AccountState,
  block: Boc,
  limits: { maxBytes: number; metrics: AssemblyMetrics; signal: AbortSignal },
): Promise<FullData | null> {
  if (state.dataHash === null || state.dataCell === null) return null;
  const stored = previous?.storedData ?? null;
  if (stored?.hash.equals(state.dataHash)) return null;
  let data = state.dataComplete ? wholeCells(block, state.dataCell) : null;
  // A batch that is repeated after a crash: the tables have its own row already, and the one before may be gone.
  if (data === null && stored && compareDecimal(stored.lt, state.lastTransactionLt) >= 0) return null;
  if (data === null && stored) {
    const older = await accounts.dataOf(state.account, limits.signal);
    const cell = state.dataCell;
    if (older) data = orNull(() => mergePruned(block, cell, openBoc(older)));
  }
  if (data !== null && data.length > limits.maxBytes) {
    limits.metrics.oversized('data');
    return null;
  }
  const boc = data && storedForm(data);
  if (boc === null) {
    limits.metrics.missingCells('data');
    return null;
  }
  return { hash: Buffer.from(state.dataHash), boc };
}
