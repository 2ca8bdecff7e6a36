import { compareDecimal } from '../../src/chain/decimal.ts';
import type { BlockId, Hash, Transaction } from '../../src/chain/model.ts';
import type {
  KnownState,
  TracePlace as Place,
  QueryContext,
  Rows,
  Sort,
  StoredBytes,
  TransactionFilter,
  TransactionRecord,
  TransactionsByMessageFilter,
} from '../../src/chain/records.ts';
import { storedTransaction } from '../../src/chain/stored.ts';
import { bytes, list, u32, u64 } from '../literal.ts';
import type { RowReader } from '../rowbinary.ts';
import { decodeStates } from '../states.ts';
import { blocks as blockTable } from '../tables/blocks.ts';
import { hashOrNone, NO_LT } from '../tables/columns.ts';
import { messages as messageTable } from '../tables/messages.ts';
import type { Row } from '../tables/table.ts';
import { transactions as transactionTable } from '../tables/transactions.ts';
import { all, asked, askedNumber, BY_KEY, behind, type ConditionOn, limits, type Sorted, where } from './conditions.ts';
import {
  addressesOf,
  BadCursor,
  direction,
  HEX32,
  HEX36,
  hashes,
  LT,
  makeCursor,
  readCursor,
  TIME,
  workchainOf,
} from './keys.ts';
import { type MessageSelection, messageConditions, messageKeys } from './messages.ts';
import { pageEnd } from './page-end.ts';
import { collect, type Reading } from './reading.ts';
import type { StepSpan, Steps } from './steps.ts';

export type { Place };

export const COLUMNS = 'account, mc_seqno, shard, seqno, trace_id, external_hash, global_version, states, payload';

/**
 * By lt; by time, then lt; by hash; or one lt, by account (spec v3 endpoints 2.5). `text` is what the reference does
 * with an empty `hash=`: no filter, ordered by the printed hash, which no key table serves.
 */
export type Order = 'lt' | 'time' | 'hash' | 'text' | 'account';

export type TransactionQueries = ReturnType<typeof transactionQueries>;

export function transactionQueries(reading: Reading, steps: Steps) {
  /** The transactions of these keys (a subquery of account and lt). */
  async function byKeys(keys: string, label: string, context: QueryContext): Promise<TransactionRecord[]> {
    const sql = `SELECT ${COLUMNS} FROM transactions WHERE (account, lt) IN (${keys})`;
    return collect(await reading.rows(sql, label, context), readTransaction);
  }

  /**
   * The transactions of these keys (a query of account, lt and mc_seqno), asked for in two queries: the second knows
   * the steps, which spares it all parts of the table from other times. For a page of 100 over nine parts 15 ms of
   * server CPU, against 22 ms for one query with a subquery (`npm run bench:api`).
   */
  async function byPlaces(places: string, label: string, context: QueryContext): Promise<TransactionRecord[]> {
    return transactionsAt(collect(await reading.rows(places, label, context), readPlace), context, label);
  }

  /** The transactions at these places, in no order. */
  async function transactionsAt(
    places: readonly Place[],
    context: QueryContext,
    label = 'transactions by place',
  ): Promise<TransactionRecord[]> {
    if (places.length === 0) return [];
    const first = Math.min(...places.map(({ since, mcSeqno }) => since ?? mcSeqno));
    const last = Math.max(...places.map(({ mcSeqno }) => mcSeqno));
    const keys = places.map(({ account, lt }) => `(${bytes(account)}, ${u64(lt)})`);
    const sql = `SELECT ${COLUMNS} FROM transactions WHERE (account, lt) IN ${list(keys)}
      AND mc_seqno BETWEEN ${first} AND ${last} SETTINGS ${BY_KEY}`;
    return collect(await reading.rows(sql, label, context), readTransaction);
  }

  /** Of the step that a filter names, null where there is none; undefined when it names none. */
  async function spanOf({ mcSeqno }: TransactionFilter, context: QueryContext): Promise<StepSpan | null | undefined> {
    if (mcSeqno === undefined) return undefined;
    return mcSeqno < 0 || mcSeqno > reading.head.seqno ? null : steps.spanOf(mcSeqno, context);
  }

  return {
    transactionsAt,

    async transactions(filter: TransactionFilter, context: QueryContext): Promise<Rows<TransactionRecord>> {
      const order = orderOf(filter);
      const span = await spanOf(filter, context);
      if (span === null) return { rows: [], nextCursor: null };
      const conditions = conditionsOf(filter, order, reading.head.seqno, span);
      const orderBy = orderText(order, filter);
      let found: TransactionRecord[];
      if (filter.accounts.length > 0 || filter.hashes.length > 0 || order === 'text') {
        const sql = `SELECT ${COLUMNS} FROM transactions WHERE ${conditions} ORDER BY ${orderBy} ${limits(filter.page)}`;
        found = collect(await reading.rows(sql, 'transactions', context), readTransaction);
      } else {
        const table = order === 'time' ? 'transactions_by_time' : 'transactions_by_lt';
        const bounded = all([conditions, ...pageBound(filter, order, table, conditions)]);
        const places = `SELECT account, lt, mc_seqno FROM ${table} WHERE ${bounded} ORDER BY ${orderBy} ${limits(filter.page)}`;
        found = await byPlaces(places, 'transactions', context);
      }
      found.sort((a, b) => compare(a, b, order, filter.sort));
      return { rows: found, nextCursor: nextTransactions(found, filter, order) };
    },

    async transactionsByMessage(
      filter: TransactionsByMessageFilter,
      context: QueryContext,
    ): Promise<TransactionRecord[]> {
      const order = `lt ${direction(filter.sort)}, account`;
      const places = `SELECT account, lt, any(mc_seqno) FROM (${messageSides(filter, reading.head.seqno)}) GROUP BY account, lt ORDER BY ${order} ${limits(filter.page)}`;
      const found = await byPlaces(places, 'transactions by message', context);
      return found.sort((a, b) => compare(a, b, 'lt', filter.sort));
    },

    async adjacentTransactions(
      hash: Hash,
      side: 'in' | 'out' | undefined,
      context: QueryContext,
    ): Promise<TransactionRecord[]> {
      const head = reading.head.seqno;
      const itself = `SELECT account, lt FROM transactions_by_hash WHERE hash = ${bytes(hash)}`;
      const [center] = (await byKeys(itself, 'adjacent transactions', context)).filter((row) => row.mcSeqno <= head);
      if (!center) return [];
      const places = neighbours(center, side, head);
      if (places.length === 0) return [];
      const found = await byPlaces(places.join(' UNION ALL '), 'adjacent transactions', context);
      return found.sort((a, b) => compare(a, b, 'lt', 'asc'));
    },
  };
}

export function orderOf(filter: TransactionFilter): Order {
  if (filter.lt !== undefined) return 'account';
  if (filter.hashes.length > 0) return 'hash';
  if (filter.emptyHash) return 'text';
  const usesTime = filter.utime.start !== undefined || filter.utime.end !== undefined;
  return usesTime && filter.mcSeqno === undefined ? 'time' : 'lt';
}

function orderText(order: Order, filter: TransactionFilter): string {
  const way = direction(filter.sort);
  if (order === 'hash') return `hash ${way}`;
  if (order === 'text') return `base64Encode(hash) ${way}`;
  if (order === 'account') return `lt ASC, account ${way}`;
  // An account's transactions have ascending lt and time alike, so its primary key order serves both.
  if (filter.accounts.length === 1) return `lt ${way}`;
  return order === 'time' ? `now ${way}, lt ${way}, account` : `lt ${way}, account`;
}

/** The cursor behind a page; null when it was the last, and in the order of an empty hash. */
export function nextTransactions(
  rows: readonly TransactionRecord[],
  { page }: TransactionFilter,
  order: Order,
): string | null {
  const last = rows.length < page.limit ? undefined : rows[rows.length - 1];
  return last && order !== 'text' ? cursorOf(last, order) : null;
}

/** What the orders look at. */
export type Ordered = Pick<Transaction, 'account' | 'lt' | 'now' | 'hash'>;

/** For what an order does not look at. */
export const NOWHERE: Ordered = { account: Buffer.alloc(0), lt: '0', now: 0, hash: Buffer.alloc(0) };

function compare(a: TransactionRecord, b: TransactionRecord, order: Order, sort: Sort): number {
  return comparePlaces(a.transaction, b.transaction, order, sort);
}

export function comparePlaces(x: Ordered, y: Ordered, order: Order, sort: Sort): number {
  const sign = sort === 'asc' ? 1 : -1;
  if (order === 'hash') return sign * x.hash.compare(y.hash);
  if (order === 'text') return sign * (x.hash.toString('base64') < y.hash.toString('base64') ? -1 : 1);
  const byAccount = x.account.compare(y.account);
  if (order === 'account') return compareDecimal(x.lt, y.lt) || sign * byAccount;
  const byLt = sign * compareDecimal(x.lt, y.lt) || byAccount;
  return order === 'time' ? sign * (x.now - y.now) || byLt : byLt;
}

type Conditions = ConditionOn<typeof transactionTable>[];

/** What a filter asks of transactions. */
export function transactionConditions(filter: TransactionFilter): Conditions {
  const { accounts, excludeAccounts, hashes: wanted, workchain, shard, seqno, mcSeqno, lt, utime, ltWindow } = filter;
  return [
    { column: 'now', from: utime.start, to: utime.end },
    { column: 'lt', from: ltWindow.start, to: ltWindow.end },
    ...(accounts.length > 0 ? [{ column: 'account', in: accounts } as const] : []),
    { column: 'account', notIn: excludeAccounts },
    ...(wanted.length > 0 ? [{ column: 'hash', in: wanted } as const] : []),
    ...asked('lt', lt),
    ...askedNumber('mcSeqno', mcSeqno),
    ...(workchain === undefined ? [] : [{ column: 'account', ...addressesOf(workchain) } as const]),
    ...asked('shard', shard),
    ...askedNumber('seqno', seqno),
  ];
}

/** With what finds them fast: keys by hash, and the logical times of the blocks that are named. */
function conditionsOf(filter: TransactionFilter, order: Order, head: number, span: StepSpan | undefined): string {
  const { hashes: wanted, workchain, shard, seqno } = filter;
  const conditions = [where(transactionTable, [{ column: 'mcSeqno', to: head }, ...transactionConditions(filter)])];
  if (wanted.length > 0) {
    conditions.push(`(account, lt) IN (SELECT account, lt FROM transactions_by_hash WHERE hash IN ${hashes(wanted)})`);
  }
  if (span) conditions.push(where(transactionTable, [{ column: 'lt', from: span.startLt, to: span.endLt }]));
  if (workchain !== undefined && shard !== undefined) {
    const id = [...asked('workchain', workchain), ...asked('shard', shard)];
    const block = seqno === undefined || seqno < 0 ? [] : asked('seqno', seqno);
    conditions.push(...inLtOf(`blocks_by_id WHERE ${where(blockTable, [...id, ...block])}`));
  }
  const place = cursorPlace(filter.cursor, order);
  if (place) conditions.push(behindPlace(place, order, filter.sort));
  return all(conditions);
}

/**
 * Where a descending page ends, as a bound on the first column of the order. Its ties are in ascending order of the
 * account, against the order of the table, which would be read to its end: 18 ms of server CPU for the latest 100 of
 * half a million, 6 ms with the bound. A block's transactions are few anyway.
 */
function pageBound(filter: TransactionFilter, order: Order, table: string, conditions: string): string[] {
  if (filter.sort !== 'desc' || filter.mcSeqno !== undefined || filter.seqno !== undefined) return [];
  if (order !== 'lt' && order !== 'time') return [];
  return [pageEnd({ from: `FROM ${table} WHERE ${conditions}`, by: order === 'time' ? 'now' : 'lt' }, filter)];
}

/** The logical times of some blocks bound those of their transactions, and lt is the key. */
function inLtOf(blocks: string): string[] {
  return [`lt >= (SELECT min(start_lt) FROM ${blocks})`, `lt <= (SELECT max(end_lt) FROM ${blocks})`];
}

/** The place that a cursor of transactions names, for `comparePlaces`; null at the beginning. @throws {BadCursor} */
export function cursorPlace(cursor: string | undefined, order: Order): Ordered | null {
  if (cursor && order === 'text') throw new BadCursor('a listing by an empty hash has no cursor: use offset');
  const values = readCursor(cursor ?? '', order, order === 'hash' ? [HEX32] : [TIME, LT, HEX36]);
  if (values === null) return null;
  if (order === 'hash') return { ...NOWHERE, hash: Buffer.from(values[0], 'hex') };
  const [time, lt, account] = values;
  return { ...NOWHERE, now: Number(time), lt, account: Buffer.from(account, 'hex') };
}

function behindPlace({ now, lt, account, hash }: Ordered, order: Order, sort: Sort): string {
  if (order === 'hash') return behind(transactionTable, [{ column: 'hash', sort }], [hash]);
  const sorted: Sorted<Row<typeof transactionTable>>[] = [
    { column: 'now', sort },
    { column: 'lt', sort: order === 'account' ? 'asc' : sort },
    { column: 'account', sort: order === 'account' ? sort : 'asc' },
  ];
  const place = [now, lt, account];
  const skipped = order === 'time' ? 0 : 1;
  return behind(transactionTable, sorted.slice(skipped), place.slice(skipped));
}

function cursorOf({ transaction }: TransactionRecord, order: Order): string {
  if (order === 'hash') return makeCursor(order, [transaction.hash.toString('hex')]);
  return makeCursor(order, [String(transaction.now), transaction.lt, transaction.account.toString('hex')]);
}

/** Accounts, logical times and steps of the transactions that received or sent the messages asked for. */
export function messageSides(
  filter: MessageSelection & { direction?: 'in' | 'out' | undefined },
  head: number,
): string {
  const { messageHashes, bodyHash, opcode, source, destination } = filter;
  const side = opcode === undefined ? filter.direction : filter.direction === 'out' ? 'none' : 'in';
  const alone =
    messageHashes.length === 0 && bodyHash === undefined && source === undefined && destination === undefined;
  if (opcode !== undefined && alone) {
    const none = side === 'none' ? ' AND 0' : '';
    return `SELECT account, lt, mc_seqno FROM transactions_by_lt WHERE in_opcode = ${u32(opcode)} AND mc_seqno <= ${head}${none}`;
  }
  const conditions = messageConditions({ messageHashes, bodyHash, opcode, source, destination });
  const keys = messageKeys({ messageHashes, bodyHash, source, destination });
  const selected = all([where(messageTable, conditions), ...(keys ? [keys] : [])]);
  const received = `SELECT destination AS account, in_lt AS lt, in_mc_seqno AS mc_seqno FROM messages WHERE ${selected} AND in_mc_seqno BETWEEN 1 AND ${head}`;
  // A row of a message tells of the last time that it was received: one from outside may have been before.
  const external = `SELECT hash FROM messages WHERE ${selected} AND created_lt = ${NO_LT}`;
  const again = `SELECT account, lt, mc_seqno FROM transactions_by_external WHERE external_hash IN (${external}) AND mc_seqno <= ${head}`;
  const sent = `SELECT source AS account, out_lt AS lt, out_mc_seqno AS mc_seqno FROM messages WHERE ${selected} AND out_mc_seqno BETWEEN 1 AND ${head}`;
  if (side === 'none') return `${sent} AND 0`;
  if (side === 'out') return sent;
  return [received, again, ...(side === 'in' ? [] : [sent])].join(' UNION ALL ');
}

/** The sender of the in-message and the receivers of the out-messages (spec v3 semantics 2.5). */
function neighbours({ transaction }: TransactionRecord, side: 'in' | 'out' | undefined, head: number): string[] {
  const places: string[] = [];
  const { inMsg, outMsgs } = transaction;
  const key = (message: { createdLt: string | null; hash: Hash }) =>
    `(${u64(message.createdLt ?? '0')}, ${bytes(message.hash)})`;
  if (side !== 'out' && inMsg?.kind === 'internal') {
    places.push(
      `SELECT source, out_lt, out_mc_seqno FROM messages WHERE (created_lt, hash) IN ${list([key(inMsg)])} AND out_mc_seqno BETWEEN 1 AND ${head}`,
    );
  }
  const children = outMsgs.filter((message) => message.kind === 'internal');
  if (side !== 'in' && children.length > 0) {
    places.push(
      `SELECT destination, in_lt, in_mc_seqno FROM messages WHERE (created_lt, hash) IN ${list(children.map(key))} AND in_mc_seqno BETWEEN 1 AND ${head}`,
    );
  }
  return places;
}

function readPlace(rows: RowReader): Place {
  return { account: rows.fixed(36), lt: rows.u64(), mcSeqno: rows.u32() };
}

export function readTransaction(rows: RowReader): TransactionRecord {
  const workchain = workchainOf(rows.fixed(36));
  const mcSeqno = rows.u32();
  const shard = readShard(rows);
  const seqno = rows.u32();
  const traceId = rows.fixed(32);
  const externalHash = hashOrNone.read(rows);
  const globalVersion = rows.u8();
  return storedRecord(
    { workchain, shard, seqno, mcSeqno, traceId, externalHash, globalVersion },
    rows.bytes(),
    rows.bytes(),
  );
}

/** Where a stored transaction stands. */
export interface StoredPlace extends BlockId {
  mcSeqno: number;
  traceId: Hash;
  externalHash: Hash | null;
  globalVersion: number;
  /** Where it is at hand. */
  hash?: Hash;
}

/**
 * A record of stored bytes, of which nothing is decoded that is not asked for: a page is sorted by its places.
 * @param transaction where it is decoded already
 */
export function storedRecord(
  place: StoredPlace,
  states: Buffer,
  payload: Buffer,
  transaction: Transaction = storedTransaction(payload, place.workchain, place.hash),
): TransactionRecord {
  return new StoredRecord(place, { payload, states }, transaction);
}

/** A class, not a literal: with getters the engine makes the hidden class of each literal anew. */
class StoredRecord implements TransactionRecord {
  readonly transaction: Transaction;
  readonly block: BlockId;
  readonly mcSeqno: number;
  readonly traceId: Hash;
  readonly externalHash: Hash | null;
  readonly globalVersion: number;
  readonly stored: StoredBytes;
  #sides: ReturnType<typeof decodeStates> | null = null;

  constructor(place: StoredPlace, stored: StoredBytes, transaction: Transaction) {
    const { workchain, shard, seqno } = place;
    this.transaction = transaction;
    this.block = { workchain, shard, seqno };
    this.mcSeqno = place.mcSeqno;
    this.traceId = place.traceId;
    this.externalHash = place.externalHash;
    this.globalVersion = place.globalVersion;
    this.stored = stored;
  }

  get before(): KnownState | null {
    this.#sides ??= decodeStates(this.stored.states);
    return shown(this.#sides.before);
  }
  get after(): KnownState | null {
    this.#sides ??= decodeStates(this.stored.states);
    return shown(this.#sides.after);
  }
}

/** Of an account that is not there nothing is shown but the hash, as the reference does. */
export function shown(state: KnownState | null): KnownState | null {
  return state?.status === 'nonexist' ? null : state;
}

/** Int64 as stored is the sixteen hex digits in reverse byte order. */
function readShard(rows: RowReader): string {
  return Buffer.from(rows.fixed(8)).reverse().toString('hex');
}
