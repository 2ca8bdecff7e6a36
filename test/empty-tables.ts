import type { BoundedSource, ClickHouseSource } from '../clickhouse/queries/source.ts';
import { createFakeSource, noContracts } from './fake-source.ts';
import { madeHead } from './made-chain.ts';

/** Tables that hold nothing. */
export function emptyTables(): ClickHouseSource {
  const bounded: BoundedSource = {
    ...createFakeSource().source,
    cells: async () => ({ codeOf: new Map(), dataOf: new Map() }),
    accountCodes: async () => new Map(),
    methodsOf: async () => new Map(),
    transactionsAt: async () => [],
    newestBelow: async () => null,
    events: noContracts(),
  };
  const names = { held: 0, leftOut: 0, failed: 0 };
  const statistics = { chain: async () => null, subjects: async () => null, totals: async () => null };
  return { ...bounded, head: madeHead(0, null), names, statistics, below: () => bounded };
}
