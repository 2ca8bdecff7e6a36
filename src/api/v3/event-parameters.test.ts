/** Where a page of transfers begins, by what was sent. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { makeCursor } from '../../../clickhouse/queries/keys.ts';
import { DEFAULT_LIMITS } from '../../../test/default-limits.ts';
import type { TokenEvent } from '../../chain/contract-records.ts';
import { readParameters } from '../parameters.ts';
import { readQuery } from '../request.ts';
import { eventFilter, eventParameters, nextEvents } from './event-parameters.ts';
import { refuse } from './parameters.ts';

const declared = z.object(eventParameters(DEFAULT_LIMITS, 'Owners.'));

/** Windows of lt and time, and how many rows are left out. */
function asked(query: string, cursor: [kind: 'lt' | 'time', key: string]) {
  const [kind, key] = cursor;
  const sent = readQuery(`/x?offset=3&cursor=${makeCursor(kind, [key, '2'])}&${query}`);
  const { ltWindow, utime, page } = eventFilter(readParameters(declared, sent, refuse), {
    contracts: [],
    token: undefined,
  });
  return { ltWindow, utime, offset: page.offset };
}

it.each([
  ['sort=desc&start_lt=5&end_lt=90', { start: '5', end: '70' }, 5],
  ['sort=desc&end_lt=70', { end: '70' }, 5],
  ['sort=desc&end_lt=60', { end: '60' }, 3],
  ['sort=asc&start_lt=5&end_lt=90', { start: '70', end: '90' }, 5],
  ['sort=asc&start_lt=80', { start: '80' }, 3],
])('a cursor does not lead out of the lts asked for: %s', (query, ltWindow, offset) => {
  expect(asked(query, ['lt', '70'])).toEqual({
    ltWindow: { start: undefined, end: undefined, ...ltWindow },
    utime: {},
    offset,
  });
});

it.each([
  ['sort=desc&end_utime=90&end_lt=8', { end: 70 }, 5],
  ['sort=desc&end_utime=60&end_lt=8', { end: 60 }, 3],
  ['sort=asc&start_utime=60&end_lt=8', { start: 70 }, 5],
  ['sort=asc&start_utime=80&end_lt=8', { start: 80 }, 3],
])('nor out of the times: %s', (query, utime, offset) => {
  const windows = { ltWindow: { end: '8' }, utime: { start: undefined, end: undefined, ...utime } };
  expect(asked(query, ['time', '70'])).toEqual({ ...windows, offset });
});

/** Of which nothing counts but the place. */
const eventAt = (lt: number, now: number, n: number): TokenEvent =>
  ({ transaction: { transaction: { lt: String(lt), now } }, token: null, n }) as unknown as TokenEvent;

it.each(['sort=desc', 'sort=asc', 'sort=desc&end_utime=9', 'sort=asc&start_utime=0', 'sort=desc&end_lt=7&start_lt=2'])(
  'pages by cursor go on behind what the first one left out: %s',
  (query) => {
    const places = [1, 3, 3, 3, 5, 5, 5, 5, 5, 7];
    const newestFirst = places.map((place, n) => eventAt(place, place, n)).reverse();
    const page = (more: string) => {
      const sent = readParameters(declared, readQuery(`/x?${query}&${more}`), refuse);
      const { ltWindow, utime, page, sort } = eventFilter(sent, { contracts: [], token: undefined });
      const isIn = (
        value: bigint,
        { start, end }: { start?: string | number | undefined; end?: string | number | undefined },
      ) => (start === undefined || value >= BigInt(start)) && (end === undefined || value <= BigInt(end));
      const all = (sort === 'desc' ? newestFirst : newestFirst.toReversed()).filter(
        ({ transaction: { transaction } }) =>
          isIn(BigInt(transaction.lt), ltWindow) && isIn(BigInt(transaction.now), utime),
      );
      const events = all.slice(page.offset, page.offset + page.limit);
      return {
        events,
        cursor: z
          .string()
          .nullish()
          .parse(JSON.parse(`{"x":0${nextEvents(sent, events)}}`).next_cursor),
      };
    };
    const { events: all } = page('limit=100');
    for (let offset = 0; offset < all.length; offset++) {
      for (const limit of [1, 2, 3]) {
        const first = page(`limit=${limit}&offset=${offset}&cursor=`);
        const walked = [...first.events];
        for (let { cursor } = first; cursor; ) {
          const next = page(`limit=${limit}&cursor=${cursor}`);
          walked.push(...next.events);
          cursor = next.cursor;
        }
        expect(walked).toEqual(all.slice(offset));
      }
    }
  },
);
