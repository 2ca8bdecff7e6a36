import { z } from 'zod';
import { parseAddress } from '../../chain/address.ts';
import { ApiError } from '../errors.ts';
import { MOST_RUN_BYTES, methodOf, RESULT_LIMITS, running } from '../running.ts';
import { type Route, route } from './route.ts';
import { readEntities, stackEntities } from './stack.ts';

const text = (description: string) => z.string().optional().meta({ type: 'string', description });

/** As far as documents tell it: tuples hold entries. */
const entity = z.object({ type: z.string(), value: z.union([z.string(), z.array(z.unknown())]) });

export function runGetMethodRoute(): Route {
  return route({
    path: '/runGetMethod',
    methods: ['POST'],
    needsBody: true,
    maxBodyBytes: MOST_RUN_BYTES,
    tag: 'api/v2',
    summary: 'Runs a get-method',
    parameters: z.object({
      address: text('Account address: raw or user-friendly.'),
      method: text('Name of the method, or its id.'),
      stack: z
        .array(z.looseObject({ type: z.string(), value: z.unknown().optional() }))
        .max(8000)
        .optional()
        .meta({ type: 'array', items: {}, description: 'Arguments: `num`, `cell` or `slice` with their value.' }),
    }),
    response: z.object({ gas_used: z.int(), exit_code: z.int(), stack: z.array(entity) }).meta({ id: 'GetMethodRun' }),
    failures: {
      401: 'No address or no method is given.',
      501: 'The stack of the result has an entry that cannot be given.',
      533: 'The stack of the result is nested too deep.',
    },
    async answer({ address, method, stack = [] }, { contracts, context }) {
      if (!address) throw new ApiError(401, 'address is required');
      if (!method) throw new ApiError(401, 'method is required');
      const account = parseAddress(address);
      if (account === null) throw new ApiError(422, `invalid address: ${address.slice(0, 100)}`);
      const id = methodOf(method);
      if (id === null) throw new ApiError(422, `no id of a method: ${method}`);
      const values = readEntities(stack);
      const contract = await contracts.open(account, undefined, context);
      const ran = await running(() => contract.run(id, values, { limits: RESULT_LIMITS, longStacks: true }));
      return JSON.stringify({ gas_used: ran.gasUsed, exit_code: ran.exitCode, stack: stackEntities(ran.stack) });
    },
  });
}
