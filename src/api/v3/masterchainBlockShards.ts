import { z } from 'zod';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { lenientSeqno, limit, offset, sort } from './parameters.ts';
import { blocksJson } from './render/block.ts';
import { isBlockSeqno, type Route, route } from './route.ts';
import { blocks } from './schemas.ts';

export function masterchainBlockShardsRoute(limits: ApiLimits): Route {
  return route({
    path: '/masterchainBlockShards',
    tag: 'blockchain',
    summary: 'A masterchain block and the shard blocks it committed',
    parameters: z.object({ seqno: lenientSeqno(), limit: limit(limits), offset: offset(), sort: sort() }),
    response: blocks,
    async answer(p, { source, context }) {
      if (!isBlockSeqno(p.seqno)) throw new ApiError(404, 'blocks not found');
      const page = { limit: p.limit, offset: p.offset };
      const filter = { mcSeqno: p.seqno, utime: {}, lt: {}, sort: p.sort, page };
      const { rows } = await source.blocks(filter, context);
      if (rows.length === 0) throw new ApiError(404, 'blocks not found');
      return blocksJson(rows);
    },
  });
}
