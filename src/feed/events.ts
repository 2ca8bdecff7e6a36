/** What is told of a step of the chain, in its order (see place.ts). */
import { hash } from 'node:crypto';
import { formMessages } from '../api/v3/render/forms.ts';
import type { TransferKind, WalletState } from '../chain/contract-records.ts';
import type { Address, Decimal, Hash, Message } from '../chain/model.ts';
import type {
  ActionRecord,
  BlockRecord,
  Finality,
  KnownState,
  PendingActionRecord,
  TransactionRecord,
} from '../chain/records.ts';
import { formedMessage } from './formed-message.ts';
import { BLOCKS, type Place } from './place.ts';
import type { EventType } from './subscription.ts';

interface Told {
  /** Of what is not final: up to where final events were told when it was. */
  place: Place;
  /** Left out of what is final. */
  finality?: Exclude<Finality, 'finalized'>;
  /** Hashes of what it is about: with its type they tell it from all others. Asked for by few. */
  subject(): readonly Hash[];
  /** Made when it is first asked for, see `eventId`. */
  id?: string;
}

/** Something that one transaction did. */
interface OfTransaction extends Told {
  record: TransactionRecord;
}

export interface TransactionEvent extends OfTransaction {
  type: 'transactions';
}

export interface StateEvent extends OfTransaction {
  type: 'account_state_change';
  state: KnownState;
}

export interface MessageEvent extends OfTransaction {
  /** A message that was received; one that left the chain. */
  type: 'message' | 'external_out';
  message: Message;
  /** In its transaction: 0 the in-message, then the others. */
  index: number;
}

export interface WalletEvent extends OfTransaction {
  type: 'jettons_change';
  state: KnownState;
  wallet: WalletState;
}

export interface TransferEvent extends OfTransaction {
  type: TransferKind;
  /** The jetton's master, or the item's collection. */
  token: Address | null;
  from: Address | null;
  to: Address | null;
  /** Of a jetton, in its smallest unit. */
  amount: Decimal | null;
  response: Address | null;
}

/** The transactions of a trace that has ended, newest first: for those who want a trace at once. */
export interface GroupEvent extends Told {
  type: 'trace_transactions';
  /** False when the trace is too large to be told at once. */
  isWhole: boolean;
  records: readonly TransactionRecord[];
}

export interface ActionsEvent extends Told {
  type: 'actions';
  /** Null while nothing of the trace is in a block. */
  traceId: Hash | null;
  /** All that the trace did, newest first, wholes and parts. */
  actions: readonly ToldAction[];
}

export interface TraceEvent extends Told {
  type: 'trace';
  /** Null while nothing of the trace is in a block. */
  traceId: Hash | null;
  /** Normalised hash of the message that began it, standard base64. */
  hash: string;
  /** By lt and account; null when they are too many. */
  transactions: readonly TransactionRecord[] | null;
  actions: readonly ToldAction[];
}

/** An action with what is looked at when it is told. */
export interface ToldAction {
  record: ActionRecord | PendingActionRecord;
  /** Whom it is found by. */
  accounts: readonly Address[];
  /** All addresses that it prints, by key. */
  mentions: ReadonlyMap<string, Address>;
  details: Readonly<Record<string, unknown>>;
}

export interface BlockEvent extends Told {
  type: 'block';
  record: BlockRecord;
}

/** Events that are about one transaction. */
export type OneTransactionEvent = TransactionEvent | StateEvent | MessageEvent | WalletEvent | TransferEvent;
/** Events of a trace: who hears one hears only the part of it that he has asked for. */
export type TraceWideEvent = GroupEvent | ActionsEvent | TraceEvent;
export type FeedEvent = OneTransactionEvent | TraceWideEvent | BlockEvent;

/** Of one transaction, in this order; messages that left the chain are at most 255. */
export const RANKS = {
  message: 0,
  transactions: 1,
  account_state_change: 2,
  external_out: 3,
  jettons_change: 0x400,
  jetton_transfer: 0x401,
  nft_transfer: 0x402,
  // Of the trace that the transaction is the last one of.
  trace_transactions: 0x800,
  actions: 0x801,
  trace: 0x802,
} as const satisfies Record<Exclude<FeedEvent['type'], 'block'>, number>;
const ID_BYTES = 16;

/** @param records of one step, by lt and account; nothing of them is decoded */
export function transactionEvents(mcSeqno: number, records: readonly TransactionRecord[]): TransactionEvent[] {
  return records.map((record, index) => ({
    type: 'transactions',
    place: { mcSeqno, index, rank: RANKS.transactions },
    subject: () => [record.transaction.hash],
    record,
  }));
}

/**
 * The states that a step has left. Of several transactions of an account in one block, the block shows the state after
 * the last one.
 * @param records as for `transactionEvents`
 */
export function stateEvents(mcSeqno: number, records: readonly TransactionRecord[]): StateEvent[] {
  return records.flatMap((record, index): StateEvent[] => {
    const { after: state } = record;
    if (state === null) return [];
    const place = { mcSeqno, index, rank: RANKS.account_state_change };
    return [{ type: 'account_state_change', place, subject: () => [record.transaction.hash], record, state }];
  });
}

/** A message of a transaction. */
export interface PlacedMessage {
  /** 0 for the in-message, then the others. */
  index: number;
  message: Message;
  /** An account that sent it; one that receives it. */
  hasSource: boolean;
  hasDestination: boolean;
}

/** All messages of a transaction; of one that came with its form nothing is decoded. */
export function messagesOf(record: TransactionRecord): PlacedMessage[] {
  const { form } = record;
  if (form !== undefined) {
    return formMessages(form).map((formed) => {
      const { index, source, destination } = formed;
      const message = formedMessage(record, formed);
      return { index, message, hasSource: source !== null, hasDestination: destination !== null };
    });
  }
  const { inMsg, outMsgs } = record.transaction;
  const placed = (message: Message, index: number): PlacedMessage => {
    return { index, message, hasSource: message.source !== null, hasDestination: message.destination !== null };
  };
  const sent = outMsgs.map((message, i) => placed(message, i + 1));
  return inMsg === null ? sent : [placed(inMsg, 0), ...sent];
}

/**
 * What was received, and what was sent out of the chain.
 * @param records as for `transactionEvents`
 * @param messages of each of them all messages
 */
export function messageEvents(
  mcSeqno: number,
  records: readonly TransactionRecord[],
  messages: readonly (readonly PlacedMessage[])[],
): MessageEvent[] {
  return records.flatMap((record, place) => {
    const told = messages[place].filter(({ index, hasDestination }) => index === 0 || !hasDestination);
    return told.map(({ index, message }): MessageEvent => {
      const rank = index === 0 ? RANKS.message : RANKS.external_out + index - 1;
      return {
        type: index === 0 ? 'message' : 'external_out',
        place: { mcSeqno, index: place, rank },
        subject: () => [message.hash, record.transaction.hash],
        record,
        message,
        index,
      };
    });
  });
}

/** @param records of one step, in the order of the listing of blocks */
export function blockEvents(mcSeqno: number, records: readonly BlockRecord[]): BlockEvent[] {
  return records.map((record, rank) => ({
    type: 'block',
    place: { mcSeqno, index: BLOCKS, rank },
    subject: () => [record.header.rootHash],
    record,
  }));
}

/** What v1 calls an event; null for one that it does not tell: there what is pending has types of its own. */
export function nameInV1({ type, finality }: FeedEvent): EventType | null {
  if (finality === undefined) return type;
  if (finality === 'confirmed') return null;
  if (type === 'actions') return 'pending_actions';
  return type === 'trace_transactions' ? 'pending_transactions' : null;
}

export function isOfTrace(event: FeedEvent): event is TraceWideEvent {
  return event.type === 'trace_transactions' || event.type === 'actions' || event.type === 'trace';
}

export function isMessage(event: FeedEvent): event is MessageEvent {
  return event.type === 'message' || event.type === 'external_out';
}

/** The accounts whose subscribers hear of an event; of a trace nobody hears by an account. */
export function accountsOf(event: FeedEvent): readonly Address[] {
  switch (event.type) {
    case 'block':
    case 'trace':
      return [];
    case 'trace_transactions':
      return event.records.map(({ transaction }) => transaction.account);
    case 'actions':
      return event.actions.flatMap(({ accounts }) => accounts);
    case 'message':
      return some(event.record.transaction.account, event.message.source);
    case 'jettons_change':
      return some(event.wallet.address, event.wallet.owner);
    case 'jetton_transfer':
    case 'nft_transfer':
      return some(event.record.transaction.account, event.from, event.to);
    case 'transactions':
    case 'account_state_change':
    case 'external_out':
      return [event.record.transaction.account];
  }
}

/** Each once. */
function some(first: Address, ...others: (Address | null)[]): Address[] {
  const accounts = [first];
  for (const other of others) {
    if (other !== null && !accounts.some((one) => one.equals(other))) accounts.push(other);
  }
  return accounts;
}

/** The same in every process, after every restart and rebuild. Most events are heard by nobody who asks for it. */
export function eventId(event: FeedEvent): string {
  event.id ??= idOf(`${event.type} ${event.finality ?? 'finalized'} `, event.subject());
  return event.id;
}

/** What is hashed, one after the other: few bytes each. */
const scratch = Buffer.alloc(256);

/** @param kind type and level */
export function idOf(kind: string, subject: readonly Hash[]): string {
  let size = scratch.write(kind, 'latin1');
  for (const part of subject) size += part.copy(scratch, size);
  return hash('sha256', scratch.subarray(0, size), 'buffer').toString('base64url', 0, ID_BYTES);
}
