import { describe, expect, it } from 'vitest';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { actions } from '../../clickhouse/tables/actions.ts';
import type { TableWith } from '../../clickhouse/tables/table.ts';
import { PLACE_BYTES } from '../../clickhouse/tables/trace-places.ts';
import { traceAccounts, traces } from '../../clickhouse/tables/traces.ts';
import { type TransactionRow, transactions } from '../../clickhouse/tables/transactions.ts';
import { addressOf } from '../../src/chain/address.ts';
import type { Address, Message } from '../../src/chain/model.ts';
import { madeHash, madeMessage, madeTransaction } from '../../test/made-chain.ts';
import { newCounters } from './counters.ts';
import { firstPlaces, placesOf } from './open-traces.ts';
import type { ProjectionContext } from './projection.ts';
import { createStepRows, type GrowingRows } from './step-rows.ts';
import { beginTrace, growTraceBy } from './trace-growth.ts';
import { traceProjection } from './trace-projection.ts';

const { signal } = new AbortController();

/** Tables that hold nothing: what is asked of earlier batches must be remembered. */
const emptyTables = { query: async () => Buffer.alloc(0) } as Partial<ClickHouse> as ClickHouse;

interface Made {
  step: number;
  /** By name: the message that it received, and those that it sends. */
  from: string | null;
  to: string[];
  account?: Address;
  lt: number;
}

const messageNamed = (name: string, kind: Message['kind'] = 'internal'): Message =>
  madeMessage({
    hash: madeHash(name),
    kind,
    ...(kind === 'external_in' ? { source: null, createdLt: null, createdAt: null } : {}),
    ...(kind === 'external_out' ? { destination: null } : {}),
  });

const kindOf = (name: string): Message['kind'] =>
  name.startsWith('ext') ? 'external_in' : name.startsWith('log') ? 'external_out' : 'internal';

/** As the assembler makes them: the trace of a transaction is that of the one that sent its message. */
function stepsOf(made: readonly Made[]): GrowingRows[] {
  const steps = new Map<number, GrowingRows>();
  const traceOf = new Map<string, { traceId: Buffer; externalHash: Buffer | null }>();
  for (const { step, from, to, account, lt } of made) {
    const rows = steps.get(step) ?? createStepRows(step);
    steps.set(step, rows);
    const name = `transaction ${lt}`;
    const inMsg = from === null ? null : messageNamed(from, kindOf(from));
    const { transaction } = madeTransaction({
      name,
      mcSeqno: step,
      transaction: {
        lt: String(lt),
        inMsg,
        outMsgs: to.map((one) => messageNamed(one, kindOf(one))),
        ...(account ? { account } : {}),
      },
    });
    const { hash } = transaction;
    const trace = (from !== null && traceOf.get(from)) || { traceId: hash, externalHash: inMsg?.hash ?? null };
    for (const one of to) traceOf.set(one, trace);
    const row = { ...transaction, ...trace, transaction, mcSeqno: step, payload: Buffer.from(name) };
    rows.add(transactions, row as unknown as TransactionRow);
  }
  return [...steps.values()];
}

/** The rows that the steps get when they come in batches of this size. */
async function projected(made: readonly Made[], batchSteps = Number.POSITIVE_INFINITY) {
  const counters = newCounters();
  const context = { clickhouse: emptyTables, counters } as Partial<ProjectionContext> as ProjectionContext;
  const open = traceProjection.open(context);
  const steps = stepsOf(made);
  for (let number = 1, at = 0; at < steps.length; number++) {
    const batch = steps.slice(at, at + Math.min(batchSteps, steps.length));
    at += batch.length;
    const place = { number, firstMcSeqno: batch[0].mcSeqno };
    await (await open.begin(place, [], signal)).project(batch);
    // The batch before is in the tables; this one is still on its way.
    open.written?.(number - 1);
  }
  const of = <R extends object>(table: TableWith<R>): R[] => steps.flatMap((rows) => [...rows.of(table)]);
  return { counters, traces: of(traces), accounts: of(traceAccounts), actions: of(actions) };
}

const chain = (length: number, perStep: number): Made[] =>
  Array.from({ length }, (_, i) => ({
    step: 1 + Math.floor(i / perStep),
    from: i === 0 ? 'ext' : `message ${i - 1}`,
    to: i === length - 1 ? [] : [`message ${i}`],
    lt: 1000 + i,
  }));

describe('traces as they are projected', () => {
  it('are complete once nothing is on its way', async () => {
    const made: Made[] = [
      { step: 1, from: 'ext', to: ['a', 'log'], lt: 10 },
      { step: 1, from: 'a', to: ['b'], lt: 20 },
      { step: 2, from: 'b', to: [], lt: 30 },
    ];
    const { traces: rows } = await projected(made);
    expect(rows).toMatchObject([
      { mcSeqno: 1, state: 'pending', transactions: 2, messages: 3, pendingMessages: 1, endLt: '20' },
      { mcSeqno: 2, state: 'complete', transactions: 3, messages: 4, pendingMessages: 0, endLt: '30' },
    ]);
    expect(rows.map(({ places }) => places.length / 44)).toEqual([2, 1]);
  });

  it('stay broken when they begin with a message that was sent before the log', async () => {
    const { traces: rows, actions: told } = await projected([
      { step: 1, from: 'unseen', to: ['a'], lt: 10 },
      { step: 2, from: 'a', to: [], lt: 20 },
    ]);
    expect(rows).toMatchObject([
      { state: 'broken', messages: 0, pendingMessages: 1 },
      { state: 'broken', messages: 1, pendingMessages: 0, classification: 'unclassified' },
    ]);
    expect(told).toEqual([]);
  });

  it('are told without a message at the root', async () => {
    const { traces: rows, actions: told } = await projected([{ step: 1, from: null, to: [], lt: 10 }]);
    expect(rows).toMatchObject([{ state: 'complete', externalHash: null, messages: 0, classification: 'ok' }]);
    expect(told).toEqual([]);
  });

  it('hold an account that is called a thousand times in one step', async () => {
    const account = addressOf(0, madeHash('busy'));
    const calls = Array.from({ length: 1000 }, (_, i) => `call ${i}`);
    const made: Made[] = [
      { step: 1, from: 'ext', to: calls, lt: 1 },
      ...calls.map((call, i): Made => ({ step: 2, from: call, to: [], account, lt: 10 + i })),
    ];
    const { traces: rows, accounts, actions: told } = await projected(made);
    expect(rows.at(-1)).toMatchObject({ state: 'complete', transactions: 1001, classification: 'ok' });
    expect(accounts).toHaveLength(2);
    expect(told).toHaveLength(1000);
  });

  it('of many steps and more than 4,000 transactions are complete, and too large to be told', async () => {
    const made = chain(4_500, 9);
    const { traces: rows, accounts, actions: told, counters } = await projected(made, 7);
    expect(rows).toHaveLength(500);
    expect(rows.at(-1)).toMatchObject({ state: 'complete', transactions: 4_500, classification: 'unclassified' });
    expect(accounts).toHaveLength(4_500);
    expect(told).toEqual([]);
    expect(counters.unclassifiedTraces).toBe(1);
    expect((await projected(made)).traces).toEqual(rows);
  });

  it('that are never complete grow a row a step, in batches of any size', async () => {
    const made = chain(4_100, 10).slice(0, -1);
    const whole = await projected(made);
    expect(whole.traces.map(({ state }) => state)).toEqual(Array(410).fill('pending'));
    expect(whole.accounts).toEqual([]);
    expect((await projected(made, 1)).traces).toEqual(whole.traces);
  });

  it('that go on for ever are held as large as their accounts', () => {
    const made = chain(3, 1).map((one, i) => ({ ...one, account: addressOf(0, madeHash(`account ${i}`)) }));
    const some = stepsOf(made).flatMap((step) => step.of(transactions));
    const trace = beginTrace(some[0]);
    const held = Array.from({ length: 13_000 }, (_, i) => {
      growTraceBy(trace, { ...some[i % some.length], lt: String(1000 + i) }, i === 0);
      return trace.places.length / PLACE_BYTES;
    });
    expect(held.slice(0, 4_001)).toEqual(Array.from({ length: 4_001 }, (_, i) => i + 1));
    expect(Math.max(...held)).toBeLessThan(8_000);
    const first = [...placesOf({ places: firstPlaces(trace.places) })];
    expect(first.map(({ account, lt }) => [account, lt])).toEqual(
      made.map(({ account }, i) => [account, String(1000 + i)]),
    );
  });
});
