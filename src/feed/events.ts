/** One step of the chain as the events that are told of it, in their order (see place.ts). */
import { hash } from 'node:crypto';
import type { Address, Hash, Message } from '../chain/model.ts';
import type { BlockRecord, KnownState, TransactionRecord } from '../chain/records.ts';
import { BLOCKS, type Place } from './place.ts';

interface Told {
  place: Place;
  /** Hashes of what it is about: with its type they tell it from all others. */
  subject: readonly Hash[];
  /** Made when it is first asked for, see `eventId`. */
  id?: string;
}

export interface TransactionEvent extends Told {
  type: 'transactions';
  record: TransactionRecord;
}

export interface StateEvent extends Told {
  type: 'account_state_change';
  record: TransactionRecord;
  state: KnownState;
}

export interface MessageEvent extends Told {
  /** A message that was received; one that left the chain. */
  type: 'message' | 'external_out';
  record: TransactionRecord;
  message: Message;
}

export interface BlockEvent extends Told {
  type: 'block';
  record: BlockRecord;
}

export type FeedEvent = TransactionEvent | StateEvent | MessageEvent | BlockEvent;

/** Of one transaction, in this order; messages that left the chain follow. */
const RANKS = { message: 0, transactions: 1, account_state_change: 2, external_out: 3 } as const;
const ID_BYTES = 16;
/** The only level that is told of so far. */
export const FINALITY = 'finalized';

/**
 * The events of a step's transactions.
 * @param records of one step, by lt and account
 */
export function transactionEvents(mcSeqno: number, records: readonly TransactionRecord[]): FeedEvent[] {
  return records.flatMap((record, index) => eventsOf(record, (rank) => ({ mcSeqno, index, rank })));
}

function eventsOf(record: TransactionRecord, at: (rank: number) => Place): FeedEvent[] {
  const { transaction, after } = record;
  const { hash, inMsg, outMsgs } = transaction;
  const events: FeedEvent[] = [];
  if (inMsg !== null) events.push(messageEvent('message', record, inMsg, at(RANKS.message)));
  events.push({ type: 'transactions', place: at(RANKS.transactions), subject: [hash], record });
  // Of several transactions of an account in one block, the block shows the state after the last one.
  if (after !== null) {
    const place = at(RANKS.account_state_change);
    events.push({ type: 'account_state_change', place, subject: [hash], record, state: after });
  }
  for (const [i, message] of outMsgs.entries()) {
    if (message.kind === 'external_out') {
      events.push(messageEvent('external_out', record, message, at(RANKS.external_out + i)));
    }
  }
  return events;
}

function messageEvent(
  type: MessageEvent['type'],
  record: TransactionRecord,
  message: Message,
  place: Place,
): MessageEvent {
  return { type, place, subject: [message.hash, record.transaction.hash], record, message };
}

/** @param records of one step, in the order of the listing of blocks */
export function blockEvents(mcSeqno: number, records: readonly BlockRecord[]): BlockEvent[] {
  return records.map((record, rank) => ({
    type: 'block',
    place: { mcSeqno, index: BLOCKS, rank },
    subject: [record.header.rootHash],
    record,
  }));
}

/** The accounts whose subscribers hear of an event. */
export function accountsOf(event: FeedEvent): Address[] {
  if (event.type === 'block') return [];
  const { account } = event.record.transaction;
  if (event.type !== 'message') return [account];
  const { source } = event.message;
  return source === null || source.equals(account) ? [account] : [account, source];
}

/** The same in every process, after every restart and rebuild. Most events are heard by nobody who asks for it. */
export function eventId(event: FeedEvent): string {
  event.id ??= hash('sha256', Buffer.concat([LEVELS[event.type], ...event.subject]), 'buffer')
    .subarray(0, ID_BYTES)
    .toString('base64url');
  return event.id;
}

const levelOf = (type: FeedEvent['type']): Buffer => Buffer.from(`${type} ${FINALITY} `);
const LEVELS: Readonly<Record<FeedEvent['type'], Buffer>> = {
  transactions: levelOf('transactions'),
  account_state_change: levelOf('account_state_change'),
  message: levelOf('message'),
  external_out: levelOf('external_out'),
  block: levelOf('block'),
};
