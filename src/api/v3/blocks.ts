import { z } from 'zod';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { cursor, hash, int32, limit, offset, shard, sort, uint64, utime } from './parameters.ts';
import { blocksJson } from './render/block.ts';
import { nextCursor, type Route, route } from './route.ts';
import { blocks } from './schemas.ts';

export function blocksRoute(limits: ApiLimits): Route {
  return route({
    path: '/blocks',
    tag: 'blockchain',
    summary: 'Blocks by place, hash, time or masterchain block',
    parameters: z.object({
      workchain: int32('Workchain of the block.'),
      shard: shard('Shard of the block; needs `workchain`.'),
      seqno: int32('Seqno of the block.'),
      root_hash: hash('Root hash of the block.'),
      file_hash: hash('File hash of the block.'),
      mc_seqno: int32('Seqno of the masterchain block that committed it.'),
      start_utime: utime('Blocks made at this time or later.'),
      end_utime: utime('Blocks made at this time or earlier.'),
      start_lt: uint64('Blocks with `start_lt` of this or more.'),
      end_lt: uint64('Blocks with `start_lt` of this or less.'),
      limit: limit(limits),
      offset: offset(),
      sort: sort(),
      cursor: cursor(),
    }),
    response: blocks,
    tagged: ['root_hash', 'file_hash'],
    async answer(p, { source, context }) {
      if (p.shard !== undefined && p.workchain === undefined) throw new ApiError(422, 'shard needs workchain');
      const filter = {
        workchain: p.workchain,
        shard: p.shard,
        seqno: p.seqno,
        rootHash: p.root_hash,
        fileHash: p.file_hash,
        mcSeqno: p.mc_seqno,
        utime: { start: p.start_utime, end: p.end_utime },
        lt: { start: p.start_lt, end: p.end_lt },
        sort: p.sort,
        page: { limit: p.limit, offset: p.offset },
        cursor: p.cursor,
      };
      const found = await source.blocks(filter, context);
      return blocksJson(found.rows, nextCursor(p.cursor, found.nextCursor));
    },
  });
}
