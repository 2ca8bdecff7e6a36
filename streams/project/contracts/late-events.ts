/**
 * What contracts were told to do before they were confirmed: told in the step that confirms them, out of what the log has
 * of them by then, so it comes to the same rows however the log is projected.
 */
import type { ClickHouse } from '../../../clickhouse/client.ts';
import { bytes, list, u64 } from '../../../clickhouse/literal.ts';
import { LARGE_KEYS_PER_QUERY, lotsOf } from '../../../clickhouse/lots.ts';
import { RowReader } from '../../../clickhouse/rowbinary.ts';
import { workchainOf } from '../../../src/chain/address.ts';
import { compareDecimal } from '../../../src/chain/decimal.ts';
import { hashKey } from '../../../src/chain/hash.ts';
import type { Address, Decimal, Transaction } from '../../../src/chain/model.ts';
import { storedTransaction } from '../../../src/chain/stored.ts';
import type { BatchPlace } from '../accounts.ts';
import type { Counters } from '../counters.ts';
import { READ_TIMEOUT_MS } from '../patience.ts';
import type { GrowingRows } from '../step-rows.ts';
import { kindOfEvent, OPCODES, possibleEvents, TELLING, writeEvent } from './events.ts';
import type { KnownRows } from './known.ts';

/** Steps before the one that confirms a contract: some days. */
const STEPS_BACK = 200_000;
/** The newest of what a contract may have been told. */
const EVENTS_OF_CONTRACT = 1_000;
/** The newest of them all; what was learned of one master may confirm any number of wallets. */
const EVENTS_OF_STEP = 5_000;

interface Place {
  account: Address;
  lt: Decimal;
  mcSeqno: number;
  /** Null where the tables have it alone. */
  transaction: Transaction | null;
}

/** A contract, and the kinds that a step has found it to be of for the first time. */
export interface Confirmed {
  account: Address;
  kinds: readonly string[];
}

interface Confirming {
  confirmed: readonly Confirmed[];
  known: KnownRows;
  batch: BatchPlace;
  signal: AbortSignal;
}

export function createLateEvents(clickhouse: ClickHouse, counters: Counters) {
  /** Of batches on their way, what accounts were told that were nothing by then. */
  const unwritten = new Map<string, { place: Place; batch: number }[]>();

  /** Of each account one more than are told, so that it is seen when there are too many. */
  async function readPlaces(
    accounts: readonly Address[],
    mcSeqno: number,
    { firstMcSeqno }: BatchPlace,
    signal: AbortSignal,
  ): Promise<Place[]> {
    const found: Place[] = [];
    for (const some of lotsOf(accounts, LARGE_KEYS_PER_QUERY)) {
      const rows = new RowReader(
        await clickhouse.query(
          `SELECT DISTINCT account, lt, mc_seqno FROM transactions
           WHERE account IN ${list(some.map(bytes))} AND in_opcode IN (${OPCODES.join(', ')})
             AND mc_seqno < ${firstMcSeqno} AND mc_seqno >= ${Math.max(0, mcSeqno - STEPS_BACK)}
           ORDER BY account, lt DESC LIMIT ${EVENTS_OF_CONTRACT + 1} BY account`,
          { label: 'reading what contracts were told', signal, timeoutMs: READ_TIMEOUT_MS },
        ),
      );
      while (!rows.done) {
        const account = Buffer.from(rows.fixed(36));
        found.push({ account, lt: rows.u64(), mcSeqno: rows.u32(), transaction: null });
      }
    }
    return found;
  }

  /** What may be told, the newest first. */
  async function placesOf(
    accounts: readonly Address[],
    mcSeqno: number,
    batch: BatchPlace,
    signal: AbortSignal,
  ): Promise<Place[]> {
    // What is unwritten now, and what the tables have then: what is written in between is in both.
    const own = new Map(accounts.map((account) => [hashKey(account), new Map<Decimal, Place>()]));
    const held = accounts.flatMap((account) => unwritten.get(hashKey(account)) ?? []).map(({ place }) => place);
    for (const place of [...(await readPlaces(accounts, mcSeqno, batch, signal)), ...held]) {
      if (place.mcSeqno >= mcSeqno - STEPS_BACK) own.get(hashKey(place.account))?.set(place.lt, place);
    }
    const some = [...own.values()].flatMap((places) => {
      counters.omittedEvents += Math.max(0, places.size - EVENTS_OF_CONTRACT);
      return [...places.values()].sort(newestFirst).slice(0, EVENTS_OF_CONTRACT);
    });
    counters.omittedEvents += Math.max(0, some.length - EVENTS_OF_STEP);
    return some.sort(newestFirst).slice(0, EVENTS_OF_STEP);
  }

  async function readTransactions(places: readonly Place[], signal: AbortSignal): Promise<Map<string, Transaction>> {
    const found = new Map<string, Transaction>();
    for (const some of lotsOf(places, LARGE_KEYS_PER_QUERY)) {
      const keys = some.map(({ account, lt }) => `(${bytes(account)}, ${u64(lt)})`);
      const sql = `SELECT account, lt, payload FROM transactions WHERE (account, lt) IN ${list(keys)}`;
      const label = 'reading the transactions of what contracts were told';
      const rows = new RowReader(await clickhouse.query(sql, { label, signal, timeoutMs: READ_TIMEOUT_MS }));
      while (!rows.done) {
        const account = rows.fixed(36);
        const key = keyOf(account, rows.u64());
        found.set(key, storedTransaction(Buffer.from(rows.bytes()), workchainOf(account)));
      }
    }
    return found;
  }

  return {
    /** Holds what accounts of the step are told that are nothing at its end. */
    hold(rows: GrowingRows, known: KnownRows, batch: number): void {
      for (const { row, kind } of possibleEvents(rows)) {
        if (known.get(kind, row.account) !== null) continue;
        const { account, lt, mcSeqno, transaction } = row;
        const others = unwritten.get(hashKey(account)) ?? [];
        others.push({ place: { account, lt, mcSeqno, transaction }, batch });
        unwritten.set(hashKey(account), others);
      }
    },
    /** Writes what these contracts were told in earlier steps. */
    async write(rows: GrowingRows, { confirmed, known, batch, signal }: Confirming): Promise<void> {
      const kindsOf = new Map(
        confirmed.flatMap(({ account, kinds }) => {
          const telling = kinds.filter((kind) => TELLING.has(kind));
          return telling.length > 0 ? [[hashKey(account), { account, kinds: telling }] as const] : [];
        }),
      );
      if (kindsOf.size === 0) return;
      const accounts = [...kindsOf.values()].map(({ account }) => account);
      const places = await placesOf(accounts, rows.mcSeqno, batch, signal);
      const read = await readTransactions(
        places.filter(({ transaction }) => transaction === null),
        signal,
      );
      for (const { account, lt, transaction } of places) {
        const told = transaction ?? read.get(keyOf(account, lt));
        if (!told) throw new Error(`transaction ${lt} of ${account.toString('hex')} is not in the tables`);
        const kind = kindOfEvent(told);
        if (kind === null || !kindsOf.get(hashKey(account))?.kinds.includes(kind)) continue;
        if (writeEvent(rows, told, known, true)) counters.lateEvents++;
      }
    },
    /** Every table has the batch now, and those before it. */
    written(batch: number): void {
      for (const [key, held] of unwritten) {
        const left = held.filter(({ batch: of }) => of > batch);
        if (left.length === 0) unwritten.delete(key);
        else unwritten.set(key, left);
      }
    },
  };
}

const keyOf = (account: Address, lt: Decimal): string => hashKey(account) + lt;

function newestFirst(a: Place, b: Place): number {
  return compareDecimal(b.lt, a.lt) || a.account.compare(b.account);
}
