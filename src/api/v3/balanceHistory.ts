import { z } from 'zod';
import { LT, makeCursor, readCursor } from '../../../clickhouse/queries/keys.ts';
import { hashKey } from '../../chain/hash.ts';
import type { Address, Decimal } from '../../chain/model.ts';
import type { Bounds, QueryContext, Sort, TransactionRecord } from '../../chain/records.ts';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { address, cursor, limit, sort, uint64 } from './parameters.ts';
import { type Asked, type Route, route } from './route.ts';
import { balanceHistory } from './schemas.ts';

/** An account may have many transactions in a step, of which the last one counts: reads of one answer, and their size. */
const MOST_READ = 20;
const READ_ROWS = 1_000;
const STEP = { test: (text: string): boolean => /^\d{1,10}$/.test(text) };

/** What an account had once a step was done. */
interface Point {
  mcSeqno: number;
  /** Of the last transaction of the step. */
  lt: Decimal;
  utime: number | null;
  /** Null where the state that the transaction left was not seen. */
  balance: Decimal | null;
}

interface Asking {
  account: Address;
  ltWindow: Bounds<Decimal>;
  /** Of the window that was asked for. */
  end: Decimal | undefined;
  sort: Sort;
  limit: number;
  /** A step that was shown already. */
  shown: number | null;
}

/** Our own, not of the contract. */
export function balanceHistoryRoute(limits: ApiLimits): Route {
  return route({
    path: '/balanceHistory',
    tag: 'accounts',
    summary: 'What an account had after each step that changed it, in coins or in a jetton (an extension)',
    parameters: z.object({
      address: address('The account; with a jetton its owner.'),
      jetton: address('The master of a jetton, in place of coins.'),
      start_lt: uint64('Points with this lt or more.'),
      end_lt: uint64('Points with this lt or less.'),
      limit: limit(limits),
      sort: sort(),
      cursor: cursor(),
    }),
    response: balanceHistory,
    async answer(p, asked) {
      if (p.address === undefined) throw new ApiError(422, 'address is required');
      const place = p.cursor === undefined ? null : readCursor(p.cursor, 'balance', [LT, STEP]);
      const asking: Asking = {
        account: p.address,
        ltWindow: behind({ start: p.start_lt, end: p.end_lt }, p.sort, place?.[0]),
        end: p.end_lt,
        sort: p.sort,
        limit: p.limit,
        shown: place && Number(place[1]),
      };
      const { points, isLast } = await (p.jetton === undefined
        ? pointsOfCoins(asking, asked)
        : pointsOfJetton(asking, p.jetton, asked));
      const last = points.at(-1);
      const next = isLast || last === undefined ? null : makeCursor('balance', [last.lt, String(last.mcSeqno)]);
      return `{"points":[${points.map(pointJson).join(',')}],"next_cursor":${JSON.stringify(next)}}`;
    },
  });
}

interface Points {
  points: Point[];
  /** Nothing comes behind them. */
  isLast: boolean;
}

async function pointsOfCoins(asking: Asking, { source, context: { signal, timeoutMs } }: Asked): Promise<Points> {
  const { account, sort, limit } = asking;
  // The states are read, which forms do not show.
  const context: QueryContext = { signal, timeoutMs };
  const transactions = async (ltWindow: Bounds<Decimal>, sort: Sort, most: number): Promise<TransactionRecord[]> => {
    const page = { limit: most, offset: 0 };
    const filter = { accounts: [account], excludeAccounts: [], hashes: [], utime: {}, ltWindow, sort, page };
    return (await source.transactions(filter, context)).rows;
  };
  const { end } = asking;
  // The one at the end itself may be the first.
  const fromEnd = end === undefined ? [] : await transactions({ start: end }, 'asc', 2);
  const unended = fromEnd.find(({ transaction }) => transaction.lt !== end)?.mcSeqno;
  const points: Point[] = [];
  let { ltWindow } = asking;
  for (let read = 1; ; read++) {
    const rowsAsked = read === 1 ? limit + 1 : READ_ROWS;
    const rows = await transactions(ltWindow, sort, rowsAsked);
    for (const { transaction, mcSeqno, after } of rows) {
      // The point of this step lies behind the window.
      if (mcSeqno === unended) continue;
      const { lt, now, endStatus } = transaction;
      // Who is not there has nothing, and no state that is shown.
      const balance = endStatus === 'nonexist' ? '0' : (after?.balance ?? null);
      const point = { mcSeqno, lt, utime: now, balance };
      const before = points.at(-1)?.mcSeqno ?? asking.shown;
      // Of a step its last transaction counts, which is the first one of a descending list.
      if (before !== mcSeqno) points.push(point);
      else if (sort === 'asc' && points.length > 0) points[points.length - 1] = point;
    }
    if (points.length > limit) return { points: points.slice(0, limit), isLast: false };
    if (rows.length < rowsAsked) return { points, isLast: true };
    if (read === MOST_READ) return unfinished(points, sort);
    ltWindow = behind(asking.ltWindow, sort, rows[rows.length - 1].transaction.lt);
  }
}

/** The step of the last point of an ascending list may go on. @throws {ApiError} when that leaves none */
function unfinished(points: readonly Point[], sort: Sort): Points {
  const done = sort === 'asc' ? points.slice(0, -1) : [...points];
  if (done.length === 0) throw new ApiError(422, 'the account has too many transactions in one step');
  return { points: done, isLast: false };
}

async function pointsOfJetton(asking: Asking, jetton: Address, { source, context }: Asked): Promise<Points> {
  const { account, ltWindow, sort, limit } = asking;
  const owned = { addresses: [], owners: [account], jettons: [jetton], excludeZeroBalance: false };
  const [wallet] = await source.contracts.jettonWallets({ ...owned, page: { limit: 1, offset: 0 } }, context);
  if (wallet === undefined) return { points: [], isLast: true };
  const filter = { wallet: wallet.address, ltWindow, sort, limit: limit + 1 };
  const found = await source.contracts.jettonBalances(filter, context);
  const rows = found.slice(0, limit);
  // A balance is of the step that showed it: where the wallet was confirmed later, its transaction is of one before.
  const places = rows.map(({ lt, mcSeqno }) => ({ account: wallet.address, lt, mcSeqno, since: 0 }));
  const transactions = places.length === 0 ? [] : await source.transactionsAt(places, context);
  const times = new Map(transactions.map(({ transaction: { account, lt, now } }) => [`${hashKey(account)}${lt}`, now]));
  const points = rows.map((row) => ({ ...row, utime: times.get(`${hashKey(wallet.address)}${row.lt}`) ?? null }));
  return { points, isLast: found.length <= limit };
}

/** What of a window lies behind an lt. */
function behind({ start, end }: Bounds<Decimal>, sort: Sort, lt: Decimal | undefined): Bounds<Decimal> {
  if (lt === undefined) return { start, end };
  return sort === 'asc'
    ? { start: later(start ?? '0', String(BigInt(lt) + 1n)), end }
    : { start, end: earlier(end, String(BigInt(lt) - 1n)) };
}

const later = (a: Decimal, b: Decimal): Decimal => (BigInt(a) > BigInt(b) ? a : b);
const earlier = (a: Decimal | undefined, b: Decimal): Decimal => (a === undefined || BigInt(b) < BigInt(a) ? b : a);

function pointJson({ mcSeqno, lt, utime, balance }: Point): string {
  return `{"mc_seqno":${mcSeqno},"lt":"${lt}","utime":${utime},"balance":${balance === null ? null : `"${balance}"`}}`;
}
