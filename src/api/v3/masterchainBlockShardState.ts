import { z } from 'zod';
import { ApiError } from '../errors.ts';
import { lenientSeqno } from './parameters.ts';
import { blocksJson } from './render/block.ts';
import { isBlockSeqno, type Route, route } from './route.ts';
import { blocks } from './schemas.ts';

export function masterchainBlockShardStateRoute(): Route {
  return route({
    path: '/masterchainBlockShardState',
    tag: 'blockchain',
    summary: 'A masterchain block and the top block of every shard as of it',
    parameters: z.object({ seqno: lenientSeqno() }),
    response: blocks,
    async answer({ seqno }, { source, context }) {
      const tops = isBlockSeqno(seqno) ? await source.shardState(seqno, context) : [];
      if (tops.length === 0) throw new ApiError(404, 'blocks not found');
      return blocksJson(tops);
    },
  });
}
