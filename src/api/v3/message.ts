import { z } from 'zod';
import { ApiError } from '../errors.ts';
import { sendExternal } from '../sending.ts';
import { type Route, route } from './route.ts';

export function messageRoute(): Route {
  return route({
    path: '/message',
    methods: ['POST'],
    needsBody: true,
    tag: 'api/v2',
    summary: 'Sends an external message',
    parameters: z.object({
      boc: z.string().optional().meta({ type: 'string', description: 'The message: a bag of cells in base64.' }),
    }),
    response: z.object({ message_hash: z.string(), message_hash_norm: z.string() }).meta({ id: 'SentMessage' }),
    failures: { 401: 'No message is given.' },
    acts: true,
    async answer({ boc = '' }, { liteservers, context }) {
      if (boc === '') throw new ApiError(401, 'boc is required');
      const { hash, hashNorm } = await sendExternal(liteservers, Buffer.from(boc, 'base64'), context.signal);
      return JSON.stringify({
        message_hash: hash.toString('base64'),
        message_hash_norm: hashNorm.toString('base64'),
      });
    },
  });
}
