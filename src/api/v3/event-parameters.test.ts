/** Where a page of transfers begins, by what was sent. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { makeCursor } from '../../../clickhouse/queries/keys.ts';
import { DEFAULT_LIMITS } from '../../../test/default-limits.ts';
import { readParameters } from '../parameters.ts';
import { readQuery } from '../request.ts';
import { eventFilter, eventParameters } from './event-parameters.ts';
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
