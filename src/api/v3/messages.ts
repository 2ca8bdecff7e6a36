import { z } from 'zod';
import type { ApiLimits } from '../limits.ts';
import {
  addressOrNull,
  cursor,
  direction,
  flag,
  hash,
  hashes,
  lenientHash,
  limit,
  offset,
  opcode,
  sort,
  uint64,
  utime,
} from './parameters.ts';
import { joinRows } from './render/rows.ts';
import { nextCursor, type Route, route } from './route.ts';
import { messages } from './schemas.ts';

export function messagesRoute(limits: ApiLimits): Route {
  return route({
    path: '/messages',
    tag: 'blockchain',
    summary: 'Messages by hash, address, opcode or time',
    parameters: z.object({
      msg_hash: hashes('Message hash or normalized hash.'),
      hash: lenientHash('Former name of `msg_hash`.'),
      body_hash: hash('Hash of the message body.'),
      source: addressOrNull('Sender, or `null` for external messages coming in.'),
      destination: addressOrNull('Receiver, or `null` for external messages going out.'),
      opcode: opcode('First 32 bits of the body.'),
      direction: direction('`in`: messages already received, `out`: messages seen leaving.'),
      start_utime: utime('Messages made at this time or later.'),
      end_utime: utime('Messages made at this time or earlier.'),
      start_lt: uint64('Messages with this created_lt or more.'),
      end_lt: uint64('Messages with this created_lt or less.'),
      exclude_externals: flag('Leave out external messages coming in.'),
      only_externals: flag('Only external messages coming in.'),
      limit: limit(limits),
      offset: offset(),
      sort: sort(),
      cursor: cursor(),
    }),
    response: messages,
    tagged: ['msg_hash', 'hash'],
    async answer(p, { source, context, book, renderings, addressBook, metadata }) {
      const filter = {
        messageHashes: p.msg_hash.length > 0 || p.hash === undefined ? p.msg_hash : [p.hash],
        bodyHash: p.body_hash,
        source: p.source === 'null' ? null : p.source,
        destination: p.destination === 'null' ? null : p.destination,
        opcode: p.opcode,
        direction: p.direction,
        utime: { start: p.start_utime, end: p.end_utime },
        ltWindow: { start: p.start_lt, end: p.end_lt },
        excludeExternals: p.exclude_externals ?? false,
        onlyExternals: p.only_externals ?? false,
        sort: p.sort,
        page: { limit: p.limit, offset: p.offset },
        cursor: p.cursor,
      };
      const found = await source.messages(filter, context);
      const rows = found.rows.map((row) => renderings.message(row, book));
      const extras = nextCursor(p.cursor, found.nextCursor);
      const [addresses, tokens] = await Promise.all([addressBook(), metadata()]);
      return joinRows('{"messages":[', rows, `],"address_book":${addresses},"metadata":${tokens}${extras}}`);
    },
  });
}
