import type { BoundedSource, ClickHouseSource } from '../clickhouse/queries/source.ts';
import { createFakeSource } from './fake-source.ts';

/** Tables that hold nothing. */
export function emptyTables(): ClickHouseSource {
  const bounded: BoundedSource = {
    ...createFakeSource().source,
    cells: async () => ({ codeOf: new Map(), dataOf: new Map() }),
    accountCodes: async () => new Map(),
    methodsOf: async () => new Map(),
    transactionsAt: async () => [],
    newestBelow: async () => null,
  };
  const nothing = async (): Promise<void> => undefined;
  const head = { seqno: 0, globalId: null, advance: () => undefined, onAdvance: () => undefined };
  return { ...bounded, head: { ...head, reach: nothing, refresh: nothing, follow: nothing }, below: () => bounded };
}
