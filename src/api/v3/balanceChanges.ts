import { z } from 'zod';
import { actionTypes } from '../../chain/actions/supported.ts';
import { type Amounts, type BalanceChanges, balanceChanges, possibleWallets } from '../../chain/balance-changes.ts';
import { compareDecimal } from '../../chain/decimal.ts';
import { hashKey } from '../../chain/hash.ts';
import type { Hash, Transaction } from '../../chain/model.ts';
import { type ActionRecord, ANY_ACTION } from '../../chain/records.ts';
import { ApiError } from '../errors.ts';
import { hash } from './parameters.ts';
import { actionTransactions } from './render/action.ts';
import { TOO_LARGE } from './render/trace.ts';
import { type Asked, type Route, route } from './route.ts';
import * as schemas from './schemas.ts';
import { findTrace, transactionsOfTrace } from './traces.ts';

const UNTOLD = '{"changes":null,"fees":null,"jettons":null}';
/** Its transactions are those of another action. */
const DEPLOYMENT = 'contract_deploy';

export function balanceChangesRoute(): Route {
  return route({
    path: '/balanceChanges',
    tag: 'actions',
    summary: 'What a trace or an action changed: coins, fees and jettons by account',
    parameters: z.object({ trace_id: hash('Hash of the root transaction.'), action_id: hash('Id of an action.') }),
    response: schemas.balanceChanges,
    failures: { 400: 'Neither of the two is given.' },
    tagged: ['trace_id', 'action_id'],
    async answer({ trace_id: traceId, action_id: actionId }, asked) {
      if (traceId === undefined && actionId === undefined) {
        throw new ApiError(400, 'trace_id or action_id is required');
      }
      const action = actionId === undefined ? null : await actionOf(actionId, asked);
      if (traceId === undefined && action === null) throw new ApiError(404, 'action_id not found');
      const id = traceId ?? action?.traceId;
      const trace = id && (await findTrace({ traceIds: [id] }, asked));
      if (!trace) throw new ApiError(404, 'trace not found');
      if (actionId !== undefined && !(action?.traceId.equals(trace.traceId) && action.type !== DEPLOYMENT)) {
        return UNTOLD;
      }
      const records = await transactionsOfTrace(trace, asked);
      if (records === null) throw new ApiError(422, TOO_LARGE);
      const all = records.map(({ transaction }) => transaction);
      return changesJson(await changesOf(all, action === null ? all : transactionsOf(action, all), asked));
    },
  });
}

/** Of any type, those that are shown as a part of another one included. */
async function actionOf(actionId: Hash, { source, context }: Asked): Promise<ActionRecord | null> {
  const { rows } = await source.actions(
    {
      ...ANY_ACTION,
      actionIds: [actionId],
      types: [...actionTypes],
      supported: new Set(),
      sort: 'asc',
      page: { limit: 1, offset: 0 },
    },
    context,
  );
  return rows[0] ?? null;
}

/** What an action changed: its first transaction only sends, unless the action begins with an external message. */
function transactionsOf(action: ActionRecord, all: readonly Transaction[]): Transaction[] {
  const hashes = new Set(actionTransactions(action).map(hashKey));
  const own = all
    .filter((transaction) => hashes.has(hashKey(transaction.hash)))
    .sort((a, b) => compareDecimal(a.lt, b.lt));
  return own[0]?.inMsg?.source ? own.slice(1) : own;
}

async function changesOf(
  all: readonly Transaction[],
  counted: readonly Transaction[],
  { source, context }: Asked,
): Promise<BalanceChanges> {
  const possible = possibleWallets(counted);
  const none = { items: [], collections: [], masters: [] };
  const { wallets } =
    possible.length === 0 ? { wallets: [] } : await source.contracts.tokens({ ...none, wallets: possible }, context);
  const known = new Map(wallets.map((wallet) => [hashKey(wallet.address), wallet]));
  return balanceChanges(all, counted, (account) => known.get(hashKey(account)) ?? null);
}

/** Coins as JSON numbers of any size, jettons as texts (schema `BalanceChangesResult`). */
function changesJson({ changes, fees, jettons }: BalanceChanges): string {
  const byOwner = members(jettons, (amounts) => `{${members(amounts, (amount) => `"${amount}"`)}}`);
  return `{"changes":{${coins(changes)}},"fees":{${coins(fees)}},"jettons":{${byOwner}}}`;
}

function coins(amounts: Amounts): string {
  return members(amounts, String);
}

function members<T>(map: ReadonlyMap<string, T>, print: (value: T) => string): string {
  const entries = [...map].sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([key, value]) => `"${key}":${print(value)}`).join(',');
}
