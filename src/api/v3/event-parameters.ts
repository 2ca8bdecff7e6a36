/** What transfers and burns of tokens are asked by alike, and their pages. */
import type { z } from 'zod';
import { LT, makeCursor, readCursor, TIME } from '../../../clickhouse/queries/keys.ts';
import type { EventFilter, TokenEvent } from '../../chain/contract-records.ts';
import type { Address } from '../../chain/model.ts';
import type { ApiLimits } from '../limits.ts';
import { addresses, cursor, lenientAddress, limit, offset, sort, uint64, utime } from './parameters.ts';
import { nextCursor } from './route.ts';

export const eventParameters = (limits: ApiLimits, owners: string) => ({
  owner_address: addresses(owners, limits.maxAddresses),
  address: lenientAddress('Former name of `owner_address`.'),
  start_utime: utime('At this time or later.'),
  end_utime: utime('At this time or earlier.'),
  start_lt: uint64('With this lt or more.'),
  end_lt: uint64('With this lt or less.'),
  limit: limit(limits),
  offset: offset(),
  sort: sort(),
  cursor: cursor(),
});

type Sent = z.output<z.ZodObject<ReturnType<typeof eventParameters>>>;

const COUNT = { test: (text: string): boolean => /^\d{1,9}$/.test(text) };

/**
 * Where a page begins: the lt, or the time where times are asked for, of the last event before it, and how many with
 * the same were shown. Those of one lt have an order of their own, which no later step changes. Behind an offset it is
 * not known how many of the same came before: then all are counted, from the beginning on.
 */
interface Place {
  /** Null for the beginning. */
  key: string | null;
  shown: number;
}

const usesTime = (p: Sent): boolean => p.start_utime !== undefined || p.end_utime !== undefined;

function placeOf(p: Sent): Place | null {
  if (p.cursor === undefined) return null;
  const values = usesTime(p) ? readCursor(p.cursor, 'time', [TIME, COUNT]) : readCursor(p.cursor, 'lt', [LT, COUNT]);
  if (values === null) return null;
  const [key, shown] = [values[0], Number(values[1])];
  if (key === beginning(p)) return { key: null, shown };
  return isBeforeWindow(key, p) ? null : { key, shown };
}

/** How a cursor says it: no event has this lt or time. */
function beginning(p: Sent): string {
  if (p.sort === 'asc') return '0';
  return String(usesTime(p) ? 2 ** 32 - 1 : 2n ** 64n - 1n);
}

/** Whether a place comes before all that is asked for: the window is narrower than the one that its page was of. */
function isBeforeWindow(key: string, p: Sent): boolean {
  const isDescending = p.sort === 'desc';
  const lt = isDescending ? p.end_lt : p.start_lt;
  const first = usesTime(p) ? (isDescending ? p.end_utime : p.start_utime) : lt;
  if (first === undefined) return false;
  return isDescending ? BigInt(key) > BigInt(first) : BigInt(key) < BigInt(first);
}

/** `of`: the wallets or items, the master or collection, and on which side the owners are. @throws {BadCursor} */
export function eventFilter(
  p: Sent,
  of: { contracts: Address[]; token: Address | undefined; direction?: 'in' | 'out' | undefined },
): EventFilter {
  const place = placeOf(p);
  const end = p.sort === 'desc' ? 'end' : 'start';
  const key = place?.key ?? null;
  const time = key !== null && usesTime(p) ? { [end]: Number(key) } : {};
  const lt = key !== null && !usesTime(p) ? { [end]: key } : {};
  return {
    ...of,
    owners: p.owner_address.length > 0 || p.address === undefined ? p.owner_address : [p.address],
    utime: { start: p.start_utime, end: p.end_utime, ...time },
    ltWindow: { start: p.start_lt, end: p.end_lt, ...lt },
    sort: p.sort,
    page: { limit: p.limit, offset: p.offset + (place?.shown ?? 0) },
  };
}

/** What the events are of: wallets or items, with their master or collection. */
export function tokensOf(events: readonly TokenEvent[]): Address[] {
  return events.flatMap(({ transaction: { transaction }, token }) => [transaction.account, ...(token ? [token] : [])]);
}

/** What stands behind the events of an answer: the next page's cursor, where it is asked for. */
export function nextEvents(p: Sent, events: readonly TokenEvent[]): string {
  if (events.length < p.limit || events.length === 0) return nextCursor(p.cursor, null);
  const { key, shown } = placeBehind(p, events);
  return nextCursor(p.cursor, makeCursor(usesTime(p) ? 'time' : 'lt', [key ?? beginning(p), String(shown)]));
}

function placeBehind(p: Sent, events: readonly TokenEvent[]): Place {
  const keys = events.map(({ transaction: { transaction } }) =>
    usesTime(p) ? String(transaction.now) : transaction.lt,
  );
  const key = keys[keys.length - 1];
  const here = keys.filter((one) => one === key).length;
  const from = placeOf(p) ?? { key: null, shown: 0 };
  const before = from.shown + p.offset;
  const hasBegunHere = from.key !== null && from.key !== key && p.offset === 0;
  if (here < keys.length || before === 0 || hasBegunHere) return { key, shown: here };
  return { key: from.key, shown: before + here };
}
