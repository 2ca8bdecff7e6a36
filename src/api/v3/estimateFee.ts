import { z } from 'zod';
import { isStandard, parseAddress } from '../../chain/address.ts';
import { type Cell, parseSent } from '../../chain/builder.ts';
import { DecodeError } from '../../chain/errors.ts';
import { ApiError } from '../errors.ts';
import { MOST_RUN_BYTES, running } from '../running.ts';
import { type Route, route } from './route.ts';

const text = (description: string) => z.string().optional().meta({ type: 'string', description });
const fees = z
  .object({ in_fwd_fee: z.int(), storage_fee: z.int(), gas_fee: z.int(), fwd_fee: z.int() })
  .meta({ id: 'Fees' });

function cellOf(name: string, boc: string | undefined): Cell | null {
  if (boc === undefined || boc === '') return null;
  try {
    return parseSent(Buffer.from(boc, 'base64'));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new ApiError(422, `invalid ${name}: ${error.message}`);
  }
}

export function estimateFeeRoute(): Route {
  return route({
    path: '/estimateFee',
    methods: ['POST'],
    needsBody: true,
    maxBodyBytes: MOST_RUN_BYTES,
    tag: 'api/v2',
    summary: 'Fees of an external message before it is sent',
    parameters: z.object({
      address: text('Account address: raw or user-friendly.'),
      body: text('Body of the message: a bag of cells in base64.'),
      init_code: text('Code of a contract that is deployed by the message.'),
      init_data: text('Its data.'),
      // Another default than that of v2, which is always told which by the reference.
      ignore_chksig: z
        .boolean()
        .default(false)
        .meta({ type: 'boolean', description: 'Whether every check of a signature succeeds; false when absent.' }),
    }),
    response: z.object({ source_fees: fees, destination_fees: z.array(fees) }).meta({ id: 'EstimatedFees' }),
    async answer({ address = '', body, init_code, init_data, ignore_chksig: ignoreSignatures }, asked) {
      const account = parseAddress(address);
      if (account === null || !isStandard(account)) {
        throw new ApiError(422, `invalid address: ${address.slice(0, 100)}`);
      }
      const root = cellOf('body', body);
      if (root === null) throw new ApiError(422, 'body is required');
      const [code, data] = [cellOf('init_code', init_code), cellOf('init_data', init_data)];
      if (code !== null && data === null) throw new ApiError(422, 'init_data is required beside init_code');
      const init = code === null || data === null ? null : { code, data };
      const { contracts, context } = asked;
      const { inForward, storage, gas, forward } = await running(() =>
        contracts.estimate({ address: account, body: root, init, ignoreSignatures }, context),
      );
      const [in_fwd_fee, storage_fee, gas_fee, fwd_fee] = [inForward, storage, gas, forward].map(Number);
      return JSON.stringify({ source_fees: { in_fwd_fee, storage_fee, gas_fee, fwd_fee }, destination_fees: [] });
    },
  });
}
