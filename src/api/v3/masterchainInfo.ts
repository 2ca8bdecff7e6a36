import { z } from 'zod';
import { Refusal } from '../errors.ts';
import { blockJson } from './render/block.ts';
import { type Route, route } from './route.ts';
import { masterchainInfo } from './schemas.ts';

export function masterchainInfoRoute(): Route {
  return route({
    path: '/masterchainInfo',
    tag: 'blockchain',
    summary: 'First and last indexed masterchain block',
    parameters: z.object({}),
    response: masterchainInfo,
    tagged: 'always',
    async answer(_parameters, { source, context }) {
      const info = await source.masterchainInfo(context);
      if (info === null) throw new Refusal(500, 'internal server error: no masterchain block is indexed');
      return `{"last":${blockJson(info.last)},"first":${blockJson(info.first)}}`;
    },
  });
}
