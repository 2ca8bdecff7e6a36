/** What transfers and burns of tokens are asked by alike. */
import type { z } from 'zod';
import type { EventFilter } from '../../chain/contract-records.ts';
import type { Address } from '../../chain/model.ts';
import type { ApiLimits } from '../limits.ts';
import { addresses, lenientAddress, limit, offset, sort, uint64, utime } from './parameters.ts';

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
});

type Sent = z.output<z.ZodObject<ReturnType<typeof eventParameters>>>;

/** `of`: the wallets or items, the master or collection, and on which side the owners are. */
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
    page: { limit: p.limit, offset: p.offset },
  };
}
