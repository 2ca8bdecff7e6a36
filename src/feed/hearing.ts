/** What a subscription hears: the types it names, of its addresses, through its filters. */
import { workchainOf } from '../chain/address.ts';
import { isBetween } from '../chain/decimal.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address, Decimal, Message } from '../chain/model.ts';
import type { TransactionRecord } from '../chain/records.ts';
import { actionHearing } from './action-hearing.ts';
import {
  accountsOf,
  type FeedEvent,
  isOfTrace,
  nameInV1,
  type OneTransactionEvent,
  type TraceWideEvent,
} from './events.ts';
import type { EventType, Filter, Subscription } from './subscription.ts';

export interface Hearing {
  /** It looks only at what the subscription asks for: a transaction is decoded when need be. */
  hears(event: FeedEvent): boolean;
  /** Of an event that stands for several transactions or actions, the places of those that are told. */
  chosen(event: TraceWideEvent): number[];
}

type Hears = (event: OneTransactionEvent) => boolean;

export function hearing(subscription: Subscription): Hearing {
  const { types, addresses, typesOf, traceHashes, filter, isV1 } = subscription;
  const all = new Set(addresses.map(accountKey));
  const ofTypes = new Map<EventType, ReadonlySet<string>>();
  for (const type of typesOf === null ? [] : types) {
    ofTypes.set(type, new Set([...all].filter((key) => typesOf?.get(key)?.has(type))));
  }
  /** Those that are listened to for a type. */
  const accountsFor = (type: EventType): ReadonlySet<string> => ofTypes.get(type) ?? all;
  const tests = filterTests(filter);
  const actions = actionHearing(subscription, accountsFor('actions'));
  const pendingActions = isV1 ? actionHearing(subscription, accountsFor('pending_actions')) : actions;

  const passes = (event: OneTransactionEvent, type: EventType = event.type): boolean =>
    (filter.workchain === null || workchainOf(event.record.transaction.account) === filter.workchain) &&
    concerns(event, accountsFor(type), filter) &&
    (event.type !== 'transactions' || hasBody(event, filter.bodyHash)) &&
    tests.every((test) => test(event));

  function chosen(event: TraceWideEvent): number[] {
    const isPendingInV1 = isV1 && event.finality === 'pending';
    if (event.type !== 'trace_transactions') return (isPendingInV1 ? pendingActions : actions).chosen(event);
    const type = isPendingInV1 ? 'pending_transactions' : 'transactions';
    return event.records.flatMap((record, i) => {
      // Of a trace v1 tells what is pending of it, v2 the whole.
      if (isPendingInV1 && record.finality !== 'pending') return [];
      return passes(transactionEvent(record), type) ? [i] : [];
    });
  }

  return {
    hears(event) {
      const type = isV1 ? nameInV1(event) : event.type;
      if (type === null || !types.has(type)) return false;
      if (event.type === 'block') {
        const { workchain } = event.record.header;
        return (filter.workchain === null || workchain === filter.workchain) && tests.length === 0;
      }
      if (event.type === 'trace') return traceHashes.has(event.hash);
      return isOfTrace(event) ? chosen(event).length > 0 : passes(event);
    },
    chosen,
  };
}

export const accountKey = hashKey;

/** A transaction of a group is heard as it would be by itself. */
function transactionEvent(record: TransactionRecord): OneTransactionEvent {
  return { type: 'transactions', place: { mcSeqno: 0, index: 0, rank: 0 }, subject: () => [], record };
}

/** Whether an account that was asked for is concerned, on the side asked for. */
function concerns(
  event: OneTransactionEvent,
  accounts: ReadonlySet<string>,
  { everything, direction }: Filter,
): boolean {
  // Nothing needs to be looked at.
  if (everything && direction === null) return true;
  const involved = everything ? accountsOf(event) : accountsOf(event).filter((one) => accounts.has(accountKey(one)));
  return involved.length > 0 && (direction === null || involved.some((one) => isOnSide(event, one, direction)));
}

function isOnSide(event: OneTransactionEvent, account: Address, direction: 'in' | 'out'): boolean {
  const { account: own, inMsg, outMsgs } = event.record.transaction;
  const isOwn = account.equals(own);
  switch (event.type) {
    case 'external_out':
      return direction === 'out';
    case 'message':
      return isOwn === (direction === 'in');
    case 'jetton_transfer':
      return (event.to !== null && account.equals(event.to)) === (direction === 'in');
    case 'nft_transfer': {
      const side = direction === 'in' ? event.to : event.from;
      return isOwn || (side !== null && account.equals(side));
    }
    case 'transactions':
    case 'account_state_change':
    case 'jettons_change':
      return direction === 'in' ? inMsg !== null : outMsgs.length > 0;
  }
}

/** Filters that look into an event; who has none of what is looked at does not pass. */
function filterTests({ opcodes, codeHashes, minValue, maxValue, jettonMasters, nftCollections }: Filter): Hears[] {
  const tests: Hears[] = [];
  if (opcodes !== null) tests.push((event) => opcodes.has(messageOf(event)?.opcode ?? -1));
  if (codeHashes !== null) {
    tests.push(({ record: { after } }) => after?.codeHash != null && codeHashes.has(hashKey(after.codeHash)));
  }
  if (minValue !== null || maxValue !== null) tests.push((event) => isBetween(worthOf(event), minValue, maxValue));
  if (jettonMasters !== null || nftCollections !== null) {
    tests.push((event) => {
      const token = tokenOf(event);
      return token !== null && (token.kind === 'jetton' ? jettonMasters : nftCollections)?.has(token.key) === true;
    });
  }
  return tests;
}

function hasBody({ record }: OneTransactionEvent, bodyHash: string | null): boolean {
  if (bodyHash === null) return true;
  const { inMsg } = record.transaction;
  return inMsg !== null && hashKey(inMsg.bodyHash) === bodyHash;
}

/** What an event is about: a jetton by its master, an item by its collection. */
function tokenOf(event: OneTransactionEvent): { kind: 'jetton' | 'nft'; key: string } | null {
  if (event.type === 'jettons_change') return { kind: 'jetton', key: accountKey(event.wallet.jetton) };
  if (event.type !== 'jetton_transfer' && event.type !== 'nft_transfer') return null;
  if (event.token === null) return null;
  return { kind: event.type === 'jetton_transfer' ? 'jetton' : 'nft', key: accountKey(event.token) };
}

const TOLD_WHILE_PENDING: readonly EventType[] = ['transactions', 'trace_transactions', 'actions'];

/**
 * Whether a subscription hears of a message to an account while it is pending, whatever the message does: not where a
 * filter would look into that.
 */
export function awaits(
  { types, addresses, traceHashes, filter, minFinality, isV1 }: Subscription,
  account: Address,
  trace: string,
): boolean {
  if (isV1 || minFinality !== 'pending') return false;
  if (types.has('trace') && traceHashes.has(trace)) return true;
  // Of a body nothing is known here.
  const toldWhilePending = filter.bodyHash === null ? TOLD_WHILE_PENDING : (['actions'] as const);
  if (!toldWhilePending.some((type) => types.has(type))) return false;
  if (filter.workchain !== null && filter.workchain !== workchainOf(account)) return false;
  if (filter.direction === 'out' || filterTests(filter).length > 0) return false;
  return filter.everything || addresses.some((one) => one.equals(account));
}

/** Masters and collections that somebody may listen to. */
export function tokenKeys(event: FeedEvent): string[] {
  if (event.type === 'actions') return event.actions.flatMap(({ mentions }) => [...mentions.keys()]);
  if (event.type === 'block' || isOfTrace(event)) return [];
  const token = tokenOf(event);
  return token === null ? [] : [token.key];
}

function messageOf(event: OneTransactionEvent): Message | null {
  return event.type === 'message' || event.type === 'external_out' ? event.message : event.record.transaction.inMsg;
}

/** Of a transfer of jettons its amount, else the coins of the message. */
function worthOf(event: OneTransactionEvent): Decimal | null {
  if (event.type === 'jetton_transfer') return event.amount;
  if (event.type === 'jettons_change') return event.wallet.balance;
  return messageOf(event)?.value ?? null;
}
