/** Traces that were told again, as windows that begin before, between and behind their tellings show them. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { ClickHouse } from '../clickhouse/client.ts';
import { hashKey } from '../src/chain/hash.ts';
import { type ActionFilter, type ActionRecord, ANY_ACTION } from '../src/chain/records.ts';
import { archiveOf, LARGE_SLAB } from './archived.ts';
import { drawn, rounds } from './chance.ts';
import { context, fillDown, type Projected, type SharedWindows, type Windowed, windowFrom } from './windowed.ts';

const again = z.object({ trace: z.string(), end: z.int(), told: z.int() });
const account = z.object({ account: z.string() });

/** Traces that were told again, with the steps of their ends and of their newest tellings. */
export async function retoldTraces(clickhouse: ClickHouse) {
  const sql = `SELECT lower(hex(trace_id)) AS trace, any(end_mc_seqno) AS end, max(mc_seqno) AS told FROM actions
    WHERE mc_seqno > end_mc_seqno GROUP BY trace_id ORDER BY told`;
  return clickhouse.json(sql, again);
}

/** Of the filters of one thing, how many a window is asked; twice as many are asked of any. */
const SOMETIMES = 12;

const ALL: ActionFilter = { ...ANY_ACTION, sort: 'desc', page: { limit: 1_000, offset: 0 } };

const shown = ({ traceId, number, type, actionId, mcSeqno, content }: ActionRecord): string =>
  [hashKey(traceId), number, type, hashKey(actionId), mcSeqno, content].join();

export function describeRetold(
  served: () => Pick<Projected, 'tables' | 'steps' | 'clickhouse'> & { windows: SharedWindows },
): void {
  it('tells again the traces of contracts that came to light later, the same in windows as in the tables', async () => {
    const { tables, steps, clickhouse, windows } = served();
    const retold = await retoldTraces(clickhouse);
    expect(retold.length).toBeGreaterThan(0);
    const first = retold[0];
    const traceIds = retold.map(({ trace }) => Buffer.from(trace, 'hex'));
    const accounts = (
      await clickhouse.json(
        `SELECT DISTINCT lower(hex(account)) AS account FROM action_accounts
         WHERE trace_id = unhex('${first.trace}') ORDER BY account`,
        account,
      )
    ).map((one) => Buffer.from(one.account, 'hex'));
    const everything = (await tables.actions(ALL, context())).rows;
    const types = [...new Set(everything.map(({ type }) => type))];
    const page = { limit: 7, offset: 3 };
    const filters: ActionFilter[] = [
      ALL,
      { ...ALL, sort: 'asc' },
      { ...ALL, page: { limit: 5, offset: Math.floor(everything.length / 2) } },
      { ...ALL, traceIds },
      { ...ALL, accounts },
      { ...ALL, accounts, page },
      { ...ALL, excludeAccounts: accounts },
      { ...ALL, mcSeqno: first.end },
      { ...ALL, mcSeqno: first.told },
      { ...ALL, utime: { start: 1 }, page },
      { ...ALL, traceIds, told: first.end },
    ];
    const single: ActionFilter[] = [
      ...types.map((type) => ({ ...ALL, types: [type] })),
      ...types.slice(0, rounds(4, types.length)).map((type) => ({ ...ALL, types: [type], sort: 'asc' as const, page })),
      ...accounts.map((one) => ({ ...ALL, accounts: [one], supported: new Set(types) })),
      ...everything
        .filter(({ traceId }) => traceIds.some((id) => id.equals(traceId)))
        .map(({ actionId }) => ({ ...ALL, actionIds: [actionId] })),
    ];
    const answered = (some: readonly ActionFilter[]) =>
      Promise.all(some.map(async (filter) => ({ filter, answer: await tables.actions(filter, context()) })));
    const [always, sometimes] = [
      await answered(filters),
      await answered(drawn(single, rounds(2 * SOMETIMES, single.length))),
    ];
    expect(new Set(everything.map(shown)).size).toBe(everything.length);
    // As they were told at first, which is something else.
    expect(always.at(-1)?.answer.rows.map(shown)).not.toEqual(always[3].answer.rows.map(shown));
    const starts = [first.end, first.end + 1, first.told, first.told + 1].map((seqno) =>
      Math.max(
        0,
        steps.findIndex(({ step }) => step.mcSeqno >= seqno),
      ),
    );
    // Begun at one step, then filled down to another: from behind the tellings, and from between them.
    const filled = [starts[3], starts[2]].map((from, i) => ({ from, to: i === 0 ? 0 : starts[0] }));
    for (const start of new Set([0, ...starts])) await compare(await windows.from(start), start, start);
    for (const { from, to: start } of filled) {
      const windowed = await windowFrom({ tables, steps }, from);
      try {
        await fillDown(windowed, { tables, steps }, { from, to: start, atOnce: 2 });
        await compare(windowed, from, start);
      } finally {
        await windowed.remove();
      }
    }
    // Over an archive that has the end of the trace and not the telling, both, and both beside a window with the telling.
    const archived = archiveOf({ clickhouse }, LARGE_SLAB);
    try {
      for (const from of [starts[1], starts[3], starts[1]]) {
        const windowed = await windowFrom({ tables, steps }, from, undefined, archived.archive);
        try {
          await archived.fill(windowed.window);
          await compare(windowed, from, from);
        } finally {
          await windowed.remove();
        }
      }
    } finally {
      await archived.remove();
    }

    async function compare(windowed: Windowed, from: number, start: number): Promise<void> {
      for (const { filter, answer } of [...always, ...drawn(sometimes, rounds(SOMETIMES, sometimes.length))]) {
        const { rows, nextCursor } = await windowed.source.actions(filter, context());
        const { types, accounts, actionIds, page } = filter;
        const asked = JSON.stringify([from, steps[start].step.mcSeqno, first, types, accounts, actionIds, page]);
        expect(rows.map(shown), asked).toEqual(answer.rows.map(shown));
        expect(nextCursor, asked).toBe(answer.nextCursor);
      }
    }
  });
}
