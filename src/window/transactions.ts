import {
  comparePlaces,
  nextTransactions,
  type Order,
  orderOf,
  type Place,
  readTransactionCursor,
} from '../../clickhouse/queries/transactions.ts';
import type { Hash, Message, Transaction } from '../chain/model.ts';
import type {
  QueryContext,
  Rows,
  TransactionFilter,
  TransactionRecord,
  TransactionsByMessageFilter,
} from '../chain/records.ts';
import type { Side, StoredMessage } from './entries.ts';
import { accountLtKey, blockIdKey } from './keys.ts';
import { listedTransaction } from './listed.ts';
import { mergePage, WHOLE } from './merge.ts';
import { messageKeyOf } from './message-keys.ts';
import { messagesByHash } from './message-rows.ts';
import { distinct, type Sides, text } from './sides.ts';
import { type Candidate, predicateOf, transactionRows } from './transaction-rows.ts';
import type { View } from './view.ts';

export async function transactions(filter: TransactionFilter, sides: Sides): Promise<Rows<TransactionRecord>> {
  const { view, below, whole, context } = sides;
  const order = orderOf(filter);
  // Which step it is in decides who answers; -1 stands for none of the window's.
  const step = stepOf(filter, view);
  if (order === 'text') return whole.transactions(filter, context);
  if (order === 'hash' || filter.hashes.length > 0) return byHashes(filter, order, sides);
  if (step === 'below') return below.transactions(filter, context);
  const found = await mergePage({
    rows: transactionRows(view, filter, order, step),
    ahead: (row) => view.below === null || isAhead(row, order, view.below),
    needsTables: step === undefined && reachesBelow(filter, order, view),
    sort: order === 'account' ? 'asc' : filter.sort,
    page: filter.page,
    load: (row) => listed(view, row, context),
    fetch: async (page) => (await below.transactions({ ...filter, page }, context)).rows,
    compare: (row, { transaction }) => comparePlaces(row, transaction, order, filter.sort),
  });
  if (found === WHOLE) return whole.transactions(filter, context);
  return { rows: found, nextCursor: nextTransactions(found, filter, order) };
}

/** All of it, or what is shown of it where that is enough. */
function listed(view: View, row: Candidate, { formsSuffice }: QueryContext): TransactionRecord {
  const form = formsSuffice ? view.form(row.number) : null;
  return form ? listedTransaction(view, row, form) : view.transaction(row.number);
}

/** A transaction that is named: read whole, and with its form. */
function named(view: View, number: number): TransactionRecord {
  const form = view.form(number);
  const record = view.transaction(number);
  return form ? Object.assign(record, { form }) : record;
}

/** The one step of the window that a filter names, by itself or by a block; `below` when what it names is not here. */
function stepOf(filter: TransactionFilter, view: View): number | 'below' | undefined {
  const { mcSeqno, workchain, shard, seqno } = filter;
  if (mcSeqno !== undefined) return mcSeqno < view.first ? 'below' : mcSeqno;
  if (workchain === undefined || shard === undefined || seqno === undefined) return undefined;
  if (seqno < 0) return 'below';
  return view.blockKeyById(blockIdKey({ workchain, shard, seqno }))?.readUInt32BE(0) ?? 'below';
}

function isAhead(row: { lt: string; now: number }, order: Order, { lt, utime }: NonNullable<View['below']>): boolean {
  return order === 'time' ? row.now > utime : BigInt(row.lt) > lt;
}

/** Whether a row below the window could pass the filter. */
function reachesBelow(filter: TransactionFilter, order: Order, { below }: View): boolean {
  if (below === null) return false;
  const { ltWindow, utime, lt, sort } = filter;
  if (utime.start !== undefined && utime.start > below.utime) return false;
  const start = lt ?? ltWindow.start;
  if (start !== undefined && BigInt(start) > below.lt) return false;
  const place = readTransactionCursor(filter.cursor, order);
  if (place === null || (sort === 'desc' && order !== 'account')) return true;
  return order === 'time' ? Number(place[0]) <= below.utime : BigInt(place[1]) <= below.lt;
}

/** A hash is of one transaction: what the window does not have is asked of the tables, and nothing else. */
async function byHashes(filter: TransactionFilter, order: Order, sides: Sides): Promise<Rows<TransactionRecord>> {
  const { view, below, context } = sides;
  const passes = predicateOf(filter, order, filter.mcSeqno);
  // Beside their hashes, which are told here and decoded there.
  const here: { hash: Hash; record: TransactionRecord }[] = [];
  const missing: Hash[] = [];
  for (const hash of distinct(filter.hashes)) {
    const number = view.numberOf(hash);
    if (number === null) missing.push(hash);
    else {
      const record = named(view, number);
      if (passes(placedBy(record, hash))) here.push({ hash, record });
    }
  }
  if (missing.length > 0) {
    const page = { limit: missing.length, offset: 0 };
    const { rows } = await below.transactions({ ...filter, hashes: missing, page }, context);
    here.push(...rows.map((record) => ({ hash: record.transaction.hash, record })));
  }
  if (order === 'hash') here.sort((a, b) => (filter.sort === 'asc' ? 1 : -1) * a.hash.compare(b.hash));
  else here.sort((a, b) => comparePlaces(a.record.transaction, b.record.transaction, order, filter.sort));
  const { offset, limit } = filter.page;
  const rows = here.slice(offset, offset + limit).map(({ record }) => record);
  return { rows, nextCursor: nextTransactions(rows, filter, order) };
}

/** What filters look at. */
function placedBy({ transaction, block, mcSeqno }: TransactionRecord, hash: Hash) {
  const { account, lt, now } = transaction;
  return { account, lt, now, hash, mcSeqno, shard: block.shard, seqno: block.seqno };
}

export async function transactionsByMessage(
  filter: TransactionsByMessageFilter,
  sides: Sides,
): Promise<TransactionRecord[]> {
  const { view, whole, context } = sides;
  const messages = messagesByHash(view, filter);
  if (messages === null) return whole.transactionsByMessage(filter, context);
  const side = filter.opcode === undefined ? filter.direction : filter.direction === 'out' ? 'none' : 'in';
  const places = messages.flatMap(({ source, destination, sent, received }) => [
    ...(side === 'out' || side === undefined ? placeOf(source, sent) : []),
    ...(side === 'in' || side === undefined ? placeOf(destination, received) : []),
  ]);
  const found = await atPlaces(places, sides);
  found.sort((a, b) => comparePlaces(a.transaction, b.transaction, 'lt', filter.sort));
  return found.slice(filter.page.offset, filter.page.offset + filter.page.limit);
}

export async function adjacentTransactions(
  hash: Hash,
  direction: 'in' | 'out' | undefined,
  sides: Sides,
): Promise<TransactionRecord[]> {
  const { view, whole, context } = sides;
  const number = view.numberOf(hash);
  if (number === null) return whole.adjacentTransactions(hash, direction, context);
  const { transaction } = view.transaction(number);
  const neighbours = linksOf(transaction, direction, view);
  if (neighbours === null) return whole.adjacentTransactions(hash, direction, context);
  const found = await atPlaces(neighbours, sides);
  return found.sort((a, b) => comparePlaces(a.transaction, b.transaction, 'lt', 'asc'));
}

/** The sender of the in-message and the receivers of the out-messages (spec v3 semantics 2.5). */
function linksOf(transaction: Transaction, direction: 'in' | 'out' | undefined, view: View): Place[] | null {
  const { inMsg, outMsgs } = transaction;
  const places: Place[] = [];
  const read = (message: Message): StoredMessage | null => view.message(messageKeyOf(message));
  if (direction !== 'out' && inMsg?.kind === 'internal') {
    const message = read(inMsg);
    if (message === null) return null;
    places.push(...placeOf(message.source, message.sent));
  }
  for (const outMsg of direction === 'in' ? [] : outMsgs) {
    if (outMsg.kind !== 'internal') continue;
    const message = read(outMsg);
    if (message === null) return null;
    places.push(...placeOf(message.destination, message.received));
  }
  return places;
}

function placeOf(account: Buffer, { mcSeqno, lt }: Side): Place[] {
  return mcSeqno === 0 ? [] : [{ account, lt, mcSeqno }];
}

/** Each transaction once, from where it is. */
async function atPlaces(places: readonly Place[], { view, below, context }: Sides): Promise<TransactionRecord[]> {
  const found: TransactionRecord[] = [];
  const missing: Place[] = [];
  const once = new Map(places.map((place) => [text(accountLtKey(place.account, place.lt)), place]));
  for (const place of once.values()) {
    const number = view.numberAt(accountLtKey(place.account, place.lt));
    if (number !== null) found.push(named(view, number));
    else missing.push(place);
  }
  return missing.length === 0 ? found : [...found, ...(await below.transactionsAt(missing, context))];
}
