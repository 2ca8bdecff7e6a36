import { z } from 'zod';
import { shownStatus } from '../../state/account.ts';
import { ApiError } from '../errors.ts';
import { addressInformation } from './account-schemas.ts';
import { indexedState, nodeState } from './newest-state.ts';
import { address, flag } from './parameters.ts';
import { hashJson } from './render/values.ts';
import { type Route, route } from './route.ts';

export const parameters = z.object({
  address: address('The account.'),
  use_v2: flag('Whether to answer as v2 does, with its names; false when absent.'),
});

/** @param path `/account` is another name of it */
export function addressInformationRoute(path = '/addressInformation'): Route {
  return route({
    path,
    tag: 'api/v2',
    summary: 'The newest state of an account',
    parameters,
    response: addressInformation,
    failures: { 401: 'No address is given.' },
    async answer({ address: account, use_v2: asV2 = false }, asked) {
      if (account === undefined) throw new ApiError(401, 'address of account is required');
      const state = await (asV2 ? nodeState(account, asked) : indexedState(account, asked));
      const { balance, code, data, lastTransaction, frozenHash } = state;
      const status = asV2 ? shownStatus(state) : state.status;
      return (
        `{"balance":"${balance}","code":${bocOrNull(code)},"data":${bocOrNull(data)}` +
        `,"last_transaction_lt":"${lastTransaction.lt}","last_transaction_hash":${hashJson(lastTransaction.hash)}` +
        `,"frozen_hash":${asV2 ? bocOrNull(frozenHash) : null},"status":"${status}"}`
      );
    },
  });
}

function bocOrNull(bytes: Buffer | null): string {
  return bytes === null ? 'null' : `"${bytes.toString('base64')}"`;
}
