import { z } from 'zod';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { address, direction, hash, hashes, limit, offset, opcode, sort } from './parameters.ts';
import { type Route, route } from './route.ts';
import { transactions } from './schemas.ts';
import { transactionsJson } from './transactions.ts';

export function transactionsByMessageRoute(limits: ApiLimits): Route {
  return route({
    path: '/transactionsByMessage',
    tag: 'blockchain',
    summary: 'Transactions that received or sent a message',
    parameters: z.object({
      msg_hash: hashes('Message hash or normalized hash.'),
      body_hash: hash('Hash of the message body.'),
      opcode: opcode('First 32 bits of the body; implies `direction=in`.'),
      direction: direction('`in`: the receiving transaction, `out`: the sending one.'),
      source: address('Sender of the message.'),
      destination: address('Receiver of the message.'),
      limit: limit(limits),
      offset: offset(),
      sort: sort(),
    }),
    response: transactions,
    tagged: ['msg_hash'],
    async answer(p, asked) {
      if (p.msg_hash.length === 0 && p.body_hash === undefined && p.opcode === undefined) {
        throw new ApiError(422, 'at least one of msg_hash, body_hash, opcode should be specified');
      }
      if (p.opcode !== undefined && p.direction === 'out') return transactionsJson([], asked);
      const filter = {
        messageHashes: p.msg_hash,
        bodyHash: p.body_hash,
        opcode: p.opcode,
        direction: p.opcode === undefined ? p.direction : ('in' as const),
        source: p.source,
        destination: p.destination,
        sort: p.sort,
        page: { limit: p.limit, offset: p.offset },
      };
      return transactionsJson(await asked.source.transactionsByMessage(filter, asked.context), asked);
    },
  });
}
