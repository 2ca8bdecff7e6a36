import type { StepRows, Table, TableWith } from '../../clickhouse/tables/table.ts';
import type { ProjectedStep } from '../projected-step.ts';
import type { Step } from '../steps.ts';

/** The rows of one step while they are made. */
export interface GrowingRows extends StepRows {
  add<R extends object>(table: TableWith<R>, row: R): void;
  /** Every row by its table; of a table that keeps the newest of a key, by their keys. */
  all(): Iterable<readonly [Table, readonly object[] | ReadonlyMap<string, object>]>;
}

/** Collects the rows of a step. Of a table that keeps the newest of a key there is one row a key. */
export function createStepRows(mcSeqno: number): GrowingRows {
  const facts = new Map<Table, object[]>();
  const newest = new Map<Table, Map<string, object>>();
  return {
    mcSeqno,
    get tables() {
      return [...facts.keys(), ...newest.keys()];
    },
    add(table, row) {
      if (table.kind === 'newest') {
        const kept = entryOf(newest, table, () => new Map<string, object>());
        keepNewest(kept, table, table.keyOf(row), row);
      } else entryOf(facts, table, (): object[] => []).push(row);
    },
    of: <R extends object>(table: TableWith<R>) =>
      (facts.get(table) ?? [...(newest.get(table)?.values() ?? [])]) as R[],
    *all() {
      yield* facts;
      yield* newest;
    },
  };
}

/** Of two rows with the same key the later one, unless it has an earlier version. */
export function keepNewest(rows: Map<string, object>, table: Table, key: string, row: object): void {
  const other = rows.get(key);
  if (other === undefined || table.replaces(row, other)) rows.set(key, row);
}

export function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}

/** The steps of a batch for those who follow the newest; one that could not be decoded has no rows. */
export function projectedSteps(steps: readonly Step[], rows: readonly StepRows[], after: number): ProjectedStep[] {
  const rowsOf = new Map(rows.map((some) => [some.mcSeqno, some]));
  let previous = after;
  return steps.map(({ mcSeqno, blocks }) => {
    const { globalId, id } = blocks[blocks.length - 1];
    const found = rowsOf.get(mcSeqno) ?? createStepRows(mcSeqno);
    const step = { mcSeqno, previous, globalId, rootHash: id.rootHash, rows: found };
    previous = mcSeqno;
    return step;
  });
}
