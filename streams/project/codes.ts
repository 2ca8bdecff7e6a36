import { LRUCache } from 'lru-cache';
import { accountCodes, codes } from '../../clickhouse/tables/accounts.ts';
import { atMost } from '../../src/at-most.ts';
import { hashKey } from '../../src/chain/hash.ts';
import { methodIds } from '../../src/chain/interfaces.ts';
import type { AccountState, Hash } from '../../src/chain/model.ts';
import { storedForm, wholeCells } from './cells.ts';
import type { AssemblyMetrics } from './counters.ts';
import type { DecodedBlock } from './decode.ts';
import type { GrowingRows } from './step-rows.ts';

/** Hashes of codes that table `codes` is known to hold. */
const KNOWN_CODES = 50_000;

/** Writes the changes of accounts' code, and each code once it is seen in full. */
export function createCodes(maxBytes: number, metrics: AssemblyMetrics) {
  const known = new LRUCache<string, true>(atMost(KNOWN_CODES));

  /** Writes a code that the table is not known to hold. `boc` is in its stored form. */
  function learn(rows: GrowingRows, hash: Hash, boc: Buffer): void {
    const key = hashKey(hash);
    if (known.has(key)) return;
    known.set(key, true);
    if (boc.length > maxBytes) metrics.oversized('code');
    else rows.add(codes, { codeHash: hash, methods: methodIds(boc) ?? [], boc });
  }

  return {
    /** `before` is the code hash of the state before this one. */
    write(rows: GrowingRows, before: Hash | null, state: AccountState, block: DecodedBlock): void {
      const changed = !sameHash(before, state.codeHash);
      if (changed) {
        const { account, lastTransactionLt: lt, codeHash } = state;
        rows.add(accountCodes, { account, lt, mcSeqno: rows.mcSeqno, codeHash });
      }
      if (state.codeHash === null || state.codeCell === null) return;
      const key = hashKey(state.codeHash);
      if (known.has(key)) return;
      const code = state.codeComplete ? wholeCells(block.boc, state.codeCell) : null;
      if (code === null) {
        if (changed) metrics.missingCells('code');
        return;
      }
      const boc = storedForm(code);
      if (boc !== null) {
        learn(rows, state.codeHash, boc);
        return;
      }
      known.set(key, true);
      metrics.missingCells('code');
    },
    learn,
  };
}

function sameHash(a: Hash | null, b: Hash | null): boolean {
  return a === null || b === null ? a === b : a.equals(b);
}
