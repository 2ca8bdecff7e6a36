/** Messages by their hash: where the transaction is that shows them, and both their ends. */
import { nextMessages } from '../../clickhouse/queries/messages.ts';
import { address, hash, u32, u64 } from '../../clickhouse/tables/columns.ts';
import { messages } from '../../clickhouse/tables/messages.ts';
import { compareDecimal } from '../chain/decimal.ts';
import { distinct } from '../chain/hash.ts';
import type { Address, Hash, Message } from '../chain/model.ts';
import type { MessageFilter, MessageRecord, Rows, TransactionsByMessageFilter } from '../chain/records.ts';
import { LazyMessage } from '../chain/stored.ts';
import { byte, columnOf, kind, layoutOf, ordered, stepOf, type Values } from '../window/kind.ts';
import { transactionKind } from '../window/kinds.ts';
import { transactionOf } from '../window/rows.ts';
import type { MessageEnds } from '../window/transactions.ts';
import type { Found, View } from '../window/view.ts';

/** So much of a hash that no two are taken for one another. */
const HASH_HEAD = 20;

/**
 * Of messages that are found by their own hash alone: those with an lt, and external ones that are not in normal form.
 * The hash of a normal form may be that of several: the tables are asked for those.
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

/** The messages with these hashes and where they were sent and received; null as above. */
export function messageEndsByHash(view: View, filter: TransactionsByMessageFilter): MessageEnds[] | null {
  const { messageHashes, bodyHash, opcode, source, destination } = filter;
  if (messageHashes.length === 0 || [bodyHash, opcode, source, destination].some((one) => one !== undefined))
    return null;
  const found = distinct(messageHashes).map((wanted) => {
    const sent = sentMessage(view, wanted);
    const message = sent && messageOf(view, sent);
    return message && { ...sent, source: message.source, destination: message.destination };
  });
  return found.every((one) => one !== null) ? found : null;
}

/** Where a message was sent and received; null when it is not here. */
export function messageEnds(view: View, message: Message): MessageEnds | null {
  const sent = sentMessage(view, message.hash);
  return sent && { ...sent, source: message.source, destination: message.destination };
}

type SentMessage = Values<(typeof sentMessageKind)['columns']>;

function sentMessage(view: View, wanted: Hash): SentMessage | null {
  const found = view.find(sentMessageKind, BY_HASH, [wanted]);
  if (found === null) return null;
  const get = <K extends keyof SentMessage>(column: K) => columnOf(sentMessageKind, found.row, column);
  if (!get('hash').equals(wanted)) return null;
  return {
    hash: get('hash'),
    account: get('account'),
    outMcSeqno: get('outMcSeqno'),
    outLt: get('outLt'),
    outTxHash: get('outTxHash'),
    inMcSeqno: get('inMcSeqno'),
    inLt: get('inLt'),
    inTxHash: get('inTxHash'),
    globalVersion: get('globalVersion'),
  };
}

/** As the transaction shows it that received it, or else sent it; null when that is not here. */
function messageOf(view: View, { hash, account, inMcSeqno, inLt, outLt }: SentMessage): Message | null {
  const place = view.find(transactionKind, BY_ACCOUNT, [account, inMcSeqno > 0 ? inLt : outLt]);
  return place && new ShownMessage(hash, place);
}

/** One that is shown again is not decoded again: its hash is enough to know it by. */
class ShownMessage extends LazyMessage {
  readonly hash: Hash;
  readonly #place: Found;
  #read: Message | null = null;

  constructor(hash: Hash, place: Found) {
    super();
    this.hash = hash;
    this.#place = place;
  }

  protected get whole(): Message {
    this.#read ??= this.#decode();
    return this.#read;
  }

  get source(): Address | null {
    return this.whole.source;
  }
  get destination(): Address | null {
    return this.whole.destination;
  }

  #decode(): Message {
    const { id, row } = this.#place;
    const { inMsg, outMsgs } = transactionOf(id, row).transaction;
    for (const one of [inMsg, ...outMsgs]) if (one?.hash.equals(this.hash)) return one;
    throw new Error(`a transaction of step ${stepOf(id)} of the archive lacks message ${this.hash.toString('hex')}`);
  }
}

function messageWith(view: View, wanted: Hash): MessageRecord | null {
  const sent = sentMessage(view, wanted);
  const message = sent && messageOf(view, sent);
  if (!message) return null;
  return {
    message,
    globalVersion: sent.globalVersion,
    inTxHash: sent.inMcSeqno > 0 ? sent.inTxHash : null,
    outTxHash: sent.outMcSeqno > 0 ? sent.outTxHash : null,
  };
}
