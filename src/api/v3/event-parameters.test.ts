/** Where a page of transfers begins, by what was sent. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { makeCursor } from '../../../clickhouse/queries/keys.ts';
import { DEFAULT_LIMITS } from '../../../test/default-limits.ts';
import type { EventFilter, TokenEvent } from '../../chain/contract-records.ts';
import type { Transaction } from '../../chain/model.ts';
import type { Bounds } from '../../chain/records.ts';
import { readParameters } from '../parameters.ts';
import { readQuery } from '../request.ts';
import { eventFilter, eventParameters, nextEvents } from './event-parameters.ts';
import { refuse } from './parameters.ts';

type EventKey = Pick<Transaction, 'now' | 'lt' | 'hash'>;

const NextCursor = z.object({ next_cursor: z.string().nullish() });
const declared = z.object(eventParameters(DEFAULT_LIMITS, 'Owners.'));

/** An event of which nothing counts but the place. */
const eventAt = (lt: number, now: number, n: number): TokenEvent =>
  ({ transaction: { transaction: { lt: String(lt), now, hash: Buffer.alloc(32, n) } }, token: null }) as never;

const keyOf = ({ transaction: { transaction } }: TokenEvent): EventKey => transaction;

/** What a source answers that has these events. */
function listed(all: readonly TokenEvent[], { utime, ltWindow, sort, behind, page }: EventFilter): TokenEvent[] {
  const byTime = utime.start !== undefined || utime.end !== undefined;
  const sign = sort === 'asc' ? 1 : -1;
  const compare = (a: EventKey, b: EventKey): number =>
    sign * ((byTime ? a.now - b.now : 0) || Number(BigInt(a.lt) - BigInt(b.lt)) || a.hash.compare(b.hash));
  const isIn = (value: bigint, { start, end }: Bounds<string | number>): boolean =>
    (start === undefined || value >= BigInt(start)) && (end === undefined || value <= BigInt(end));
  return all
    .filter((event) => isIn(BigInt(keyOf(event).lt), ltWindow) && isIn(BigInt(keyOf(event).now), utime))
    .filter((event) => behind === undefined || compare(keyOf(event), { ...behind, now: behind.utime ?? 0 }) > 0)
    .sort((a, b) => compare(keyOf(a), keyOf(b)))
    .slice(page.offset, page.offset + page.limit);
}

/** A page of these, and the cursor of the next one. */
function pageOf(all: readonly TokenEvent[], query: string) {
  const sent = readParameters(declared, readQuery(`/x?${query}`), refuse);
  const events = listed(all, eventFilter(sent, { contracts: [], token: undefined }));
  const { next_cursor: cursor } = NextCursor.parse(JSON.parse(`{"x":0${nextEvents(sent, events)}}`));
  return { events, cursor };
}

const ORDERS = [
  'sort=desc',
  'sort=asc',
  'sort=desc&end_utime=9',
  'sort=asc&start_utime=0',
  'sort=desc&end_lt=7&start_lt=2',
];

it.each(ORDERS)('pages by cursor go on behind what the first one left out: %s', (query) => {
  const places = [1, 3, 3, 3, 5, 5, 5, 5, 5, 7];
  const here = places.map((place, n) => eventAt(place, place, n));
  const { events: all } = pageOf(here, `${query}&limit=100`);
  for (let offset = 0; offset < all.length; offset++) {
    for (const limit of [1, 2, 3]) {
      const first = pageOf(here, `${query}&limit=${limit}&offset=${offset}&cursor=`);
      const walked = [...first.events];
      for (let { cursor } = first; cursor; ) {
        const next = pageOf(here, `${query}&limit=${limit}&cursor=${cursor}`);
        walked.push(...next.events);
        cursor = next.cursor;
      }
      expect(walked).toEqual(all.slice(offset));
    }
  }
});

it.each(ORDERS)('who pages by cursor while more come is shown none twice, and all that there were: %s', (query) => {
  const places = [2, 3, 3, 5, 5, 5, 7];
  const before = places.map((place, n) => eventAt(place, place, 10 * n));
  // Of another shard, of another step of the same second, or of a contract that was not confirmed yet.
  const later = places.flatMap((place, n) => [-5, 5].map((more) => eventAt(place, place, 100 + 10 * n + more)));
  const { events: all } = pageOf(before, `${query}&limit=100`);
  for (const limit of [1, 2, 3]) {
    let { events: walked, cursor } = pageOf(before, `${query}&limit=${limit}&cursor=`);
    for (let come = 1; cursor; come++) {
      const next = pageOf([...before, ...later.slice(0, 2 * come)], `${query}&limit=${limit}&cursor=${cursor}`);
      walked = [...walked, ...next.events];
      cursor = next.cursor;
    }
    expect(new Set(walked).size).toBe(walked.length);
    expect(walked.filter((event) => before.includes(event))).toEqual(all);
  }
});

it.each([
  ['sort=desc&end_lt=60', [60, 50]],
  ['sort=desc&start_lt=60&end_lt=90', [60]],
  ['sort=asc&start_lt=80', [80, 90]],
  ['sort=asc&end_lt=80', [80]],
])('a cursor does not lead out of the lts asked for: %s', (query, lts) => {
  const all = [50, 60, 70, 80, 90].map((lt) => eventAt(lt, lt, 1));
  const cursor = makeCursor('event_lt', ['70', '01'.repeat(32)]);
  expect(pageOf(all, `${query}&cursor=${cursor}`).events.map((event) => Number(keyOf(event).lt))).toEqual(lts);
  const ofTime = makeCursor('event_time', ['70', '70', '01'.repeat(32)]);
  const times = query.replaceAll('_lt', '_utime');
  expect(pageOf(all, `${times}&cursor=${ofTime}`).events.map((event) => keyOf(event).now)).toEqual(lts);
});
