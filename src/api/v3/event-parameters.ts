/** What transfers and burns of tokens are asked by alike, and their pages. */
import type { z } from 'zod';
import { byLt, byTime } from '../../../clickhouse/queries/keyset.ts';
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

const keysetOf = (p: Sent): typeof byLt => (p.start_utime !== undefined || p.end_utime !== undefined ? byTime : byLt);

/** `of`: the wallets or items, the master or collection, and on which side the owners are. @throws {BadCursor} */
export function eventFilter(
  p: Sent,
  of: { contracts: Address[]; token: Address | undefined; direction?: 'in' | 'out' | undefined },
): EventFilter {
  return {
    ...of,
    owners: p.owner_address.length > 0 || p.address === undefined ? p.owner_address : [p.address],
    utime: { start: p.start_utime, end: p.end_utime },
    ltWindow: { start: p.start_lt, end: p.end_lt },
    sort: p.sort,
    behind: keysetOf(p).read(p.cursor),
    page: { limit: p.limit, offset: p.offset },
  };
}

/** What the events are of: wallets or items, with their master or collection. */
export function tokensOf(events: readonly TokenEvent[]): Address[] {
  return events.flatMap(({ transaction: { transaction }, token }) => [transaction.account, ...(token ? [token] : [])]);
}

/** What stands behind the events of an answer: the next page's cursor, where it is asked for. */
export function nextEvents(p: Sent, events: readonly TokenEvent[]): string {
  return nextCursor(p.cursor, keysetOf(p).next(events, p.limit));
}
