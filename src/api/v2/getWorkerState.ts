/** How the liteservers do that are asked for what we do not have: `getWorkerState` of the older server. */
import { isIPv4 } from 'node:net';
import { z } from 'zod';
import type { ServerStatus } from '../../node/lite-pool.ts';
import { type Route, route } from './route.ts';

const worker = z.object({
  ls_index: z.int(),
  ip: z.int().optional(),
  port: z.int(),
  is_working: z.boolean(),
  is_enabled: z.boolean(),
  last_block: z.int().optional(),
  tasks_count: z.int(),
});

/** By the server's place in the global config. What nobody counts here (archives, restarts) is left out. */
export function getWorkerStateRoute(): Route {
  return route({
    path: '/getWorkerState',
    tag: 'blocks',
    summary: 'How the liteservers of the network do',
    parameters: z.object({}),
    response: z.record(z.string(), worker),
    live: true,
    async answer(_parameters, { liteservers, context }) {
      const servers = await liteservers.servers(context.signal);
      return JSON.stringify(Object.fromEntries(servers.map((server, at) => [at, workerOf(server, at)])));
    },
  });
}

function workerOf({ host, port, state, head, inFlight, restsMs }: ServerStatus, at: number): z.output<typeof worker> {
  return {
    ls_index: at,
    // As global configs have it: a signed number.
    ...(isIPv4(host) && { ip: Buffer.from(host.split('.').map(Number)).readInt32BE() }),
    port,
    is_working: state === 'ready',
    is_enabled: restsMs === 0,
    ...(head !== null && { last_block: head }),
    tasks_count: inFlight,
  };
}
