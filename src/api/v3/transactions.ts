import { z } from 'zod';
import type { TransactionFilter, TransactionRecord } from '../../chain/records.ts';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { addresses, cursor, hashes, int32, limit, offset, shard, sort, uint64, utime } from './parameters.ts';
import { joinRows } from './render/rows.ts';
import { type Asked, isBlockSeqno, nextCursor, type Route, route } from './route.ts';
import { transactions } from './schemas.ts';

export function transactionsRoute(limits: ApiLimits): Route {
  return route({
    path: '/transactions',
    tag: 'blockchain',
    summary: 'Transactions by account, hash, block or time',
    parameters: z.object({
      workchain: int32('Workchain of the block.'),
      shard: shard('Shard of the block; needs `workchain`.'),
      seqno: int32('Seqno of the block; needs `workchain` and `shard`.'),
      mc_seqno: int32('Seqno of the masterchain block that committed the transaction.'),
      account: addresses('Accounts of which to list transactions.', limits.maxAddresses),
      exclude_account: addresses('Accounts of which to leave out transactions.', limits.maxAddresses),
      hash: hashes('Transaction hashes.'),
      lt: uint64('Logical time of the transaction.'),
      start_utime: utime('Transactions made at this time or later.'),
      end_utime: utime('Transactions made at this time or earlier.'),
      start_lt: uint64('Transactions with this lt or more.'),
      end_lt: uint64('Transactions with this lt or less.'),
      limit: limit(limits),
      offset: offset(),
      sort: sort(),
      cursor: cursor(),
    }),
    response: transactions,
    tagged: ['hash'],
    async answer(p, asked, query) {
      if (p.shard !== undefined && p.workchain === undefined) throw new ApiError(422, 'shard needs workchain');
      if (p.seqno !== undefined && (p.workchain === undefined || p.shard === undefined)) {
        throw new ApiError(422, 'seqno needs workchain and shard');
      }
      if (p.mc_seqno !== undefined) await requireMasterchainBlock(p.mc_seqno, asked);
      const filter: TransactionFilter = {
        workchain: p.workchain,
        shard: p.shard,
        seqno: p.seqno,
        mcSeqno: p.mc_seqno,
        accounts: p.account,
        excludeAccounts: p.exclude_account,
        hashes: p.hash,
        emptyHash: p.hash.length === 0 && (query.has('hash') || query.has('hash[]')),
        lt: p.lt,
        utime: { start: p.start_utime, end: p.end_utime },
        ltWindow: { start: p.start_lt, end: p.end_lt },
        sort: p.sort,
        page: { limit: p.limit, offset: p.offset },
        cursor: p.cursor,
      };
      const found = await asked.source.transactions(filter, asked.context);
      return transactionsJson(found.rows, asked, nextCursor(p.cursor, found.nextCursor));
    },
  });
}

/** Throws 404 unless the masterchain block is indexed. */
export async function requireMasterchainBlock(seqno: number, { source, context }: Asked): Promise<void> {
  if (isBlockSeqno(seqno) && (await source.hasMasterchainBlock(seqno, context))) return;
  throw new ApiError(404, `masterchain block ${seqno} not found`);
}

/** JSON of `TransactionsResponse`. */
export async function transactionsJson(
  rows: readonly TransactionRecord[],
  { book, renderings, addressBook }: Pick<Asked, 'book' | 'renderings' | 'addressBook'>,
  extras = '',
): Promise<Buffer> {
  const list = rows.map((row) => renderings.transaction(row, book));
  return joinRows('{"transactions":[', list, `],"address_book":${await addressBook()}${extras}}`);
}
