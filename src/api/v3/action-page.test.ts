/**
 * Pages of actions of a time window that are cut inside a trace, over a source that cuts them by `end_lt`; and cursors
 * of them.
 */
import { expect, it } from 'vitest';
import { compareActions, compareByTime, readActionCursor } from '../../../clickhouse/queries/action-order.ts';
import { BadCursor, makeCursor } from '../../../clickhouse/queries/keys.ts';
import { createFakeSource } from '../../../test/fake-source.ts';
import { madeAction } from '../../../test/made-chain.ts';
import { type ActionFilter, type ActionRecord, ANY_ACTION } from '../../chain/records.ts';
import { actionPage } from './action-page.ts';

const hash = (byte: number): Buffer => Buffer.alloc(32, byte);

/** Of trace 1 and of trace 2: their ids fall while their ends rise, those of each pair in one second. */
const ACTIONS: ActionRecord[] = [1, 2].flatMap((trace) =>
  [0, 1, 2, 3].map((number) => ({
    ...madeAction(hash(trace)),
    ...{ number, actionId: hash(16 * trace + 9 - number), endLt: String(100 + number), endUtime: 50 + (number >> 1) },
  })),
);

const { source } = createFakeSource({
  async actions(filter) {
    const { traceIds, page } = filter;
    const rows = ACTIONS.filter((row) => traceIds.length === 0 || traceIds.some((id) => id.equals(row.traceId)))
      .sort((a, b) => compareActions(a, b, filter, 'time'))
      .slice(page.offset, page.offset + page.limit);
    return { rows: rows.sort((a, b) => compareByTime(a, b, filter)), nextCursor: null };
  },
});
const context = { signal: new AbortController().signal, timeoutMs: 1_000 };

it.each(['asc', 'desc'] as const)('are cuts of the one list, %s', async (sort) => {
  // `trace_end_utime`, `trace_id`, `end_utime`, `action_id` (spec v3 endpoints 4.3); all traces end in one second.
  const wanted = ACTIONS.map(({ traceId, endUtime, actionId }) => [traceId[0], endUtime, actionId[0]]).sort(
    (a, b) => (sort === 'asc' ? 1 : -1) * (a[0] - b[0] || a[1] - b[1] || a[2] - b[2]),
  );
  for (let offset = 0; offset < wanted.length; offset++) {
    for (let limit = 1; limit <= wanted.length; limit++) {
      const filter: ActionFilter = { ...ANY_ACTION, utime: { start: 1 }, sort, page: { limit, offset } };
      const { rows } = await actionPage(filter, { source, context });
      expect(
        rows.map(({ actionId }) => actionId[0]),
        `${limit} from ${offset}`,
      ).toEqual(wanted.slice(offset, offset + limit).map(([, , id]) => id));
    }
  }
});

it.each(['lt', 'time'] as const)('a cursor names an action that there may be, by %s', (order) => {
  const page: Pick<ActionFilter, 'sort' | 'page'> = { sort: 'desc', page: { limit: 1, offset: 0 } };
  const place = (number: string): unknown[] | null => {
    const cursor = makeCursor(order, ['7', 'ab'.repeat(32), number]);
    return readActionCursor({ ...ANY_ACTION, ...page, cursor }, order);
  };
  expect(place('65535')).toContain(65_535);
  expect(() => place('65536')).toThrow(BadCursor);
});
