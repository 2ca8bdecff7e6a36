/** What a subscription hears: the types it names, of its addresses, through its filters. */
import { workchainOf } from '../chain/address.ts';
import type { Address, Decimal } from '../chain/model.ts';
import { accountsOf, type FeedEvent } from './events.ts';
import type { Filter, Subscription } from './protocol.ts';

export type Hears = (event: FeedEvent) => boolean;

/** A predicate over events. It looks only at what the subscription asks for: a transaction is decoded when need be. */
export function hearing(subscription: Subscription): Hears {
  const { types, addresses, filter } = subscription;
  const accounts = new Set(addresses.map(accountKey));
  const tests: Hears[] = [(event) => types.has(event.type)];
  if (filter.workchain !== null) tests.push((event) => workchainOfEvent(event) === filter.workchain);
  tests.push((event) => event.type === 'block' || concerns(event, accounts, filter));
  tests.push(...filterTests(filter));
  return (event) => tests.every((test) => test(event));
}

export const accountKey = (account: Address): string => account.toString('latin1');

/** Whether an account that was asked for is concerned, on the side asked for. */
function concerns(event: FeedEvent, accounts: ReadonlySet<string>, { everything, direction }: Filter): boolean {
  const involved = everything ? accountsOf(event) : accountsOf(event).filter((one) => accounts.has(accountKey(one)));
  return involved.length > 0 && (direction === null || involved.some((one) => isOnSide(event, one, direction)));
}

function isOnSide(event: FeedEvent, account: Address, direction: 'in' | 'out'): boolean {
  if (event.type === 'block') return true;
  const { account: own, inMsg, outMsgs } = event.record.transaction;
  const isOwn = account.equals(own);
  if (event.type === 'external_out') return direction === 'out';
  if (event.type === 'message') return isOwn === (direction === 'in');
  return direction === 'in' ? inMsg !== null : outMsgs.length > 0;
}

function workchainOfEvent(event: FeedEvent): number {
  return event.type === 'block' ? event.record.header.workchain : workchainOf(event.record.transaction.account);
}

/** Filters that look into a transaction; blocks do not pass them. */
function filterTests({ opcodes, codeHashes, minValue, maxValue }: Filter): Hears[] {
  const tests: Hears[] = [];
  if (opcodes !== null) tests.push((event) => opcodes.has(messageOf(event)?.opcode ?? -1));
  if (codeHashes !== null) {
    tests.push((event) => {
      const hash = event.type === 'block' ? null : (event.record.after?.codeHash ?? null);
      return hash !== null && codeHashes.has(hash.toString('latin1'));
    });
  }
  if (minValue !== null) tests.push((event) => isWithin(messageOf(event)?.value ?? null, minValue, true));
  if (maxValue !== null) tests.push((event) => isWithin(messageOf(event)?.value ?? null, maxValue, false));
  return tests;
}

function messageOf(event: FeedEvent) {
  if (event.type === 'block') return null;
  return event.type === 'message' || event.type === 'external_out' ? event.message : event.record.transaction.inMsg;
}

function isWithin(value: Decimal | null, bound: Decimal, atLeast: boolean): boolean {
  if (value === null) return false;
  const order = BigInt(value) - BigInt(bound);
  return atLeast ? order >= 0n : order <= 0n;
}
