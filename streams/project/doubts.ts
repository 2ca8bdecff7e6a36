/** Traces that were told without knowing what some contract is, by the contracts: remembered over the tables. */
import type { ClickHouse } from '../../clickhouse/client.ts';
import { bytes, keySet, list, u64 } from '../../clickhouse/literal.ts';
import { LARGE_KEYS_PER_QUERY, lotsOf } from '../../clickhouse/lots.ts';
import { RowReader } from '../../clickhouse/rowbinary.ts';
import { type ActionRow, actionDoubts, actions } from '../../clickhouse/tables/actions.ts';
import { columnNames } from '../../clickhouse/tables/sql.ts';
import { ownedReaderOf } from '../../clickhouse/tables/table.ts';
import { compareDecimal } from '../../src/chain/decimal.ts';
import { hashKey } from '../../src/chain/hash.ts';
import type { Address, Decimal, Hash } from '../../src/chain/model.ts';
import type { BatchPlace } from './accounts.ts';
import type { OpenTrace } from './open-traces.ts';
import { READ_TIMEOUT_MS } from './patience.ts';

/** Steps after it was told in which a trace may be told again: some days. */
export const STEPS_BACK = 200_000;
/** Of a contract that is learned of, the newest traces that asked for it. */
export const TRACES_OF_CONTRACT = 1_000;

/** A trace by its place in the listings. */
export interface DoubtfulTrace {
  traceId: Hash;
  traceEndLt: Decimal;
  /** Step in which it was told. */
  mcSeqno: number;
}

/** How a trace was told. */
export interface Telling {
  trace: OpenTrace;
  rows: readonly ActionRow[];
}

export type Doubts = ReturnType<typeof createDoubts>;
export type BatchDoubts = Awaited<ReturnType<Doubts['begin']>>;

export function createDoubts(clickhouse: ClickHouse) {
  /** By contract, then by trace. */
  const unwritten = new Map<string, Map<string, { trace: DoubtfulTrace; batch: number }>>();
  const tellings = new Map<string, { telling: Telling; batch: number }>();

  function note(doubts: typeof unwritten, address: Address, trace: DoubtfulTrace, batch: number): void {
    const key = hashKey(address);
    const traces = doubts.get(key) ?? new Map<string, { trace: DoubtfulTrace; batch: number }>();
    traces.set(hashKey(trace.traceId), { trace, batch });
    doubts.set(key, traces);
  }

  /** One more than are told again, so that it is seen when there are too many. */
  async function readDoubts(
    contracts: readonly Address[],
    firstMcSeqno: number,
    held: typeof unwritten,
    signal: AbortSignal,
  ) {
    for (const some of lotsOf(contracts, LARGE_KEYS_PER_QUERY)) {
      const rows = new RowReader(
        await clickhouse.query(
          `SELECT address, trace_end_lt, trace_id, max(mc_seqno) FROM ${actionDoubts.name}
           WHERE address IN ${keySet(some)}
             AND mc_seqno < ${firstMcSeqno} AND mc_seqno >= ${Math.max(0, firstMcSeqno - STEPS_BACK)}
           GROUP BY address, trace_end_lt, trace_id
           ORDER BY address, trace_end_lt DESC, trace_id DESC LIMIT ${TRACES_OF_CONTRACT + 1} BY address`,
          { label: 'reading which traces doubt contracts', signal, timeoutMs: READ_TIMEOUT_MS },
        ),
      );
      while (!rows.done) {
        const address = Buffer.from(rows.fixed(36));
        const traceEndLt = rows.u64();
        const traceId = Buffer.from(rows.fixed(32));
        note(held, address, { traceEndLt, traceId, mcSeqno: rows.u32() }, 0);
      }
    }
  }

  return {
    /** Brings into memory which traces doubt these contracts, as of the batch before. */
    async begin(contracts: readonly Address[], { firstMcSeqno }: BatchPlace, signal: AbortSignal) {
      const held: typeof unwritten = new Map();
      // What is unwritten now, and what the tables have then: what is written in between is in both.
      const before = [...unwritten].map(([key, traces]) => [key, [...traces.values()]] as const);
      const told = new Map([...tellings].map(([key, { telling }]) => [key, telling]));
      await readDoubts(contracts, firstMcSeqno, held, signal);
      for (const [key, traces] of before) {
        for (const { trace, batch } of traces) note(held, Buffer.from(key, 'latin1'), trace, batch);
      }
      return {
        /** Those that doubt it and may be told again in a step. */
        of(contract: Address, mcSeqno: number): DoubtfulTrace[] {
          const found = [...(held.get(hashKey(contract))?.values() ?? [])].map(({ trace }) => trace);
          return found.filter((trace) => trace.mcSeqno >= mcSeqno - STEPS_BACK).sort(newestFirst);
        },
        /** How each was told last, by its id: of those that the tables have the rows alone. */
        async toldBefore(
          traces: readonly DoubtfulTrace[],
        ): Promise<Map<string, Telling | { rows: readonly ActionRow[] }>> {
          const known = new Map<string, Telling | { rows: readonly ActionRow[] }>();
          const missing: DoubtfulTrace[] = [];
          for (const trace of traces) {
            const own = told.get(hashKey(trace.traceId));
            if (own) known.set(hashKey(trace.traceId), own);
            else missing.push(trace);
          }
          for (const [key, rows] of await readTellings(clickhouse, missing, firstMcSeqno, signal))
            known.set(key, { rows });
          return known;
        },
        /** Whether the trace may be told again before the tables have it. */
        mayAsk: ({ traceId }: OpenTrace): boolean => tellings.has(hashKey(traceId)),
        /** A trace was told without knowing these, or told again. */
        add(contracts: readonly Address[], telling: Telling, mcSeqno: number, batch: number): void {
          const { traceId, endLt: traceEndLt } = telling.trace;
          tellings.set(hashKey(traceId), { telling, batch });
          told.set(hashKey(traceId), telling);
          for (const contract of contracts) {
            note(unwritten, contract, { traceId, traceEndLt, mcSeqno }, batch);
            note(held, contract, { traceId, traceEndLt, mcSeqno }, batch);
          }
        },
      };
    },
    /** Every table has the batch now, and those before it. */
    written(batch: number): void {
      for (const [key, { batch: of }] of tellings) if (of <= batch) tellings.delete(key);
      for (const [key, traces] of unwritten) {
        for (const [trace, { batch: of }] of traces) if (of <= batch) traces.delete(trace);
        if (traces.size === 0) unwritten.delete(key);
      }
    },
  };
}

export function newestFirst(a: DoubtfulTrace, b: DoubtfulTrace): number {
  return compareDecimal(b.traceEndLt, a.traceEndLt) || b.traceId.compare(a.traceId);
}

const COLUMNS = columnNames(Object.keys(actions.columns)).join(', ');
const readAction = ownedReaderOf(actions.columns);

async function readTellings(
  clickhouse: ClickHouse,
  traces: readonly DoubtfulTrace[],
  firstMcSeqno: number,
  signal: AbortSignal,
): Promise<Map<string, ActionRow[]>> {
  const found = new Map<string, ActionRow[]>();
  for (const some of lotsOf(traces, LARGE_KEYS_PER_QUERY)) {
    const keys = some.map(({ traceEndLt, traceId }) => `(${u64(traceEndLt)}, ${bytes(traceId)})`);
    const rows = new RowReader(
      await clickhouse.query(
        `SELECT ${COLUMNS} FROM ${actions.name} WHERE (trace_end_lt, trace_id) IN ${list(keys)} AND mc_seqno < ${firstMcSeqno}
         ORDER BY trace_end_lt, trace_id, number, mc_seqno DESC LIMIT 1 BY trace_end_lt, trace_id, number`,
        { label: 'reading how traces were told', signal, timeoutMs: READ_TIMEOUT_MS },
      ),
    );
    while (!rows.done) {
      const telling = readAction(rows);
      const key = hashKey(telling.traceId);
      found.set(key, [...(found.get(key) ?? []), telling]);
    }
  }
  return found;
}
