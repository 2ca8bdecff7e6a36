import { z } from 'zod';
import { compareDecimal } from '../../chain/decimal.ts';
import { hashKey } from '../../chain/hash.ts';
import type { TransactionRecord } from '../../chain/records.ts';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { addresses, hashes } from './parameters.ts';
import { distinct, notStored, pendingTransactions } from './pending.ts';
import { joinRows } from './render/rows.ts';
import { type Asked, type Route, route } from './route.ts';
import { transactions } from './schemas.ts';

export function pendingTransactionsRoute(limits: ApiLimits): Route {
  return route({
    path: '/pendingTransactions',
    tag: 'blockchain',
    summary: 'Emulated transactions of messages that are in no block yet',
    parameters: z.object({
      account: addresses('Accounts of the transactions.', limits.maxAddresses),
      trace_id: hashes('Hashes of root transactions, or normalized hashes of the messages that begin the traces.'),
    }),
    response: transactions,
    live: true,
    async answer({ account: accounts, trace_id: ids }, asked) {
      if (accounts.length === 0 && ids.length === 0) throw new ApiError(422, 'at least 1 account address required');
      const { pending, book, renderings, filledAddressBook } = asked;
      const found = distinct(
        accounts.length > 0
          ? accounts.flatMap((account) => pending.byAccount(account))
          : ids.flatMap((id) => pending.byRoot(id) ?? pending.get(id) ?? []),
      );
      if (found.length === 0) throw new ApiError(404, 'emulated traces not found');
      const wanted = new Set(accounts.map(hashKey));
      const emulated = (await notStored(found, asked))
        .flatMap(pendingTransactions)
        .filter(({ finality, transaction }) => {
          return finality === 'pending' && (wanted.size === 0 || wanted.has(hashKey(transaction.account)));
        });
      const rows = (await notReceived(emulated, asked)).sort(newestFirst);
      const list = rows.map((record) => renderings.transaction(record, book));
      return joinRows('{"transactions":[', list, `],"address_book":${await filledAddressBook()}}`);
    },
  });
}

const newestFirst = ({ transaction: a }: TransactionRecord, { transaction: b }: TransactionRecord): number =>
  compareDecimal(b.lt, a.lt) || a.account.compare(b.account);

/** Without those whose message the index has as received. */
async function notReceived(
  rows: readonly TransactionRecord[],
  { source, context }: Asked,
): Promise<TransactionRecord[]> {
  const messageHashes = rows.flatMap(({ transaction: { inMsg } }) => inMsg?.hash ?? []);
  if (messageHashes.length === 0) return [...rows];
  const page = { limit: messageHashes.length, offset: 0 };
  const found = await source.transactionsByMessage({ messageHashes, direction: 'in', sort: 'asc', page }, context);
  const received = new Set(found.flatMap(({ transaction: { inMsg } }) => (inMsg ? [hashKey(inMsg.hash)] : [])));
  return rows.filter(({ transaction: { inMsg } }) => inMsg === null || !received.has(hashKey(inMsg.hash)));
}
