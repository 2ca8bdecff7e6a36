/** Messages by their hash: where the transaction is that shows them, and both their ends. */
import { nextMessages } from '../../clickhouse/queries/messages.ts';
import { address, hash, u32, u64 } from '../../clickhouse/tables/columns.ts';
import { messages } from '../../clickhouse/tables/messages.ts';
import { compareDecimal } from '../chain/decimal.ts';
import { distinct } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';
import type { MessageFilter, MessageRecord, Rows } from '../chain/records.ts';
import { byte, columnOf, kind, layoutOf, ordered } from '../window/kind.ts';
import { transactionKind } from '../window/kinds.ts';
import { transactionOf } from '../window/rows.ts';
import type { View } from '../window/view.ts';

/** So much of a hash that no two are taken for one another. */
const HASH_HEAD = 20;

/**
 * Of messages with an lt: those are found by their own hash alone. An external message may be found by the hash of its
 * normal form, which others may share: those the tables are asked for.
 */
export const sentMessageKind = kind({
  name: messages.name,
  columns: {
    hash: ordered(hash),
    /** Of the transaction that received it where there is one, else of the one that sent it. */
    account: ordered(address),
    outMcSeqno: ordered(u32),
    outLt: ordered(u64),
    /** Zeros where the step is 0. */
    outTxHash: ordered(hash),
    inMcSeqno: ordered(u32),
    inLt: ordered(u64),
    inTxHash: ordered(hash),
    globalVersion: byte,
  },
  key: { name: 'hash', key: [['hash', HASH_HEAD]], also: ['inMcSeqno'], sole: true },
  newest: 'inMcSeqno',
});

const BY_HASH = layoutOf(sentMessageKind, 'hash');
const BY_ACCOUNT = layoutOf(transactionKind, 'account');

/** The messages with these hashes; null when the archive does not have all of them, or more is asked. */
export function messagesByHash(view: View, filter: MessageFilter): Rows<MessageRecord> | null {
  if (filter.messageHashes.length === 0 || asksMore(filter)) return null;
  const found: MessageRecord[] = [];
  for (const wanted of distinct(filter.messageHashes)) {
    const record = messageWith(view, wanted);
    if (record === null) return null;
    found.push(record);
  }
  const sign = filter.sort === 'asc' ? 1 : -1;
  found.sort(
    ({ message: a }, { message: b }) =>
      sign * (compareDecimal(a.createdLt ?? '0', b.createdLt ?? '0') || a.hash.compare(b.hash)),
  );
  const rows = found.slice(filter.page.offset, filter.page.offset + filter.page.limit);
  return { rows, nextCursor: nextMessages(rows, filter) };
}

function asksMore({ messageHashes, sort, page, excludeExternals, onlyExternals, ...others }: MessageFilter): boolean {
  const { utime, ltWindow, ...rest } = others;
  const given = [...Object.values(utime), ...Object.values(ltWindow), ...Object.values(rest)];
  return excludeExternals || onlyExternals || given.some((value) => value !== undefined);
}

function messageWith(view: View, wanted: Hash): MessageRecord | null {
  const found = view.find(sentMessageKind, BY_HASH, [wanted]);
  if (found === null) return null;
  const get = <K extends keyof typeof sentMessageKind.columns>(column: K) =>
    columnOf(sentMessageKind, found.row, column);
  if (!get('hash').equals(wanted)) return null;
  const received = get('inMcSeqno') > 0;
  const place = view.find(transactionKind, BY_ACCOUNT, [get('account'), received ? get('inLt') : get('outLt')]);
  if (place === null) return null;
  const { inMsg, outMsgs } = transactionOf(place.id, place.row).transaction;
  const message = [inMsg, ...outMsgs].find((one) => one?.hash.equals(wanted));
  if (!message) return null;
  return {
    message,
    globalVersion: get('globalVersion'),
    inTxHash: received ? get('inTxHash') : null,
    outTxHash: get('outMcSeqno') > 0 ? get('outTxHash') : null,
  };
}
