import { shownStatus } from '../../state/account.ts';
import { ApiError } from '../errors.ts';
import { walletInformation } from './account-schemas.ts';
import { parameters } from './addressInformation.ts';
import { indexedState, nodeState } from './newest-state.ts';
import { hashJson } from './render/values.ts';
import { walletFields, walletOf } from './render/wallet.ts';
import { type Route, route } from './route.ts';

/** @param path `/wallet` is another name of it */
export function walletInformationRoute(path = '/walletInformation'): Route {
  return route({
    path,
    tag: 'api/v2',
    summary: 'The newest state of a wallet',
    parameters,
    response: walletInformation,
    failures: { 401: 'No address is given.', 409: 'The account is no wallet.' },
    async answer({ address: account, use_v2: asV2 = false }, asked) {
      if (account === undefined) throw new ApiError(401, 'address of account is required');
      const state = await (asV2 ? nodeState(account, asked) : indexedState(account, asked));
      const { balance, lastTransaction } = state;
      const wallet = walletOf(state.codeHash, state.data);
      const status = asV2 ? shownStatus(state) : state.status;
      if (wallet === null && status !== 'uninit' && status !== 'uninitialized') throw new ApiError(409, 'not a wallet');
      return (
        `{"balance":"${balance}"${walletFields(wallet)},"last_transaction_lt":"${lastTransaction.lt}"` +
        `,"last_transaction_hash":${hashJson(lastTransaction.hash)},"status":"${status}"}`
      );
    },
  });
}
