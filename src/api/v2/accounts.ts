/** States of accounts, at the head or as of a masterchain block. */
import { z } from 'zod';
import { Builder, parseBoc, toBoc } from '../../chain/builder.ts';
import { NoNetworkError } from '../../node/liteservers.ts';
import { type AccountState, shownStatus } from '../../state/account.ts';
import type { Step } from '../../state/steps.ts';
import { isSuspended } from '../../tvm/config.ts';
import { address, check, type GivenAddress, int32, required } from './parameters.ts';
import { addressInformation, extendedInformation, walletInformation } from './render/account.ts';
import { type Asked, type Route, route } from './route.ts';
import * as schemas from './schemas.ts';

const TAG = 'accounts';

const parameters = z.object({
  address: address(),
  seqno: int32('Masterchain block as of which the state is shown; the newest when absent.'),
});

/** The masterchain block that is asked for, the newest unless given. Throws ApiError 422 below 1. */
export async function stepOf(seqno: number | undefined, { states, context }: Asked): Promise<Step> {
  check(seqno === undefined || seqno > 0, 'seqno should be positive');
  return states.step(seqno, context);
}

export interface Found {
  given: GivenAddress;
  step: Step;
  state: AccountState;
}

async function find(sent: z.output<typeof parameters>, cells: boolean, asked: Asked): Promise<Found> {
  const given = required(sent.address, 'address');
  const step = await stepOf(sent.seqno, asked);
  return { given, step, state: await asked.states.account(given.address, step, { cells }, asked.context) };
}

/** An operation that shows an account. `cells`: with its code and data. */
function accountRoute(
  path: string,
  summary: string,
  response: z.ZodType,
  cells: boolean,
  show: (found: Found, asked: Asked) => unknown | Promise<unknown>,
): Route {
  return route({
    path,
    tag: TAG,
    summary,
    parameters,
    response,
    answer: async (sent, asked) => JSON.stringify(await show(await find(sent, cells, asked), asked)),
  });
}

/** Whether the step's configuration suspends the account; null where neither our own data nor a network has it. */
async function suspension({ given, step, state }: Found, { states, context }: Asked): Promise<boolean | null> {
  try {
    return isSuspended(await states.config(step, context), given.address, state.genUtime);
  } catch (error) {
    if (error instanceof NoNetworkError) return null;
    throw error;
  }
}

export function accountRoutes(): Route[] {
  return [
    accountRoute(
      '/getAddressInformation',
      'The state of an account with its code and data',
      schemas.addressInformation,
      true,
      async (found, asked) => addressInformation(found.state, found.step.header, await suspension(found, asked)),
    ),
    accountRoute(
      '/getExtendedAddressInformation',
      'The state of an account with what wallets of its kind keep',
      schemas.extendedInformation,
      true,
      ({ given, step, state }) => extendedInformation(given, state, step.header),
    ),
    accountRoute(
      '/getWalletInformation',
      'Whether an account is a wallet, and its numbers',
      schemas.walletInformation,
      true,
      ({ state }) => walletInformation(state),
    ),
    accountRoute('/getAddressBalance', 'The balance of an account', z.string(), false, ({ state }) => state.balance),
    accountRoute('/getAddressState', 'Whether an account is active', z.string(), false, ({ state }) =>
      shownStatus(state),
    ),
    getShardAccountCellRoute(),
  ];
}

/** `account_none$0`. */
const NO_ACCOUNT = new Builder().bit(0).cell();

/** The leaf of an account in its shard's state: `account_descr$_ account:^Account last_trans_hash last_trans_lt`. */
function getShardAccountCellRoute(): Route {
  return route({
    path: '/getShardAccountCell',
    tag: TAG,
    summary: "An account's cell as its shard's state has it, with its last transaction",
    parameters,
    response: schemas.cell,
    async answer(sent, asked) {
      const { address: account } = required(sent.address, 'address');
      const step = await stepOf(sent.seqno, asked);
      const { boc, lastTransactionHash, lastTransactionLt } = await asked.states.accountCell(
        account,
        step,
        asked.context,
      );
      const cell = new Builder()
        .ref(boc === null ? NO_ACCOUNT : parseBoc(boc))
        .bytes(lastTransactionHash)
        .big(BigInt(lastTransactionLt), 64)
        .cell();
      return JSON.stringify({ '@type': 'tvm.cell', bytes: toBoc(cell).toString('base64') });
    },
  });
}
