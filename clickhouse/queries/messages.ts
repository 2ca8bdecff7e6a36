import { openBoc } from '../../src/chain/boc.ts';
import { compareDecimal } from '../../src/chain/decimal.ts';
import { decodeMessage } from '../../src/chain/message.ts';
import type { Address, Hash } from '../../src/chain/model.ts';
import type { MessageFilter, MessageRecord, QueryContext, Rows } from '../../src/chain/records.ts';
import { bytes, u32, u64 } from '../literal.ts';
import type { RowReader } from '../rowbinary.ts';
import { NO_LT, NO_TIME } from '../tables/columns.ts';
import { behind, DECIMAL, direction, HEX32, hashes, limits, ltLiteral, makeCursor, readCursor } from './keys.ts';
import { all, collect, type Reading, within } from './reading.ts';

export { NO_LT, NO_TIME };

const COLUMNS = 'created_lt, created_at, out_mc_seqno, out_tx_hash, in_mc_seqno, in_tx_hash, global_version, payload';
const NO_ADDRESS = Buffer.alloc(36);
/** Rows a message can have before a merge: as it was sent, and as it was received. */
const VERSIONS = 2;

interface Stored {
  record: MessageRecord;
  createdLt: string;
  createdAt: number;
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
      const sql = `SELECT ${COLUMNS} FROM messages WHERE (created_lt, hash) IN (${pageKeys(filter, order, head)})`;
      const rows = await reading.rows(sql, 'messages', context);
      const found = newestVersions(collect(rows, (row) => readMessage(row, head, filter.direction)));
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
  return cursor === undefined ? null : readCursor(cursor, order, [DECIMAL, HEX32]);
}

/** The cursor behind a page; null when it was the last. */
export function nextMessages(rows: readonly MessageRecord[], filter: MessageFilter): string | null {
  if (rows.length === 0 || rows.length < filter.page.limit) return null;
  const { message } = rows[rows.length - 1];
  const order = messageOrder(filter);
  const place = order === 'created_at' ? String(message.createdAt ?? NO_TIME) : (message.createdLt ?? NO_LT);
  return makeCursor(order, [place, message.hash.toString('hex')]);
}

/** Conditions on the message itself, for table `messages`. */
export function messageConditions(selection: MessageSelection): string[] {
  const { messageHashes, bodyHash, source, destination, opcode } = selection;
  const conditions: string[] = [];
  if (messageHashes.length > 0) {
    const wanted = hashes(messageHashes);
    conditions.push(`(hash IN ${wanted} OR hash_norm IN ${wanted})`);
  }
  if (bodyHash) conditions.push(`body_hash = ${bytes(bodyHash)}`);
  if (source !== undefined) conditions.push(`source = ${bytes(source ?? NO_ADDRESS)}`);
  if (destination !== undefined) conditions.push(`destination = ${bytes(destination ?? NO_ADDRESS)}`);
  if (opcode !== undefined) conditions.push(`opcode = ${u32(opcode)}`);
  return conditions;
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

/**
 * Keys of one page. They come from the narrow table that has both the order and every filter asked for; only
 * combinations of hashes with other filters look at whole messages.
 */
function pageKeys(filter: MessageFilter, order: MessageOrder, head: number): string {
  const { messageHashes, bodyHash, source, destination, opcode, page, sort } = filter;
  const conditions = [visible(filter.direction, head), ...windows(filter)];
  const addressed = source !== undefined || destination !== undefined;
  let table = order === 'created_at' ? 'messages_by_time' : 'messages';
  if (messageHashes.length > 0 || (bodyHash && addressed)) {
    table = 'messages';
    conditions.push(...messageConditions(filter));
    const keys = messageKeys(filter);
    if (keys) conditions.push(keys);
  } else if (bodyHash) {
    table = 'messages_by_body';
    conditions.push(...messageConditions({ messageHashes: [], bodyHash, opcode }));
  } else {
    if (addressed) table = destination === undefined ? 'messages_by_source' : 'messages_by_destination';
    conditions.push(...messageConditions({ messageHashes: [], source, destination, opcode }));
  }
  if (filter.cursor !== undefined) {
    const place = readMessageCursor(filter, order);
    const hash = { column: 'hash', sort, value: place ? bytes(Buffer.from(place[1], 'hex')) : '' };
    if (place) conditions.push(behind([{ column: order, sort, value: u64(place[0]) }, hash]));
  }
  const way = direction(sort);
  // LIMIT BY reads to the end of the table (67 ms of server CPU where this takes 6), so it is given just enough rows.
  const enough = VERSIONS * (page.offset + page.limit);
  return `SELECT created_lt, hash FROM (
      SELECT ${order === 'created_lt' ? '' : 'created_at, '}created_lt, hash FROM ${table} WHERE ${all(conditions)} ORDER BY ${order} ${way}, hash ${way} LIMIT ${enough}
    ) ORDER BY ${order} ${way}, hash ${way} LIMIT 1 BY created_lt, hash ${limits(page)}`;
}

/** A side counts when its step is not above the head. */
function visible(side: 'in' | 'out' | undefined, head: number): string {
  const received = `in_mc_seqno BETWEEN 1 AND ${head}`;
  const sent = `out_mc_seqno BETWEEN 1 AND ${head}`;
  if (side === 'in') return received;
  return side === 'out' ? sent : `(${sent} OR ${received})`;
}

/** A message without the value that a window tests never matches. */
function windows(filter: MessageFilter): string[] {
  const conditions = [
    ...within('created_at', filter.utime.start?.toString(), filter.utime.end?.toString()),
    ...within('created_lt', ltLiteral(filter.ltWindow.start), ltLiteral(filter.ltWindow.end)),
  ];
  if (usesTime(filter)) conditions.push(`created_at != ${NO_TIME}`);
  const usesLt = filter.ltWindow.start !== undefined || filter.ltWindow.end !== undefined;
  if (usesLt || filter.excludeExternals) conditions.push(`created_lt != ${NO_LT}`);
  if (filter.onlyExternals) conditions.push(`created_lt = ${NO_LT}`);
  return conditions;
}

function usesTime(filter: MessageFilter): boolean {
  return filter.utime.start !== undefined || filter.utime.end !== undefined;
}

/** Before a merge both versions of a message are there: sent, and sent and received. */
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
    inMcSeqno,
    record: {
      message: decodeMessage(boc, boc.roots[0]),
      globalVersion,
      inTxHash: seen(inMcSeqno) && side !== 'out' ? inTxHash : null,
      outTxHash: seen(outMcSeqno) && side !== 'in' ? outTxHash : null,
    },
  };
}
