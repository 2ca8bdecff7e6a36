/** Who hears an event, found by look-up: a notification is held against millions of addresses by one or two reads. */
import { accountsOf, type FeedEvent } from './events.ts';
import { accountKey } from './hearing.ts';
import type { Subscription } from './protocol.ts';

export interface Member {
  readonly subscription: Subscription;
  hears(event: FeedEvent): boolean;
}

export interface Audience<M extends Member> {
  readonly size: number;
  /** Addresses that are listened to, once for each who does. */
  readonly addresses: number;
  add(member: M): void;
  /** With the subscription it was added with. */
  remove(member: M): void;
  hearers(event: FeedEvent): Iterable<M>;
  members(): Iterable<M>;
}

export function createAudience<M extends Member>(): Audience<M> {
  /** Mostly one who listens to an address: then no set is made. */
  const byAccount = new Map<string, M | Set<M>>();
  const others = new Set<M>();
  const all = new Map<M, Subscription>();
  let addresses = 0;

  function put(key: string, member: M): void {
    const there = byAccount.get(key);
    if (there === undefined) byAccount.set(key, member);
    else if (there instanceof Set) there.add(member);
    else byAccount.set(key, new Set([there, member]));
  }

  function take(key: string, member: M): void {
    const there = byAccount.get(key);
    if (there === member) byAccount.delete(key);
    if (!(there instanceof Set)) return;
    there.delete(member);
    if (there.size === 0) byAccount.delete(key);
  }

  /** Not by address, or not by address alone. */
  function isOther({ types, filter }: Subscription): boolean {
    return filter.everything || types.has('block');
  }

  return {
    get size() {
      return all.size;
    },
    get addresses() {
      return addresses;
    },
    add(member) {
      const { subscription } = member;
      all.set(member, subscription);
      if (isOther(subscription)) others.add(member);
      if (subscription.filter.everything) return;
      for (const address of subscription.addresses) put(accountKey(address), member);
      addresses += subscription.addresses.length;
    },
    remove(member) {
      const subscription = all.get(member);
      if (subscription === undefined) return;
      all.delete(member);
      others.delete(member);
      if (subscription.filter.everything) return;
      for (const address of subscription.addresses) take(accountKey(address), member);
      addresses -= subscription.addresses.length;
    },
    *hearers(event) {
      for (const member of others) if (member.hears(event)) yield member;
      const accounts = accountsOf(event);
      const told = accounts.length > 1 ? new Set<M>() : null;
      for (const account of accounts) {
        const there = byAccount.get(accountKey(account));
        if (there === undefined) continue;
        for (const member of there instanceof Set ? there : [there]) {
          if (others.has(member) || told?.has(member)) continue;
          told?.add(member);
          if (member.hears(event)) yield member;
        }
      }
    },
    members: () => all.keys(),
  };
}
