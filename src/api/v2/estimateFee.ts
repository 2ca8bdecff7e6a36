import { z } from 'zod';
import { running } from '../running.ts';
import { truth } from './parameters.ts';
import { type Route, route } from './route.ts';
import { queryOf, queryParameters } from './sending.ts';

const fees = z
  .object({
    '@type': z.literal('fees'),
    in_fwd_fee: z.int(),
    storage_fee: z.int(),
    gas_fee: z.int(),
    fwd_fee: z.int(),
  })
  .meta({ id: 'Fees' });
const parameters = queryParameters.extend({
  ignore_chksig: truth('Whether every check of a signature succeeds; so unless said otherwise.'),
});

/** `estimateFee` in bags of cells, `estimateFeeSimple` in objects; both read either. */
export function estimateFeeRoute(path: '/estimateFee' | '/estimateFeeSimple'): Route {
  return route({
    path,
    methods: ['POST'],
    tag: 'send',
    summary: 'Fees of an external message before it is sent',
    parameters,
    response: z.object({
      '@type': z.literal('query.fees'),
      source_fees: fees,
      destination_fees: z.array(z.never()),
    }),
    async answer(given, { contracts, context }) {
      const { ignore_chksig: ignoreSignatures = true } = given;
      const { inForward, storage, gas, forward } = await running(() =>
        contracts.estimate({ ...queryOf(given), ignoreSignatures }, context),
      );
      return JSON.stringify({
        '@type': 'query.fees',
        source_fees: {
          '@type': 'fees',
          in_fwd_fee: Number(inForward),
          storage_fee: Number(storage),
          gas_fee: Number(gas),
          fwd_fee: Number(forward),
        },
        destination_fees: [],
      });
    },
  });
}
