/** Traces that are not complete: how each stands, and the transactions it has, remembered in bounds over the tables. */
import type { ClickHouse } from '../../clickhouse/client.ts';
import { bytes, keySet, list, u64 } from '../../clickhouse/literal.ts';
import { LARGE_KEYS_PER_QUERY, lotsOf } from '../../clickhouse/lots.ts';
import { RowReader } from '../../clickhouse/rowbinary.ts';
import { columnNames } from '../../clickhouse/tables/sql.ts';
import { ownedReaderOf } from '../../clickhouse/tables/table.ts';
import { ACCOUNT_BYTES, PLACE_BYTES, readPlace, writePlace } from '../../clickhouse/tables/trace-places.ts';
import { type TraceRow, traces } from '../../clickhouse/tables/traces.ts';
import { MAX_TRANSACTIONS } from '../../src/chain/actions/classify.ts';
import { workchainOf } from '../../src/chain/address.ts';
import { hashKey } from '../../src/chain/hash.ts';
import type { Decimal, Hash, Transaction } from '../../src/chain/model.ts';
import { storedTransaction } from '../../src/chain/stored.ts';
import type { BatchPlace } from './accounts.ts';
import { createHeld } from './held.ts';
import { packBytes, unpackBytes } from './packed.ts';
import { READ_TIMEOUT_MS } from './patience.ts';

/** What is remembered of traces, and of their transactions. */
const TRACES_BYTES = 32 * 1024 * 1024;
const TRANSACTIONS_BYTES = 64 * 1024 * 1024;
/** Of a trace that may be told: a step has a transaction of it at least. Twice, as a repeated batch leaves its rows so. */
const MAX_ROWS = 2 * MAX_TRANSACTIONS;

/**
 * A trace as far as it is known; the places of its transactions of all steps, packed. Of one that is too large to be told
 * at least the first of each account, by which it is listed: it may go on for ever.
 */
export type OpenTrace = { -readonly [K in keyof TraceFacts]: TraceFacts[K] } & { places: string };

type TraceFacts = Omit<TraceRow, 'mcSeqno' | 'places' | 'classification'>;

/** A transaction by where it stands. */
export interface TracePlace {
  key: string;
  account: Buffer;
  lt: Decimal;
}

export const packPlace = (account: Buffer, lt: Decimal): string => packBytes(writePlace(account, lt));

/** The first of each account. */
export function firstPlaces(places: string): string {
  const first = new Map<string, string>();
  for (let at = 0; at < places.length; at += PLACE_BYTES) {
    const account = places.slice(at, at + ACCOUNT_BYTES);
    if (!first.has(account)) first.set(account, places.slice(at, at + PLACE_BYTES));
  }
  return [...first.values()].join('');
}

export function* placesOf({ places }: Pick<OpenTrace, 'places'>): Generator<TracePlace> {
  for (let at = 0; at < places.length; at += PLACE_BYTES) {
    const key = places.slice(at, at + PLACE_BYTES);
    yield { key, ...readPlace(unpackBytes(key)) };
  }
}

export type OpenTraces = ReturnType<typeof createOpenTraces>;

/** @param onRead told how many transactions had to be read back */
export function createOpenTraces(clickhouse: ClickHouse, onRead: (count: number) => void) {
  const open = createHeld<OpenTrace>(TRACES_BYTES, ({ places }) => places.length);
  const payloads = createHeld<string>(TRANSACTIONS_BYTES, ({ length }) => length);

  async function readTraces(ids: readonly Hash[], before: number, signal: AbortSignal): Promise<OpenTrace[]> {
    const found = new Map<string, Read>();
    for (const some of lotsOf(ids, LARGE_KEYS_PER_QUERY)) {
      const from = `FROM traces WHERE trace_id IN ${keySet(some)} AND mc_seqno < ${before}`;
      const rows = await read(
        `SELECT ${TRACE_COLUMNS} ${from} ORDER BY trace_id, mc_seqno DESC LIMIT ${MAX_ROWS} BY trace_id`,
        signal,
      );
      while (!rows.done) addRow(found, readTraceRow(rows));
    }
    const large = [...found.values()].filter(({ trace }) => trace.transactions > MAX_TRANSACTIONS);
    for (const { trace } of large) trace.places = await readFirstPlaces(trace.traceId, before, signal);
    return [...found.values()].map(({ trace }) => trace);
  }

  /** As {@link firstPlaces} leaves them: transactions of a step are in the order of lt, then account. */
  async function readFirstPlaces(id: Hash, before: number, signal: AbortSignal): Promise<string> {
    const rows = await read(
      `SELECT concat(account, first.2) FROM (
         SELECT substring(place, 1, ${ACCOUNT_BYTES}) AS account, min((mc_seqno, substring(place, ${ACCOUNT_BYTES + 1}))) AS first
         FROM (SELECT mc_seqno, places FROM traces WHERE trace_id = ${bytes(id)} AND mc_seqno < ${before})
         ARRAY JOIN arrayMap(i -> substring(places, ${PLACE_BYTES} * i + 1, ${PLACE_BYTES}), range(intDiv(length(places), ${PLACE_BYTES}))) AS place
         GROUP BY account)
       ORDER BY first, account`,
      signal,
    );
    const places: string[] = [];
    while (!rows.done) places.push(packBytes(rows.bytes()));
    return places.join('');
  }

  const read = async (sql: string, signal: AbortSignal): Promise<RowReader> =>
    new RowReader(await clickhouse.query(sql, { label: 'reading open traces', signal, timeoutMs: READ_TIMEOUT_MS }));

  async function readPayloads(places: readonly TracePlace[], signal: AbortSignal): Promise<Map<string, Buffer>> {
    const found = new Map<string, Buffer>();
    for (const some of lotsOf(places, LARGE_KEYS_PER_QUERY)) {
      const keys = some.map(({ account, lt }) => `(${bytes(account)}, ${u64(lt)})`);
      const rows = new RowReader(
        await clickhouse.query(`SELECT account, lt, payload FROM transactions WHERE (account, lt) IN ${list(keys)}`, {
          label: 'reading transactions of open traces',
          signal,
          timeoutMs: READ_TIMEOUT_MS,
        }),
      );
      while (!rows.done) found.set(packPlace(rows.fixed(36), rows.u64()), Buffer.from(rows.bytes()));
    }
    return found;
  }

  return {
    /** The traces among these that are open before a batch, by their id. */
    async find(ids: readonly Hash[], batch: BatchPlace, signal: AbortSignal): Promise<Map<string, OpenTrace>> {
      const found = new Map<string, OpenTrace>();
      const missing: Hash[] = [];
      for (const id of ids) {
        const known = open.get(hashKey(id));
        if (known) found.set(hashKey(id), { ...known });
        else missing.push(id);
      }
      for (const trace of await readTraces(missing, batch.firstMcSeqno, signal)) {
        found.set(hashKey(trace.traceId), trace);
      }
      return found;
    },
    /**
     * Transactions of earlier batches.
     * @throws Error when one is neither remembered nor in the tables
     */
    async transactions(places: readonly TracePlace[], signal: AbortSignal): Promise<Transaction[]> {
      const known = places.map(({ key }) => payloads.get(key));
      const missing = places.filter((_, i) => known[i] === undefined);
      const read = await readPayloads(missing, signal);
      onRead(missing.length);
      return places.map(({ key, account, lt }, i) => {
        const payload = known[i] === undefined ? read.get(key) : unpackBytes(known[i]);
        if (payload) return storedTransaction(payload, workchainOf(account));
        throw new Error(`transaction ${lt} of ${account.toString('hex')}, part of a trace, is not in the tables`);
      });
    },
    put(trace: OpenTrace, batch: number): void {
      open.put(hashKey(trace.traceId), trace, batch);
    },
    putTransaction(key: string, payload: Buffer, batch: number): void {
      payloads.put(key, packBytes(payload), batch);
    },
    /** It is complete; its transactions may be asked for again. */
    settle({ traceId }: OpenTrace): void {
      open.delete(hashKey(traceId));
    },
    /** Nothing will be asked of it again. */
    close(trace: OpenTrace): void {
      open.delete(hashKey(trace.traceId));
      for (let at = 0; at < trace.places.length; at += PLACE_BYTES) {
        payloads.delete(trace.places.slice(at, at + PLACE_BYTES));
      }
    },
    written(batch: number): void {
      open.written(batch);
      payloads.written(batch);
    },
  };
}

const TRACE_COLUMNS = columnNames(Object.keys(traces.columns)).join(', ');
const readTraceRow = ownedReaderOf(traces.columns);

/** A trace out of its rows, newest first. */
interface Read {
  trace: OpenTrace;
  /** Step of the last row that was added. */
  oldest: number;
}

/** Of several steps the newest tells how it stands, and each its transactions. */
function addRow(found: Map<string, Read>, { mcSeqno, classification: _, places, ...row }: TraceRow): void {
  const key = hashKey(row.traceId);
  const known = found.get(key);
  // Of a batch that was repeated.
  if (known?.oldest === mcSeqno) return;
  if (known) known.trace.places = packBytes(places) + known.trace.places;
  const trace = known?.trace ?? { ...row, places: packBytes(places) };
  found.set(key, { trace, oldest: mcSeqno });
}
