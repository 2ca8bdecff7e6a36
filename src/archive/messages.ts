/** Messages by their hash: where the transaction is that shows them, and both their ends. */
import { NO_LT, nextMessages } from '../../clickhouse/queries/messages.ts';
import { u64 } from '../../clickhouse/tables/columns.ts';
import { messages } from '../../clickhouse/tables/messages.ts';
import { compareDecimal } from '../chain/decimal.ts';
import { distinct } from '../chain/hash.ts';
import type { Address, Decimal, Hash, Message } from '../chain/model.ts';
import type {
  MessageFilter,
  MessageRecord,
  QueryContext,
  Rows,
  TransactionsByMessageFilter,
} from '../chain/records.ts';
import { LazyMessage } from '../chain/stored.ts';
import { chunkKey, stepOf } from '../window/chunk.ts';
import type { ShownMessage } from '../window/form.ts';
import {
  byte,
  columnOf,
  encodeRow,
  fixedBytes,
  keyPrefix,
  keysOf,
  kind,
  layoutOf,
  ordered,
  restOf,
  type Values,
} from '../window/kind.ts';
import { transactionKind } from '../window/kinds.ts';
import { transactionOf } from '../window/rows.ts';
import type { Ends, MessageEnds } from '../window/transactions.ts';
import type { Found, View } from '../window/view.ts';
import type { FormedView } from './forms.ts';

/** So much of a hash that hardly two are taken for one another; what the transaction shows is looked at. */
const HASH_HEAD = 8;
/** Chunk and place of a transaction in its step. */
const PLACE_BYTES = 3;

/**
 * Of messages that are found by their own hash alone: those with an lt, and external ones that are not in normal form.
 * The hash of a normal form may be that of several: the tables are asked for those.
 */
export const sentMessageKind = kind({
  name: messages.name,
  columns: {
    hash: fixedBytes(HASH_HEAD),
    /** 1 where a transaction has received it, which shows it; else the one shows it that sent it. */
    received: byte,
    shownBy: fixedBytes(PLACE_BYTES),
    globalVersion: byte,
    /** Of the transaction that sent it; 0 where there is none. */
    outLt: ordered(u64),
  },
  key: { name: 'hash', key: ['hash'], also: ['received'], sole: true },
  newest: 'received',
  packing: {},
});

/** Of the transaction that shows a message, until its place is known. */
interface Shown {
  account: Address;
  lt: Decimal;
}

type Columns = Values<(typeof sentMessageKind)['columns']>;

/** A row without its place; behind it the account and lt of the transaction that shows it. */
export function unplacedMessage(values: Omit<Columns, 'shownBy'>, { account, lt }: Shown): Buffer {
  const hash = values.hash.subarray(0, HASH_HEAD);
  return encodeRow(sentMessageKind, { ...values, hash, shownBy: Buffer.alloc(PLACE_BYTES) }, [
    keyPrefix(transactionKind, BY_ACCOUNT, [account, lt]),
  ]);
}

/** The transactions of a step that are written, for the messages that they show. */
export class Places {
  readonly #places = new Map<string, Buffer>();

  note(transaction: Buffer, id: Buffer): void {
    const [key] = keysOf(BY_ACCOUNT, transaction);
    this.#places.set(key.toString('latin1'), id.subarray(-PLACE_BYTES));
  }

  /** The row with its place; null where the step does not have the transaction. */
  placed(unplaced: Buffer): Buffer | null {
    const place = this.#places.get(transactionShowing(unplaced).toString('latin1'));
    if (place === undefined) return null;
    const row = Buffer.from(unplaced.subarray(0, sentMessageKind.headBytes));
    place.copy(row, sentMessageKind.offsets.get('shownBy'));
    return row;
  }
}

/** The key of the transaction. */
export const transactionShowing = (unplaced: Buffer): Buffer => restOf(sentMessageKind, unplaced);

/** The id of the transaction that shows the message of a row. */
export function idOfShowing({ id, row }: Found): Buffer {
  return Buffer.concat([chunkKey(id).subarray(0, -2), columnOf(sentMessageKind, row, 'shownBy')]);
}

const BY_HASH = layoutOf(sentMessageKind, 'hash');
const BY_ACCOUNT = layoutOf(transactionKind, 'account');

/** The messages with these hashes; null when the archive does not have all of them, or more is asked. */
export function messagesByHash(
  view: FormedView,
  filter: MessageFilter,
  { formsSuffice = false }: Pick<QueryContext, 'formsSuffice'>,
): Rows<MessageRecord> | null {
  if (filter.messageHashes.length === 0 || asksMore(filter)) return null;
  const found: MessageRecord[] = [];
  for (const wanted of distinct(filter.messageHashes)) {
    const record = messageWith(view, wanted, formsSuffice);
    if (record === null) return null;
    found.push(record);
  }
  const sign = filter.sort === 'asc' ? 1 : -1;
  found.sort(
    ({ message: a }, { message: b }) =>
      sign * (compareDecimal(a.createdLt ?? NO_LT, b.createdLt ?? NO_LT) || a.hash.compare(b.hash)),
  );
  const rows = found.slice(filter.page.offset, filter.page.offset + filter.page.limit);
  return { rows, nextCursor: nextMessages(rows, filter) };
}

function asksMore({ messageHashes, sort, page, excludeExternals, onlyExternals, ...others }: MessageFilter): boolean {
  const { utime, ltWindow, ...rest } = others;
  const given = [...Object.values(utime), ...Object.values(ltWindow), ...Object.values(rest)];
  return excludeExternals || onlyExternals || given.some((value) => value !== undefined);
}

/**
 * The messages with these hashes and where they were sent and received; null as above, and where one came from outside:
 * a contract may have taken it more than once.
 */
export function messageEndsByHash(view: FormedView, filter: TransactionsByMessageFilter): MessageEnds[] | null {
  const { messageHashes, bodyHash, opcode, source, destination } = filter;
  if (messageHashes.length === 0 || [bodyHash, opcode, source, destination].some((one) => one !== undefined))
    return null;
  const found = distinct(messageHashes).map((wanted) => endsOf(sentMessage(view, wanted, true)));
  return found.every((one) => one !== null) ? found : null;
}

/**
 * Where internal messages of a transaction come from and go to, of which only the other end is looked for. Nothing is
 * hashed there: an account sends no two messages of the same lt.
 */
export function endsIn(view: View): Ends {
  const rowOf = ({ hash }: Message): Found | null => view.find(sentMessageKind, BY_HASH, [hash.subarray(0, HASH_HEAD)]);
  return {
    sender(message, receiver) {
      const found = rowOf(message);
      const isIt = found !== null && columnOf(sentMessageKind, found.row, 'received') > 0;
      if (!isIt || !idOfShowing(found).equals(receiver.id)) return null;
      const { source } = message;
      const outLt = columnOf(sentMessageKind, found.row, 'outLt');
      if (outLt === '0' || source === null) return [];
      const sender = view.find(transactionKind, BY_ACCOUNT, [source, outLt]);
      return sender && [{ account: source, ...placeOf(sender) }];
    },
    receiver(message, sender) {
      const found = rowOf(message);
      if (found === null) return null;
      const id = idOfShowing(found);
      if (columnOf(sentMessageKind, found.row, 'received') === 0) return id.equals(sender.id) ? [] : null;
      const receiver = { id, row: view.row(transactionKind, id) };
      const { inMsg } = transactionOf(id, receiver.row).transaction;
      const isIt = inMsg?.createdLt === message.createdLt && areSame(inMsg.source, message.source);
      if (!isIt || message.destination === null) return null;
      return [{ account: message.destination, ...placeOf(receiver) }];
    },
  };
}

const areSame = (a: Address | null, b: Address | null): boolean => a !== null && b !== null && a.equals(b);

interface SentMessage {
  message: Message;
  form?: NonNullable<MessageRecord['form']>;
  globalVersion: number;
  sender: Found | null;
  receiver: Found | null;
}

/**
 * As the transaction shows it that received it, or else sent it; null when one of its ends is not here.
 * @param formSuffices nothing is decoded of a message whose transaction has a form
 */
function sentMessage(view: FormedView, wanted: Hash, formSuffices: boolean): SentMessage | null {
  const found = view.find(sentMessageKind, BY_HASH, [wanted.subarray(0, HASH_HEAD)]);
  if (found === null) return null;
  const id = idOfShowing(found);
  const shown = { id, row: view.row(transactionKind, id) };
  const get = <K extends keyof Columns>(column: K) => columnOf(sentMessageKind, found.row, column);
  const globalVersion = get('globalVersion');
  const isReceived = get('received') !== 0;
  const read = (): Message | undefined => {
    const { inMsg, outMsgs } = transactionOf(id, shown.row).transaction;
    return (isReceived ? [inMsg] : outMsgs).find((one) => one?.hash.equals(wanted)) ?? undefined;
  };
  const isShownAlike = formSuffices && columnOf(transactionKind, shown.row, 'globalVersion') === globalVersion;
  const formed = isShownAlike ? view.messageIn(id, wanted) : null;
  const isItsOwn = formed !== null && (formed.index === 0) === isReceived;
  const message = isItsOwn ? new FormedMessage(wanted, formed, read) : read();
  if (!message) return null;
  const form = isItsOwn ? { form: { transaction: formed.form, index: formed.index } } : {};
  const told = { message, globalVersion, ...form };
  if (!isReceived) return { ...told, sender: shown, receiver: null };
  const outLt = get('outLt');
  if (outLt === '0') return { ...told, sender: null, receiver: shown };
  const sender = message.source && view.find(transactionKind, BY_ACCOUNT, [message.source, outLt]);
  return sender && { ...told, sender, receiver: shown };
}

/** Who sent it to whom is told by a form; the rest is read while the view lasts. */
class FormedMessage extends LazyMessage {
  readonly hash: Hash;
  readonly source: Address | null;
  readonly destination: Address | null;
  readonly #read: () => Message | undefined;

  constructor(hash: Hash, { source, destination }: ShownMessage, read: () => Message | undefined) {
    super();
    this.hash = hash;
    this.source = source;
    this.destination = destination;
    this.#read = read;
  }

  protected get whole(): Message {
    const message = this.#read();
    if (!message) throw new Error(`a transaction does not have the message ${this.hash.toString('hex')} of its form`);
    return message;
  }
}

const NOWHERE = { mcSeqno: 0, lt: '0' };

function endsOf(sent: SentMessage | null): MessageEnds | null {
  if (sent === null || sent.message.source === null) return null;
  const { source, destination } = sent.message;
  const { mcSeqno: outMcSeqno, lt: outLt } = placeOf(sent.sender);
  const { mcSeqno: inMcSeqno, lt: inLt } = placeOf(sent.receiver);
  return { source, destination, outMcSeqno, outLt, inMcSeqno, inLt };
}

function placeOf(transaction: Found | null) {
  if (transaction === null) return NOWHERE;
  return { mcSeqno: stepOf(transaction.id), lt: columnOf(transactionKind, transaction.row, 'lt') };
}

function messageWith(view: FormedView, wanted: Hash, formSuffices: boolean): MessageRecord | null {
  const sent = sentMessage(view, wanted, formSuffices);
  if (sent === null) return null;
  const { sender, receiver, ...message } = sent;
  return { ...message, inTxHash: hashOf(receiver), outTxHash: hashOf(sender) };
}

const hashOf = (transaction: Found | null): Hash | null =>
  transaction && columnOf(transactionKind, transaction.row, 'hash');
