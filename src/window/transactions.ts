import {
  comparePlaces,
  cursorPlace,
  NOWHERE,
  nextTransactions,
  type Order,
  type Ordered,
  orderOf,
  transactionConditions,
} from '../../clickhouse/queries/transactions.ts';
import { distinct, hashKey } from '../chain/hash.ts';
import type { Address, Decimal, Hash, Message, Transaction } from '../chain/model.ts';
import type {
  TracePlace as Place,
  Rows,
  Sort,
  TransactionFilter,
  TransactionRecord,
  TransactionsByMessageFilter,
} from '../chain/records.ts';
import { Candidate } from './candidate.ts';
import { stepOf } from './chunk.ts';
import { columnOf, layoutOf } from './kind.ts';
import { blockKind, transactionKind } from './kinds.ts';
import { listedTransaction } from './listed.ts';
import { listPage, pageOf, WHOLE } from './listing.ts';
import { endsByHash, messageAt } from './messages.ts';
import { transactionOf } from './rows.ts';
import { Selected, type Selection } from './select.ts';
import type { Sides } from './sides.ts';
import type { Found, View } from './view.ts';

const CLOCKS = { lt: 'lt', now: 'utime' } as const;
const NO_TRANSACTIONS: Rows<TransactionRecord> = { rows: [], nextCursor: null };
const BY_HASH = layoutOf(transactionKind, 'hash');
const BY_ACCOUNT = layoutOf(transactionKind, 'account');
const BLOCK_ID = layoutOf(blockKind, 'id');

export async function transactions(filter: TransactionFilter, sides: Sides): Promise<Rows<TransactionRecord>> {
  const { view, below, whole, context } = sides;
  const order = orderOf(filter);
  if (order === 'text') return whole.transactions(filter, context);
  if (order === 'hash' || filter.hashes.length > 0) return byHashes(filter, order, sides);
  // Which step it is in decides who answers.
  const step = stepNamed(filter, view);
  if (step === 'below') return view.below === null ? NO_TRANSACTIONS : below.transactions(filter, context);
  const listing = {
    kind: transactionKind,
    selection: {
      where: transactionConditions(filter),
      order: orderBy(order, filter.sort),
      after: afterOf(filter.cursor, order),
    },
    page: filter.page,
    load(row: Candidate) {
      // All of it, or what is shown of it where that is enough.
      const form = context.formsSuffice ? view.form(row.id, step !== undefined) : null;
      return form ? listedTransaction(row, form) : transactionOf(row.id, row.row);
    },
  };
  const found =
    step === undefined
      ? await listPage(view, {
          ...listing,
          clocks: CLOCKS,
          valuesOf: ({ transaction }) => valuesOf(transaction, order),
          fetch: async (page) => (await below.transactions({ ...filter, page }, context)).rows,
        })
      : pageOf({ ...listing, rows: rowsOfStep(view, step) });
  if (found === WHOLE) return whole.transactions(filter, context);
  return { rows: found, nextCursor: nextTransactions(found, filter, order) };
}

function valuesOf({ account, lt, now }: Pick<Transaction, 'account' | 'lt' | 'now'>, order: Order): unknown[] {
  return order === 'time' ? [now, lt, account] : [lt, account];
}

function orderBy(order: Order, sort: Sort): Selection['order'] {
  // Accounts ascend among equal times; those of one lt have no other order.
  if (order === 'account') {
    return [
      { column: 'lt', sort: 'asc' },
      { column: 'account', sort },
    ];
  }
  const time = order === 'time' ? [{ column: 'now', sort }] : [];
  return [...time, { column: 'lt', sort }, { column: 'account', sort: 'asc' }];
}

function afterOf(cursor: string | undefined, order: Order): unknown[] | null {
  const place = cursorPlace(cursor, order);
  return place && valuesOf(place, order);
}

const rowsOfStep = (view: View, step: number): Candidate[] =>
  view.rowsOf(transactionKind, step).map(({ id, row }) => Candidate.of(view, transactionKind, id, row));

/** The one step of the window that a filter names, by itself or by a block; `below` when what it names is not here. */
function stepNamed(filter: TransactionFilter, view: View): number | 'below' | undefined {
  const { mcSeqno, workchain, shard, seqno } = filter;
  // No block has such a number, and no key.
  if ((seqno ?? 0) < 0) return 'below';
  if (mcSeqno !== undefined) return mcSeqno < view.first ? 'below' : mcSeqno;
  if (workchain === undefined || shard === undefined || seqno === undefined) return undefined;
  const block = view.find(blockKind, BLOCK_ID, [workchain, shard, seqno]);
  return block ? stepOf(block.id) : 'below';
}

/** A transaction that is named: read whole, and with its form. */
export function named(view: View, { id, row }: Found): TransactionRecord {
  const form = view.form(id);
  const record = transactionOf(id, row);
  return form ? Object.assign(record, { form }) : record;
}

/** The transaction with this hash, when it is here. */
export function transactionByHash(view: View, hash: Hash): Found | null {
  const found = view.find(transactionKind, BY_HASH, [hash]);
  return found && columnOf(transactionKind, found.row, 'hash').equals(hash) ? found : null;
}

/** A hash is of one transaction: what the window does not have is asked of the tables, and nothing else. */
async function byHashes(filter: TransactionFilter, order: Order, sides: Sides): Promise<Rows<TransactionRecord>> {
  const { view, below, context } = sides;
  const { sort } = filter;
  const selected = new Selected(transactionKind, { where: transactionConditions(filter), order: [], after: null });
  const after = cursorPlace(filter.cursor, order);
  const isBehind = (place: Ordered): boolean => after === null || comparePlaces(place, after, order, sort) > 0;
  // Beside their hashes, which are told here and decoded there.
  const here: { hash: Hash; record: TransactionRecord }[] = [];
  const missing: Hash[] = [];
  for (const hash of distinct(filter.hashes)) {
    const found = transactionByHash(view, hash);
    if (found === null) missing.push(hash);
    else if (selected.passes(Candidate.of(view, transactionKind, found.id, found.row)))
      here.push({ hash, record: named(view, found) });
  }
  if (missing.length > 0 && view.below !== null) {
    const page = { limit: missing.length, offset: 0 };
    const { rows } = await below.transactions({ ...filter, hashes: missing, page }, context);
    here.push(...rows.map((record) => ({ hash: record.transaction.hash, record })));
  }
  const placeOf = ({ hash, record }: (typeof here)[number]): Ordered =>
    order === 'hash' ? { ...NOWHERE, hash } : record.transaction;
  const behind = here.filter((one) => isBehind(placeOf(one)));
  behind.sort((a, b) => comparePlaces(placeOf(a), placeOf(b), order, sort));
  const { offset, limit } = filter.page;
  const rows = behind.slice(offset, offset + limit).map(({ record }) => record);
  return { rows, nextCursor: nextTransactions(rows, filter, order) };
}

/** Where a message was sent and received; steps of 0 where it was not. */
export interface MessageEnds {
  source: Address | null;
  outMcSeqno: number;
  outLt: Decimal;
  destination: Address | null;
  inMcSeqno: number;
  inLt: Decimal;
}

export async function transactionsByMessage(
  filter: TransactionsByMessageFilter,
  sides: Sides,
): Promise<TransactionRecord[]> {
  const messages = endsByHash(sides.view, filter);
  if (messages === null) return sides.whole.transactionsByMessage(filter, sides.context);
  return transactionsAround(messages, filter, sides);
}

/** The transactions that sent and received these messages, as a filter that they pass wants them. */
export async function transactionsAround(
  messages: readonly MessageEnds[],
  { opcode, direction, sort, page }: TransactionsByMessageFilter,
  sides: Sides,
): Promise<TransactionRecord[]> {
  const side = opcode === undefined ? direction : direction === 'out' ? 'none' : 'in';
  const places = messages.flatMap((message) => [
    ...(side === 'out' || side === undefined ? senderOf(message) : []),
    ...(side === 'in' || side === undefined ? receiverOf(message) : []),
  ]);
  const found = await transactionsAt(places, sides);
  found.sort((a, b) => comparePlaces(a.transaction, b.transaction, 'lt', sort));
  return found.slice(page.offset, page.offset + page.limit);
}

export async function adjacentTransactions(
  hash: Hash,
  direction: 'in' | 'out' | undefined,
  sides: Sides,
): Promise<TransactionRecord[]> {
  const { view, whole, context } = sides;
  const neighbours = neighboursOf(view, hash, direction, endsIn(view));
  if (neighbours === null) return whole.adjacentTransactions(hash, direction, context);
  return transactionsInOrder(neighbours, sides);
}

/** Transactions by lt, ascending. */
export async function transactionsInOrder(places: readonly Place[], sides: Sides): Promise<TransactionRecord[]> {
  const found = await transactionsAt(places, sides);
  return found.sort((a, b) => comparePlaces(a.transaction, b.transaction, 'lt', 'asc'));
}

/** Where internal messages of a transaction come from and go to: none where that is nowhere, null where it is not known. */
export interface Ends {
  sender(message: Message, receiver: Found): Place[] | null;
  receiver(message: Message, sender: Found): Place[] | null;
}

/** As the messages of the window tell it. */
export function endsIn(view: View): Ends {
  return {
    sender(message) {
      const row = messageAt(view, message);
      return row && senderOf(row);
    },
    receiver(message) {
      const row = messageAt(view, message);
      return row && receiverOf(row);
    },
  };
}

/**
 * The sender of the in-message and the receivers of the out-messages of a transaction (spec v3 semantics 2.5); null when
 * it is not here, or where one of its messages is not known.
 */
export function neighboursOf(view: View, hash: Hash, direction: 'in' | 'out' | undefined, ends: Ends): Place[] | null {
  const found = transactionByHash(view, hash);
  if (found === null) return null;
  const { inMsg, outMsgs } = transactionOf(found.id, found.row).transaction;
  const places: Place[] = [];
  if (direction !== 'out' && inMsg?.kind === 'internal') {
    const sender = ends.sender(inMsg, found);
    if (sender === null) return null;
    places.push(...sender);
  }
  for (const outMsg of direction === 'in' ? [] : outMsgs) {
    if (outMsg.kind !== 'internal') continue;
    const receiver = ends.receiver(outMsg, found);
    if (receiver === null) return null;
    places.push(...receiver);
  }
  return places;
}

function senderOf({ source, outLt, outMcSeqno }: MessageEnds): Place[] {
  return source === null || outMcSeqno === 0 ? [] : [{ account: source, lt: outLt, mcSeqno: outMcSeqno }];
}

function receiverOf({ destination, inLt, inMcSeqno }: MessageEnds): Place[] {
  return destination === null || inMcSeqno === 0 ? [] : [{ account: destination, lt: inLt, mcSeqno: inMcSeqno }];
}

/**
 * Each transaction once, from where it is.
 * @param load of the window; without their forms where nobody shows them
 */
export async function transactionsAt(
  places: readonly Place[],
  { view, below, context }: Sides,
  load: (view: View, found: Found) => TransactionRecord = named,
): Promise<TransactionRecord[]> {
  const found: TransactionRecord[] = [];
  const missing: Place[] = [];
  const once = new Map(places.map((place) => [`${hashKey(place.account)}${place.lt}`, place]));
  for (const place of once.values()) {
    const here = view.find(transactionKind, BY_ACCOUNT, [place.account, place.lt]);
    if (here !== null) found.push(load(view, here));
    else missing.push(place);
  }
  return missing.length === 0 ? found : [...found, ...(await below.transactionsAt(missing, context))];
}
