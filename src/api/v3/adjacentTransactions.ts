import { z } from 'zod';
import { ApiError } from '../errors.ts';
import { hash, lenientDirection } from './parameters.ts';
import { type Route, route } from './route.ts';
import { transactions } from './schemas.ts';
import { transactionsJson } from './transactions.ts';

export function adjacentTransactionsRoute(): Route {
  return route({
    path: '/adjacentTransactions',
    tag: 'blockchain',
    summary: 'Parent and children of a transaction',
    parameters: z.object({
      hash: hash('Transaction hash.', true),
      direction: lenientDirection('`in`: the parent, `out`: the children; both when absent.'),
    }),
    response: transactions,
    tagged: ['hash'],
    async answer(p, asked) {
      if (p.hash === undefined) throw new ApiError(422, 'hash is required');
      const rows = await asked.source.adjacentTransactions(p.hash, p.direction, asked.context);
      if (rows.length === 0) throw new ApiError(404, 'adjacent transactions not found');
      return transactionsJson(rows, asked);
    },
  });
}
