import { z } from 'zod';
import type { ApiLimits } from '../limits.ts';
import { lenientSeqno, limit, offset, sort } from './parameters.ts';
import { type Route, route } from './route.ts';
import { transactions } from './schemas.ts';
import { requireMasterchainBlock, transactionsJson } from './transactions.ts';

export function transactionsByMasterchainBlockRoute(limits: ApiLimits): Route {
  return route({
    path: '/transactionsByMasterchainBlock',
    tag: 'blockchain',
    summary: 'Transactions of all blocks that a masterchain block committed',
    parameters: z.object({ seqno: lenientSeqno(), limit: limit(limits), offset: offset(), sort: sort() }),
    response: transactions,
    async answer(p, asked) {
      await requireMasterchainBlock(p.seqno, asked);
      const filter = {
        mcSeqno: p.seqno,
        accounts: [],
        excludeAccounts: [],
        hashes: [],
        utime: {},
        ltWindow: {},
        sort: p.sort,
        page: { limit: p.limit, offset: p.offset },
      };
      const { rows } = await asked.source.transactions(filter, asked.context);
      return transactionsJson(rows, asked);
    },
  });
}
