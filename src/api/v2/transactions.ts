/** Transactions of an account, and the way from a message to them. */
import { z } from 'zod';
import type { Address, Decimal, Hash } from '../../chain/model.ts';
import type { TransactionFilter, TransactionRecord } from '../../chain/records.ts';
import { ApiError, Refusal } from '../errors.ts';
import { address, check, given, hash, int32, int64, required, truth } from './parameters.ts';
import { rawTransaction } from './render/transaction.ts';
import { transactionId } from './render/values.ts';
import { type Asked, type Route, route } from './route.ts';
import { transaction, transactionsStd } from './schemas.ts';

const TAG = 'transactions';
const MAX_LIMIT = 1000;
const DEFAULT_LIMIT = 10;

const page = z.object({
  address: address(),
  limit: int32(`Transactions to return, at most ${MAX_LIMIT}; ${DEFAULT_LIMIT} when absent.`),
  lt: int64('Logical time of the transaction to start with, together with `hash`.'),
  hash: hash('Hash of the transaction to start with, together with `lt`.'),
  to_lt: int64('Only transactions after this logical time.'),
  archival: truth('Known for its name: all that is indexed is answered either way.'),
});
type Page = z.output<typeof page>;

interface Start {
  lt: Decimal;
  hash: Hash;
}

export function getTransactionsRoute(): Route {
  return route({
    path: '/getTransactions',
    tag: TAG,
    summary: 'Transactions of an account, the newest first',
    parameters: page,
    response: z.array(transaction),
    async answer(parameters, asked) {
      // An lt of nothing is as if absent here.
      const lt = parameters.lt === 0n ? undefined : parameters.lt;
      const { rows } = await pageOf({ ...parameters, lt }, asked);
      return `[${rows.map((row) => asked.renderings.transaction(row)).join(',')}]`;
    },
  });
}

const NOTHING_BEFORE = { lt: '0', hash: Buffer.alloc(32) };

export function getTransactionsStdRoute(): Route {
  return route({
    path: '/getTransactionsStd',
    tag: TAG,
    summary: 'Transactions of an account as nodes show them, and the one before them',
    parameters: page,
    response: transactionsStd,
    async answer(parameters, asked) {
      const { rows } = await pageOf(parameters, asked);
      const last = rows.at(-1)?.transaction;
      const before = last === undefined ? NOTHING_BEFORE : { lt: last.prevLt, hash: last.prevHash };
      return JSON.stringify({
        '@type': 'raw.transactions',
        transactions: rows.map((row) => rawTransaction(row)),
        previous_transaction_id: transactionId(before.lt, before.hash),
      });
    },
  });
}

async function pageOf(parameters: Page, { source, context }: Asked): Promise<{ rows: TransactionRecord[] }> {
  const { address: account } = required(parameters.address, 'address');
  const { limit = DEFAULT_LIMIT, lt, to_lt: toLt = 0n } = parameters;
  const startHash = given(parameters.hash);
  check(limit > 0, 'limit should be positive');
  check(limit <= MAX_LIMIT, `limit should be less or equal ${MAX_LIMIT}`);
  check((lt === undefined) === (startHash === undefined), 'lt and hash should be used together');
  check((lt ?? 0n) >= 0n, 'lt should be non-negative');
  check(toLt >= 0n, 'to_lt should be non-negative');
  const start = lt === undefined || startHash === undefined ? null : { lt: lt.toString(), hash: startHash };
  const window = { start: (toLt + 1n).toString(), end: start?.lt };
  const { rows } = await source.transactions(filterOf([account], window, limit), context);
  // Where the page begins below its lower bound the first one is not in it.
  if (start !== null && (lt ?? 0n) > toLt) checkStart(rows[0], start);
  return { rows };
}

function checkStart(first: TransactionRecord | undefined, start: Start): void {
  if (first?.transaction.lt !== start.lt) {
    throw new Refusal(500, 'LITE_SERVER_UNKNOWN: cannot locate transaction in block with specified logical time');
  }
  if (!first.transaction.hash.equals(start.hash)) {
    throw new Refusal(500, 'LITE_SERVER_UNKNOWN: transaction hash mismatch');
  }
}

function filterOf(
  accounts: Address[],
  ltWindow: { start?: Decimal; end?: Decimal | undefined },
  limit: number,
  hashes: Hash[] = [],
): TransactionFilter {
  const page = { limit, offset: 0 };
  return { accounts, excludeAccounts: [], hashes, utime: {}, ltWindow, sort: 'desc', page };
}

const message = z.object({
  source: address('Who sent the message.'),
  destination: address('Who received it.'),
  created_lt: int64('Logical time at which the message was made.'),
});

/** `tryLocateTx` and `tryLocateResultTx` find who received the message, `tryLocateSourceTx` who sent it. */
function locateRoute(path: string, end: 'in' | 'out', summary: string): Route {
  return route({
    path,
    tag: TAG,
    summary,
    parameters: message,
    response: transaction,
    async answer(parameters, asked) {
      const { source, renderings, context } = asked;
      const from = required(parameters.source, 'source').address;
      const to = required(parameters.destination, 'destination').address;
      const lt = required(parameters.created_lt, 'created_lt');
      check(lt >= 0n, 'created_lt should be non-negative');
      const window = { start: lt.toString(), end: lt.toString() };
      const found = await source.messages(
        {
          messageHashes: [],
          source: from,
          destination: to,
          utime: {},
          ltWindow: window,
          excludeExternals: true,
          onlyExternals: false,
          sort: 'asc',
          page: { limit: 1, offset: 0 },
        },
        context,
      );
      const hashOf = found.rows[0]?.[end === 'in' ? 'inTxHash' : 'outTxHash'] ?? null;
      const located = hashOf === null ? null : await source.transactions(filterOf([], {}, 1, [hashOf]), context);
      const row = located?.rows[0];
      if (row === undefined) throw new ApiError(404, 'transaction was not found');
      return renderings.transaction(row);
    },
  });
}

export function locateRoutes(): Route[] {
  return [
    locateRoute('/tryLocateTx', 'in', 'The transaction that received a message'),
    locateRoute('/tryLocateResultTx', 'in', 'The transaction that received a message'),
    locateRoute('/tryLocateSourceTx', 'out', 'The transaction that sent a message'),
  ];
}
