import { z } from 'zod';
import { readContent } from '../../chain/actions/content.ts';
import { rawAddress } from '../../chain/address.ts';
import { compareDecimal } from '../../chain/decimal.ts';
import { hashKey } from '../../chain/hash.ts';
import type { PendingActionRecord } from '../../chain/records.ts';
import { isTold } from '../../emulation/told.ts';
import { actionRecords } from '../../pending/records.ts';
import { supportedTypesOf } from './actions.ts';
import { address, flag, hashes, supportedTypes } from './parameters.ts';
import { notStored, pendingOf, pendingTransactions } from './pending.ts';
import { actionJson, actionTransactions } from './render/action.ts';
import { createBook } from './render/book.ts';
import { joinTexts } from './render/rows.ts';
import { type Route, route } from './route.ts';
import { actions } from './schemas.ts';

export function pendingActionsRoute(): Route {
  return route({
    path: '/pendingActions',
    tag: 'actions',
    summary: 'What traces do that are not complete yet',
    parameters: z.object({
      account: address('Account that the actions are found by; wins over `ext_msg_hash`.'),
      ext_msg_hash: hashes('Hashes or normalized hashes of the messages that begin the traces.'),
      supported_action_types: supportedTypes(),
      include_transactions: flag('Add the transactions of each action.'),
    }),
    response: actions,
    live: true,
    async answer({ account, ext_msg_hash: messages, supported_action_types: names, include_transactions }, asked) {
      const { book, testOnly, renderings, addressBook, metadata } = asked;
      const unlisted = createBook(testOnly);
      const known = supportedTypesOf(names, asked);
      const own = account === undefined ? null : rawAddress(account);
      const found = await notStored(await pendingOf(account, messages, asked, 'byActor'), asked);
      const rows = found
        .flatMap((one) => actionRecords(one).map((action) => ({ one, action })))
        .filter(({ action }) => isTold(action, known) && (own === null || readContent(action.content)[1].includes(own)))
        .sort((a, b) => latestFirst(a.action, b.action));
      const list = rows.map(({ one, action }) => {
        const wanted = new Set(actionTransactions(action).map(hashKey));
        const full = include_transactions
          ? pendingTransactions(one)
              .filter(({ transaction: { hash } }) => wanted.has(hashKey(hash)))
              .map((record) => renderings.transaction(record, unlisted))
          : undefined;
        return actionJson(action, book, { accounts: true, full });
      });
      return joinTexts('{"actions":[', list, `],"address_book":${await addressBook()},"metadata":${await metadata()}}`);
    },
  });
}

function latestFirst(a: PendingActionRecord, b: PendingActionRecord): number {
  return (
    compareDecimal(b.traceEndLt, a.traceEndLt) ||
    compareDecimal(b.endLt, a.endLt) ||
    compareDecimal(b.startLt, a.startLt) ||
    a.actionId.compare(b.actionId)
  );
}
