import { compareDecimal } from '../../clickhouse/queries/keys.ts';
import { comparePlaces, type Order, readTransactionCursor } from '../../clickhouse/queries/transactions.ts';
import type { Address, Decimal, Shard } from '../chain/model.ts';
import type { TransactionFilter } from '../chain/records.ts';
import { type Place, placeNumber, placeSeqno, placeShard, placeStep, placeTime } from './entries.ts';
import { behindPrefix, ltKey, lt as ltOf, u32Key, withLt } from './keys.ts';
import { ENOUGH, TIRED } from './merge.ts';
import { mergeOrdered, turnGroups } from './ordered.ts';
import { distinct, text } from './sides.ts';
import type { Entry } from './tables.ts';
import type { View } from './view.ts';

const NO_HASH = Buffer.alloc(0);

/** A transaction of the window by its keys. */
export interface Candidate extends Place {
  account: Address;
  lt: Decimal;
  /** Not among the keys; listings by hash do not come here. */
  hash: Buffer;
}

/** Of the place only what is asked for is decoded. A class, not a factory: no closures are made for each row of a page. */
class Row implements Candidate {
  readonly account: Address;
  readonly hash = NO_HASH;
  readonly #place: Buffer;
  readonly #key: Buffer;
  readonly #ltAt: number;
  #lt: Decimal | null = null;

  /** @param ltAt where the lt is in the key */
  constructor(place: Buffer, account: Address, key: Buffer, ltAt: number) {
    this.account = account;
    this.#place = place;
    this.#key = key;
    this.#ltAt = ltAt;
  }

  get lt(): Decimal {
    this.#lt ??= ltOf(this.#key, this.#ltAt);
    return this.#lt;
  }
  get number(): number {
    return placeNumber(this.#place);
  }
  get now(): number {
    return placeTime(this.#place);
  }
  get mcSeqno(): number {
    return placeStep(this.#place);
  }
  get shard(): Shard {
    return placeShard(this.#place);
  }
  get seqno(): number {
    return placeSeqno(this.#place);
  }
}

const MAX_LT = 2n ** 64n - 1n;
const MAX_TIME = 0xffff_ffff;

/** Inclusive bounds on the rows of a listing. */
interface Bounds {
  lt: { low: bigint; high: bigint };
  now: { low: number; high: number };
}

/** The transactions of the window that pass a filter, in the order of the listing. */
export function* transactionRows(
  view: View,
  filter: TransactionFilter,
  order: Order,
  mcSeqno: number | undefined,
): Generator<Candidate | typeof TIRED> {
  // The ranges are of the accounts asked for.
  const passes = predicateOf({ ...filter, accounts: [] }, order, mcSeqno);
  let looked = 0;
  for (const row of ordered(view, filter, order, boundsOf(view, filter, order, mcSeqno))) {
    if (++looked > ENOUGH) yield TIRED;
    if (passes(row)) yield row;
  }
}

function ordered(view: View, filter: TransactionFilter, order: Order, bounds: Bounds): Iterable<Candidate> {
  const reverse = filter.sort === 'desc';
  const accounts = distinct(filter.accounts);
  if (accounts.length > 0) {
    const sequences = accounts.map((account) => ofAccount(view, account, bounds, reverse && order !== 'account'));
    return sequences.length === 1
      ? sequences[0]
      : mergeOrdered(sequences, (a, b) => comparePlaces(a, b, order, filter.sort));
  }
  const rows = order === 'time' ? byTime(view, bounds, reverse) : byLt(view, bounds, reverse);
  // Turned round, equal lt have their accounts in descending order: the contract wants them ascending.
  if (!reverse || order === 'account') return rows;
  return turnGroups(rows, (a, b) => a.lt === b.lt && (order === 'lt' || a.now === b.now));
}

function* ofAccount(view: View, account: Address, { lt }: Bounds, reverse: boolean): Generator<Candidate> {
  const low = withLt(account, lt.low);
  const high = lt.high === MAX_LT ? behindPrefix(account) : withLt(account, lt.high + 1n);
  for (const { key, value } of view.range('transactionsByAccount', { low, high, reverse })) {
    yield new Row(value, account, key, 36);
  }
}

function* byLt(view: View, { lt }: Bounds, reverse: boolean): Generator<Candidate> {
  const high = lt.high === MAX_LT ? null : ltKey(lt.high + 1n);
  for (const { key, value } of view.range('transactionsByLt', { low: ltKey(lt.low), high, reverse })) {
    yield new Row(value, key.subarray(8, 44), key, 0);
  }
}

function* byTime(view: View, { now }: Bounds, reverse: boolean): Generator<Candidate> {
  const high = now.high >= MAX_TIME ? null : u32Key(now.high + 1);
  const found: Iterable<Entry> = view.range('transactionsByTime', { low: u32Key(now.low), high, reverse });
  for (const { key, value } of found) {
    yield new Row(value, key.subarray(12, 48), key, 4);
  }
}

function boundsOf(view: View, filter: TransactionFilter, order: Order, mcSeqno: number | undefined): Bounds {
  const lt = { low: BigInt(filter.ltWindow.start ?? 0), high: BigInt(filter.ltWindow.end ?? MAX_LT) };
  const now = { low: filter.utime.start ?? 0, high: Math.min(filter.utime.end ?? MAX_TIME, MAX_TIME) };
  const narrow = (low: bigint, high: bigint): void => {
    if (low > lt.low) lt.low = low;
    if (high < lt.high) lt.high = high;
  };
  if (filter.lt !== undefined) narrow(BigInt(filter.lt), BigInt(filter.lt));
  if (mcSeqno !== undefined) {
    const step = ltOfStep(view, mcSeqno);
    narrow(step.low, step.high);
  }
  const place = readTransactionCursor(filter.cursor, order);
  if (place && order === 'time') {
    if (filter.sort === 'desc') now.high = Math.min(now.high, Number(place[0]));
    else now.low = Math.max(now.low, Number(place[0]));
  } else if (place) {
    if (filter.sort === 'desc' && order !== 'account') narrow(0n, BigInt(place[1]));
    else narrow(BigInt(place[1]), MAX_LT);
  }
  return { lt, now };
}

/** From the start of its first block to the end of its last; an empty range for a step without blocks. */
function ltOfStep(view: View, mcSeqno: number): Bounds['lt'] {
  const range = { low: MAX_LT, high: 0n };
  for (const { header } of view.blocksOf(mcSeqno)) {
    const [start, end] = [BigInt(header.startLt), BigInt(header.endLt)];
    if (start < range.low) range.low = start;
    if (end > range.high) range.high = end;
  }
  return range;
}

/** Whether a row is among those asked for. Only what the filter names is looked at. */
export function predicateOf(
  filter: TransactionFilter,
  order: Order,
  mcSeqno: number | undefined,
): (row: Omit<Candidate, 'number'>) => boolean {
  const { accounts, excludeAccounts, workchain, shard, seqno, lt, utime, ltWindow } = filter;
  const tests: ((row: Omit<Candidate, 'number'>) => boolean)[] = [];
  const only = new Set(accounts.map(text));
  const without = new Set(excludeAccounts.map(text));
  const [start, end] = [utime.start ?? 0, utime.end ?? Number.POSITIVE_INFINITY];
  if (mcSeqno !== undefined) tests.push((row) => row.mcSeqno === mcSeqno);
  if (only.size > 0) tests.push((row) => only.has(text(row.account)));
  if (without.size > 0) tests.push((row) => !without.has(text(row.account)));
  if (workchain !== undefined) tests.push((row) => row.account.readUInt32BE(0) - 0x8000_0000 === workchain);
  if (shard !== undefined) tests.push((row) => row.shard === shard);
  if (seqno !== undefined) tests.push((row) => row.seqno === seqno);
  if (lt !== undefined) tests.push((row) => row.lt === lt);
  if (utime.start !== undefined || utime.end !== undefined) tests.push(({ now }) => now >= start && now <= end);
  if (ltWindow.start !== undefined || ltWindow.end !== undefined) tests.push((row) => isWithin(row.lt, ltWindow));
  const behind = placeBehind(filter, order);
  if (behind) tests.push((row) => comparePlaces(behind, row, order, filter.sort) < 0);
  return (row) => tests.every((test) => test(row));
}

function isWithin(lt: Decimal, { start, end }: TransactionFilter['ltWindow']): boolean {
  return (start === undefined || compareDecimal(lt, start) >= 0) && (end === undefined || compareDecimal(lt, end) <= 0);
}

/** The last row of the page before. */
function placeBehind({ cursor }: TransactionFilter, order: Order) {
  const place = readTransactionCursor(cursor, order);
  return place && { now: Number(place[0]), lt: place[1], account: Buffer.from(place[2], 'hex'), hash: NO_HASH };
}
