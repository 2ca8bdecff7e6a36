import { openBoc } from '../../src/chain/boc.ts';
import { compareDecimal } from '../../src/chain/decimal.ts';
import { decodeMessage } from '../../src/chain/message.ts';
import type { Address, Hash } from '../../src/chain/model.ts';
import type { MessageFilter, MessageRecord, QueryContext, Rows } from '../../src/chain/records.ts';
import { bytes } from '../literal.ts';
import type { RowReader } from '../rowbinary.ts';
import { NO_LT, NO_TIME } from '../tables/columns.ts';
import { messages as messageTable } from '../tables/messages.ts';
import type { Row } from '../tables/table.ts';
import { all, asked, behind, type ConditionOn, limits, orderBy, type Sorted, where } from './conditions.ts';
import { HEX32, hashes, LT, makeCursor, readCursor, TIME } from './keys.ts';
import { collect, type Reading } from './reading.ts';

export { NO_LT, NO_TIME };

const COLUMNS = 'created_lt, created_at, out_mc_seqno, out_tx_hash, in_mc_seqno, in_tx_hash, global_version, payload';
const NO_ADDRESS = Buffer.alloc(36);
/** Rows a message can have before a merge: as it was sent, and as it was received. */
const VERSIONS = 2;
/** One from outside has one for each time it was received: so many times as many are read where these do not do. */
const MORE_VERSIONS = 16;

interface Stored {
  record: MessageRecord;
  createdLt: string;
  createdAt: number;
  /** Where it was received up to the head; else 0. */
  inMcSeqno: number;
}

export interface MessageSelection {
  messageHashes: Hash[];
  bodyHash?: Hash | undefined;
  source?: Address | null | undefined;
  destination?: Address | null | undefined;
  opcode?: number | undefined;
}

export function messageQueries(reading: Reading) {
  return {
    async messages(filter: MessageFilter, context: QueryContext): Promise<Rows<MessageRecord>> {
      const head = reading.head.seqno;
      const order = messageOrder(filter);
      const from = pageFrom(filter, order, head);
      const { limit, offset } = filter.page;

      async function read(enough: number): Promise<Stored[]> {
        const sql = `SELECT ${COLUMNS} FROM messages WHERE (created_lt, hash) IN (${pageKeys(from, filter, order, enough)})`;
        const rows = await reading.rows(sql, 'messages', context);
        return newestVersions(collect(rows, (row) => readMessage(row, head, filter.direction)));
      }

      /** Whether there are so many rows that those of the page may have been cut off. */
      async function isCut(enough: number): Promise<boolean> {
        const sql = `SELECT count() FROM (SELECT 1 ${from} LIMIT ${enough})`;
        return Number((await reading.rows(sql, 'count of messages', context)).u64()) === enough;
      }

      // LIMIT BY reads to the end of the table (67 ms of server CPU where this takes 6), so it is given just enough
      // rows.
      let enough = VERSIONS * (offset + limit);
      let found = await read(enough);
      while (found.length < limit && mayRepeat(found, filter, order) && (await isCut(enough))) {
        enough *= MORE_VERSIONS;
        found = await read(enough);
      }
      const sign = filter.sort === 'asc' ? 1 : -1;
      found.sort(
        (a, b) =>
          sign * (order === 'created_at' ? a.createdAt - b.createdAt : compareDecimal(a.createdLt, b.createdLt)) ||
          sign * a.record.message.hash.compare(b.record.message.hash),
      );
      const records = found.map(({ record }) => record);
      return { rows: records, nextCursor: nextMessages(records, filter) };
    },
  };
}

export type MessageOrder = 'created_lt' | 'created_at';

export function messageOrder(filter: MessageFilter): MessageOrder {
  return usesTime(filter) ? 'created_at' : 'created_lt';
}

/** The values of a cursor of messages: lt or time, hash in hex. Null at the beginning. */
export function readMessageCursor({ cursor }: MessageFilter, order: MessageOrder): string[] | null {
  return cursor === undefined ? null : readCursor(cursor, order, [order === 'created_at' ? TIME : LT, HEX32]);
}

/** The cursor behind a page; null when it was the last. */
export function nextMessages(rows: readonly MessageRecord[], filter: MessageFilter): string | null {
  if (rows.length === 0 || rows.length < filter.page.limit) return null;
  const { message } = rows[rows.length - 1];
  const order = messageOrder(filter);
  const place = order === 'created_at' ? String(message.createdAt ?? NO_TIME) : (message.createdLt ?? NO_LT);
  return makeCursor(order, [place, message.hash.toString('hex')]);
}

type Conditions = ConditionOn<typeof messageTable>[];

/** What a selection asks of the message itself. */
export function messageConditions(selection: MessageSelection): Conditions {
  const { messageHashes, bodyHash, source, destination, opcode } = selection;
  return [
    ...(messageHashes.length === 0 ? [] : [either('hash', 'hashNorm', messageHashes)]),
    ...asked('bodyHash', bodyHash),
    ...asked('source', source),
    ...asked('destination', destination),
    ...asked('opcode', opcode),
  ];
}

function either(one: 'hash', other: 'hashNorm', hashes: Hash[]): Conditions[number] {
  return {
    any: [
      { column: one, in: hashes },
      { column: other, in: hashes },
    ],
  };
}

/** The narrow table that finds the selection, as a condition on the key of `messages`; null when none does. */
export function messageKeys(selection: MessageSelection): string | null {
  const { messageHashes, bodyHash, source, destination } = selection;
  const from = (table: string, condition: string) =>
    `(created_lt, hash) IN (SELECT created_lt, hash FROM ${table} WHERE ${condition})`;
  if (messageHashes.length > 0) return from('messages_by_hash', `key IN ${hashes(messageHashes)}`);
  if (bodyHash) return from('messages_by_body', `body_hash = ${bytes(bodyHash)}`);
  if (destination !== undefined) {
    return from('messages_by_destination', `destination = ${bytes(destination ?? NO_ADDRESS)}`);
  }
  if (source !== undefined) return from('messages_by_source', `source = ${bytes(source ?? NO_ADDRESS)}`);
  return null;
}

/** Whether any of a page, or before it, may have more rows than usual: a message from outside. */
function mayRepeat(found: readonly Stored[], { page }: MessageFilter, order: MessageOrder): boolean {
  return order === 'created_lt' && (page.offset > 0 || found.some(({ createdLt }) => createdLt === NO_LT));
}

/**
 * Where the keys of a page come from: the narrow table that has both the order and every filter asked for; only
 * combinations of hashes with other filters look at whole messages.
 */
function pageFrom(filter: MessageFilter, order: MessageOrder, head: number): string {
  const { messageHashes, bodyHash, source, destination } = filter;
  const asks = [...visible(filter.direction, head), ...windows(filter), ...messageConditions(filter)];
  const conditions = [where(messageTable, asks)];
  const addressed = source !== undefined || destination !== undefined;
  let table = order === 'created_at' ? 'messages_by_time' : 'messages';
  if (messageHashes.length > 0 || (bodyHash && addressed)) {
    table = 'messages';
    const keys = messageKeys(filter);
    if (keys) conditions.push(keys);
  } else if (bodyHash) table = 'messages_by_body';
  else if (addressed) table = destination === undefined ? 'messages_by_source' : 'messages_by_destination';
  const place = readMessageCursor(filter, order);
  if (place) {
    const [first, hash] = [order === 'created_at' ? Number(place[0]) : place[0], Buffer.from(place[1], 'hex')];
    conditions.push(behind(messageTable, sortedMessages(filter, order), [first, hash]));
  }
  return `FROM ${table} WHERE ${all(conditions)}`;
}

function sortedMessages({ sort }: MessageFilter, order: MessageOrder): Sorted<Row<typeof messageTable>>[] {
  return [
    { column: order === 'created_at' ? 'createdAt' : 'createdLt', sort },
    { column: 'hash', sort },
  ];
}

/** Keys of one page, of the first rows there. */
function pageKeys(from: string, filter: MessageFilter, order: MessageOrder, enough: number): string {
  const by = orderBy(sortedMessages(filter, order));
  return `SELECT created_lt, hash FROM (
      SELECT ${order === 'created_lt' ? '' : 'created_at, '}created_lt, hash ${from} ORDER BY ${by} LIMIT ${enough}
    ) ORDER BY ${by} LIMIT 1 BY created_lt, hash ${limits(filter.page)}`;
}

/** A side counts when its step is not above the head. */
export function visible(side: 'in' | 'out' | undefined, head: number): Conditions {
  const received = { column: 'inMcSeqno', from: 1, to: head } as const;
  const sent = { column: 'outMcSeqno', from: 1, to: head } as const;
  if (side === 'in') return [received];
  return side === 'out' ? [sent] : [{ any: [sent, received] }];
}

/** A message without the value that a window tests never matches. */
export function windows(filter: MessageFilter): Conditions {
  const { utime, ltWindow, excludeExternals, onlyExternals } = filter;
  const usesLt = ltWindow.start !== undefined || ltWindow.end !== undefined;
  return [
    { column: 'createdAt', from: utime.start, to: utime.end },
    { column: 'createdLt', from: ltWindow.start, to: ltWindow.end },
    ...(usesTime(filter) ? [{ column: 'createdAt', isNot: null } as const] : []),
    ...(usesLt || excludeExternals ? [{ column: 'createdLt', isNot: null } as const] : []),
    ...(onlyExternals ? [{ column: 'createdLt', is: null } as const] : []),
  ];
}

function usesTime(filter: MessageFilter): boolean {
  return filter.utime.start !== undefined || filter.utime.end !== undefined;
}

/** Before a merge all versions of a message are there: sent, and sent and received; of one from outside each time. */
function newestVersions(stored: Stored[]): Stored[] {
  const newest = new Map<string, Stored>();
  for (const row of stored) {
    const key = row.record.message.hash.toString('latin1');
    const other = newest.get(key);
    if (!other || other.inMcSeqno < row.inMcSeqno) newest.set(key, row);
  }
  return [...newest.values()];
}

function readMessage(rows: RowReader, head: number, side: 'in' | 'out' | undefined): Stored {
  const createdLt = rows.u64();
  const createdAt = rows.u32();
  const outMcSeqno = rows.u32();
  const outTxHash = rows.fixed(32);
  const inMcSeqno = rows.u32();
  const inTxHash = rows.fixed(32);
  const globalVersion = rows.u8();
  const boc = openBoc(rows.bytes());
  const seen = (mcSeqno: number) => mcSeqno > 0 && mcSeqno <= head;
  return {
    createdLt,
    createdAt,
    inMcSeqno: seen(inMcSeqno) ? inMcSeqno : 0,
    record: {
      message: decodeMessage(boc, boc.roots[0]),
      globalVersion,
      inTxHash: seen(inMcSeqno) && side !== 'out' ? inTxHash : null,
      outTxHash: seen(outMcSeqno) && side !== 'in' ? outTxHash : null,
    },
  };
}
