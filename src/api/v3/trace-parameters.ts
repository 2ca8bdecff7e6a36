/** What listings of traces and of actions are asked by alike: traces named, and where traces ended. */
import type { z } from 'zod';
import type { TraceFilter } from '../../chain/records.ts';
import type { ApiLimits } from '../limits.ts';
import { cursor, hashes, int32, limit, offset, sort, supportedTypes, uint64, utime } from './parameters.ts';

export const traceParameters = (limits: ApiLimits) => ({
  trace_id: hashes('Hashes of root transactions.'),
  tx_hash: hashes('Hashes of any of their transactions.'),
  msg_hash: hashes('Hashes or normalized hashes of messages that any of their transactions sent or received.'),
  mc_seqno: int32('Seqno of the masterchain block that completed the trace.'),
  start_utime: utime('Of traces that ended at this time or later.'),
  end_utime: utime('Of traces that ended at this time or earlier.'),
  start_lt: uint64('Of traces with this end_lt or more.'),
  end_lt: uint64('Of traces with this end_lt or less.'),
  supported_action_types: supportedTypes(),
  limit: limit(limits),
  offset: offset(),
  sort: sort(),
  cursor: cursor(),
});

type Sent = z.output<z.ZodObject<ReturnType<typeof traceParameters>>>;

/** As a question; whose traces they are is added by the listing. */
export function traceFilter(p: Sent): Omit<TraceFilter, 'account'> {
  return {
    traceIds: p.trace_id,
    txHashes: p.tx_hash,
    messageHashes: p.msg_hash,
    mcSeqno: p.mc_seqno,
    utime: { start: p.start_utime, end: p.end_utime },
    ltWindow: { start: p.start_lt, end: p.end_lt },
    sort: p.sort,
    page: { limit: p.limit, offset: p.offset },
    cursor: p.cursor,
  };
}
