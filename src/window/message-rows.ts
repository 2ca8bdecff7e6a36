import { compareDecimal } from '../../clickhouse/queries/keys.ts';
import {
  type MessageOrder,
  type MessageSelection,
  messageOrder,
  NO_LT,
  NO_TIME,
  readMessageCursor,
} from '../../clickhouse/queries/messages.ts';
import type { Hash } from '../chain/model.ts';
import type { MessageFilter } from '../chain/records.ts';
import type { StoredMessage } from './entries.ts';
import { behindPrefix, ltKey, NO_ADDRESS, NO_HASH, u32Key } from './keys.ts';
import { ENOUGH, TIRED } from './merge.ts';
import { ownKeyAtEnd, ownKeyByTime } from './message-keys.ts';
import { distinct } from './sides.ts';
import type { TableName } from './tables.ts';
import type { View } from './view.ts';

const MAX_LT = 2n ** 64n - 1n;

/**
 * The messages with these hashes that pass the selection, when the window is sure to have all of them; null otherwise.
 * A hash may be the normalised one of several external messages: then the tables may have more of them.
 */
export function messagesByHash(view: View, selection: MessageSelection): StoredMessage[] | null {
  if (selection.messageHashes.length === 0) return null;
  const found: StoredMessage[] = [];
  for (const hash of distinct(selection.messageHashes)) {
    const message = theMessage(view, hash);
    if (message === null) return null;
    found.push(message);
  }
  return found.filter((message) => isSelected(message, selection));
}

/** The only message that can be found by this hash; null when it is not here or not known to be the only one. */
function theMessage(view: View, hash: Hash): StoredMessage | null {
  const low = hash;
  const [first, second] = [...view.range('messagesByHash', { low, high: behindPrefix(low) })];
  if (first === undefined || second !== undefined) return null;
  const message = view.message(ownKeyAtEnd(first.key));
  if (!message?.hash.equals(hash)) return null;
  // An external message in normal form: others may have it as theirs. One that is not in it has its hash alone.
  return message.createdLt === NO_LT && message.hashNorm.equals(NO_HASH) ? null : message;
}

/** The messages of the window that pass a filter, in the order of the listing. */
export function* messageRows(view: View, filter: MessageFilter): Generator<StoredMessage | typeof TIRED> {
  const order = messageOrder(filter);
  const passes = predicateOf(view, filter, order);
  let looked = 0;
  const keys = keysOf(view, filter, order);
  const indexed = order === 'created_at' && keys.table !== 'messagesByTime';
  const matching: StoredMessage[] = [];
  for (const own of keys.own) {
    if (++looked > ENOUGH) {
      yield TIRED;
      return;
    }
    const message = view.message(own);
    if (!message || !passes(message)) continue;
    // The keys by address are in the order of lt, not of time.
    if (indexed) matching.push(message);
    else yield message;
  }
  yield* matching.sort((a, b) => compareMessages(a, b, order, filter.sort));
}

function keysOf(view: View, filter: MessageFilter, order: MessageOrder): { table: TableName; own: Iterable<Buffer> } {
  const { bodyHash, source, destination } = filter;
  const reverse = filter.sort === 'desc';
  const of = (table: TableName, prefix: Buffer) => ({ table, own: byLt(view, filter, table, prefix) });
  if (bodyHash) return of('messagesByBody', bodyHash);
  if (destination !== undefined) return of('messagesByDestination', destination ?? NO_ADDRESS);
  if (source !== undefined) return of('messagesBySource', source ?? NO_ADDRESS);
  if (order === 'created_lt') return of('messages', Buffer.alloc(0));
  const low = u32Key(filter.utime.start ?? 0);
  const high = behindPrefix(u32Key(Math.min(filter.utime.end ?? NO_TIME, NO_TIME)));
  const own = mapped(view.range('messagesByTime', { low, high, reverse }), ({ key }) => ownKeyByTime(key));
  return { table: 'messagesByTime', own };
}

/** Keys behind a prefix, within the window of lt and, where the order is by lt, from the cursor on. */
function byLt(view: View, filter: MessageFilter, table: TableName, prefix: Buffer): Iterable<Buffer> {
  const { ltWindow, sort } = filter;
  let low = BigInt(ltWindow.start ?? 0);
  let high = BigInt(ltWindow.end ?? MAX_LT);
  const place = messageOrder(filter) === 'created_lt' ? readMessageCursor(filter, 'created_lt') : null;
  if (place && sort === 'desc' && BigInt(place[0]) < high) high = BigInt(place[0]);
  if (place && sort === 'asc' && BigInt(place[0]) > low) low = BigInt(place[0]);
  const bounds = {
    low: Buffer.concat([prefix, ltKey(low)]),
    high: high === MAX_LT ? behindPrefix(prefix) : Buffer.concat([prefix, ltKey(high + 1n)]),
  };
  return mapped(view.range(table, { ...bounds, reverse: sort === 'desc' }), ({ key }) => ownKeyAtEnd(key));
}

function* mapped<A, B>(values: Iterable<A>, map: (value: A) => B): Generator<B> {
  for (const value of values) yield map(value);
}

/** By lt or time in the direction asked for, then by hash in the same. */
export function compareMessages(
  a: Pick<StoredMessage, 'createdLt' | 'createdAt' | 'hash'>,
  b: Pick<StoredMessage, 'createdLt' | 'createdAt' | 'hash'>,
  order: MessageOrder,
  sort: MessageFilter['sort'],
): number {
  const sign = sort === 'asc' ? 1 : -1;
  const first = order === 'created_at' ? a.createdAt - b.createdAt : compareDecimal(a.createdLt, b.createdLt);
  return sign * first || sign * a.hash.compare(b.hash);
}

function isSelected(message: StoredMessage, selection: MessageSelection): boolean {
  const { bodyHash, source, destination, opcode } = selection;
  return (
    (!bodyHash || message.bodyHash.equals(bodyHash)) &&
    (source === undefined || message.source.equals(source ?? NO_ADDRESS)) &&
    (destination === undefined || message.destination.equals(destination ?? NO_ADDRESS)) &&
    (opcode === undefined || message.opcode === opcode)
  );
}

/**
 * Whether a message of the window is among those asked for. One that left below the window is found in the tables, as
 * sent, unless only received ones are wanted.
 */
export function predicateOf(view: View, filter: MessageFilter, order: MessageOrder): (row: StoredMessage) => boolean {
  const place = readMessageCursor(filter, order);
  const behind = place && {
    createdLt: order === 'created_lt' ? place[0] : '0',
    createdAt: order === 'created_at' ? Number(place[0]) : 0,
    hash: Buffer.from(place[1], 'hex'),
  };
  return (row) =>
    isVisible(row, filter.direction) &&
    (filter.direction === 'in' || row.sent.mcSeqno === 0 || row.sent.mcSeqno >= view.first) &&
    isSelected(row, filter) &&
    isWithin(row, filter) &&
    (!behind || compareMessages(behind, row, order, filter.sort) < 0);
}

export function isVisible({ sent, received }: StoredMessage, direction: MessageFilter['direction']): boolean {
  if (direction === 'in') return received.mcSeqno > 0;
  return direction !== 'out' || sent.mcSeqno > 0;
}

/** A message without the value that a window tests never matches. */
export function isWithin(row: StoredMessage, filter: MessageFilter): boolean {
  const { utime, ltWindow, excludeExternals, onlyExternals } = filter;
  const external = row.createdLt === NO_LT;
  const usesTime = utime.start !== undefined || utime.end !== undefined;
  const usesLt = ltWindow.start !== undefined || ltWindow.end !== undefined;
  if (usesTime && row.createdAt === NO_TIME) return false;
  if ((usesLt || excludeExternals) && external) return false;
  if (onlyExternals && !external) return false;
  return (
    row.createdAt >= (utime.start ?? 0) &&
    row.createdAt <= (utime.end ?? NO_TIME) &&
    (ltWindow.start === undefined || compareDecimal(row.createdLt, ltWindow.start) >= 0) &&
    (ltWindow.end === undefined || compareDecimal(row.createdLt, ltWindow.end) <= 0)
  );
}
