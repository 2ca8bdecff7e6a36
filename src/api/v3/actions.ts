import { z } from 'zod';
import { supportedTypes as expand } from '../../chain/actions/supported.ts';
import { hashKey } from '../../chain/hash.ts';
import type { ActionFilter, ActionRecord } from '../../chain/records.ts';
import type { ApiLimits } from '../limits.ts';
import { actionPage } from './action-page.ts';
import { accountsOrOne, actionTypes, addresses, amount, flag, hashes, opcodes } from './parameters.ts';
import { actionJson, actionTransactions } from './render/action.ts';
import { createBook } from './render/book.ts';
import { joinTexts } from './render/rows.ts';
import { type Asked, nextCursor, type Route, route } from './route.ts';
import { actions } from './schemas.ts';
import { traceFilter, traceParameters } from './trace-parameters.ts';
import { requireMasterchainBlock } from './transactions.ts';

/** Their actions are read together. */
const MAX_ACCOUNTS = 100;
const MAX_OPCODES = 100;

export function actionsRoute(limits: ApiLimits): Route {
  return route({
    path: '/actions',
    tag: 'actions',
    summary: 'What traces did, by account, type, transaction, message, block or time',
    parameters: z.object({
      account: accountsOrOne('Accounts that the action is found by; several are an extension.', MAX_ACCOUNTS),
      exclude_account: addresses('Leave out actions that are found by these accounts (an extension).', MAX_ACCOUNTS),
      action_id: hashes('Ids of actions.'),
      ...traceParameters(limits),
      action_type: actionTypes('action_type', 'Only actions of these types.'),
      exclude_action_type: actionTypes('exclude_action_type', 'No actions of these types.'),
      opcode: opcodes('Only calls with these opcodes (an extension).', MAX_OPCODES),
      jetton: addresses('Only actions that name one of these jetton masters (an extension).', MAX_ACCOUNTS),
      min_value: amount('Only actions that move at least so much, in the smallest units (an extension).'),
      max_value: amount('Only actions that move at most so much, in the smallest units (an extension).'),
      include_accounts: flag('Add the accounts that each action is found by.'),
      include_transactions: flag('Add the transactions of each action.'),
    }),
    response: actions,
    tagged: ['action_id', 'trace_id', 'tx_hash', 'msg_hash'],
    async answer(p, asked) {
      if (p.mc_seqno !== undefined) await requireMasterchainBlock(p.mc_seqno, asked);
      const filter: ActionFilter = {
        ...traceFilter(p),
        accounts: p.account,
        excludeAccounts: p.exclude_account,
        actionIds: p.action_id,
        types: p.action_type,
        excludeTypes: p.exclude_action_type,
        opcodes: p.opcode,
        jettons: p.jetton,
        value: { start: p.min_value, end: p.max_value },
        supported: supportedTypesOf(p.supported_action_types, asked),
      };
      const { book, testOnly, addressBook, metadata } = asked;
      const { rows, nextCursor: next } = await actionPage(filter, asked);
      // The address book has the addresses of the actions alone.
      const full = p.include_transactions
        ? await fullTransactions(rows, { ...asked, book: createBook(testOnly) })
        : null;
      const list = rows.map((action) => {
        const own = full && actionTransactions(action).flatMap((hash) => full.get(hashKey(hash)) ?? []);
        return actionJson(action, book, { accounts: p.include_accounts ?? false, full: own ?? undefined });
      });
      const extras = nextCursor(p.cursor, next);
      return joinTexts(
        '{"actions":[',
        list,
        `],"address_book":${await addressBook()},"metadata":${await metadata()}${extras}}`,
      );
    },
  });
}

/** What the client knows: by the header, or by its parameter; the newest version unless it says. */
export function supportedTypesOf(
  names: readonly string[],
  { actionsVersion }: Pick<Asked, 'actionsVersion'>,
): ReadonlySet<string> {
  if (actionsVersion !== null) return expand([actionsVersion]);
  return expand(names.length > 0 ? names : ['latest']);
}

/** JSON of all transactions of these actions, by their hashes. */
async function fullTransactions(
  rows: readonly ActionRecord[],
  { source, context, renderings, book }: Asked,
): Promise<Map<string, Buffer>> {
  const wanted = new Map(rows.flatMap(actionTransactions).map((hash) => [hashKey(hash), hash]));
  if (wanted.size === 0) return new Map();
  const filter = {
    accounts: [],
    excludeAccounts: [],
    hashes: [...wanted.values()],
    utime: {},
    ltWindow: {},
    sort: 'asc' as const,
    page: { limit: wanted.size, offset: 0 },
  };
  const found = await source.transactions(filter, context);
  return new Map(found.rows.map((record) => [hashKey(record.transaction.hash), renderings.transaction(record, book)]));
}
