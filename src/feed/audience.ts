/** Who hears an event, found by look-up: a notification is held against millions of addresses by a few reads. */
import type { Address } from '../chain/model.ts';
import { accountsOf, type FeedEvent } from './events.ts';
import { accountKey, awaits, tokenKeys } from './hearing.ts';
import type { Subscription } from './subscription.ts';

export interface Member {
  readonly subscription: Subscription;
  hears(event: FeedEvent): boolean;
}

export interface Audience<M extends Member> {
  readonly size: number;
  /** Addresses that are listened to, once for each who does. */
  readonly addresses: number;
  /** That are listened to. */
  readonly traces: { readonly size: number; has(trace: string): boolean };
  add(member: M): void;
  /** With the subscription it was added with. */
  remove(member: M): void;
  hearers(event: FeedEvent): Iterable<M>;
  /** Who would have heard of a message from outside as soon as it was sent, had its account taken it. */
  awaiting(account: Address, trace: string): Iterable<M>;
  members(): Iterable<M>;
}

export function createAudience<M extends Member>(): Audience<M> {
  const byAccount = createIndex<M>();
  /** Masters and collections, of those who listen to all accounts. */
  const byToken = createIndex<M>();
  const byTrace = createIndex<M>();
  const others = new Set<M>();
  const all = new Map<M, Subscription>();
  let addresses = 0;

  function* places({ types, addresses: own, traceHashes, filter }: Subscription): Generator<[Index<M>, string]> {
    for (const hash of traceHashes) yield [byTrace, hash];
    if (!filter.everything) for (const address of own) yield [byAccount, accountKey(address)];
    else if (isOfTokens(filter) && !types.has('block')) {
      for (const key of [...(filter.jettonMasters ?? []), ...(filter.nftCollections ?? [])]) yield [byToken, key];
    }
  }

  /** Nobody is told twice. */
  function* found(event: FeedEvent): Generator<M> {
    if (event.type === 'trace') return yield* byTrace.at(event.hash);
    for (const account of accountsOf(event)) yield* byAccount.at(accountKey(account));
    if (byToken.size > 0) for (const key of tokenKeys(event)) yield* byToken.at(key);
  }

  return {
    get size() {
      return all.size;
    },
    get addresses() {
      return addresses;
    },
    traces: byTrace,
    add(member) {
      const { subscription } = member;
      all.set(member, subscription);
      if (isOther(subscription)) others.add(member);
      for (const [index, key] of places(subscription)) index.put(key, member);
      if (!subscription.filter.everything) addresses += subscription.addresses.length;
    },
    remove(member) {
      const subscription = all.get(member);
      if (subscription === undefined) return;
      all.delete(member);
      others.delete(member);
      for (const [index, key] of places(subscription)) index.take(key, member);
      if (!subscription.filter.everything) addresses -= subscription.addresses.length;
    },
    *hearers(event) {
      for (const member of others) if (member.hears(event)) yield member;
      let first: M | null = null;
      let told: Set<M> | null = null;
      for (const member of found(event)) {
        if (member === first || told?.has(member)) continue;
        if (first === null) first = member;
        else {
          told ??= new Set();
          told.add(member);
        }
        if (!others.has(member) && member.hears(event)) yield member;
      }
    },
    *awaiting(account, trace) {
      const found = new Set([...byTrace.at(trace), ...byAccount.at(accountKey(account)), ...others]);
      for (const member of found) if (awaits(member.subscription, account, trace)) yield member;
    },
    members: () => all.keys(),
  };
}

/** Not by a key, or not by a key alone. */
function isOther({ types, filter }: Subscription): boolean {
  return types.has('block') || (filter.everything && !isOfTokens(filter));
}

/** Nothing passes that is not about one of these. */
function isOfTokens({ jettonMasters, nftCollections }: Subscription['filter']): boolean {
  return jettonMasters !== null || nftCollections !== null;
}

interface Index<M> {
  readonly size: number;
  has(key: string): boolean;
  put(key: string, member: M): void;
  take(key: string, member: M): void;
  at(key: string): Iterable<M>;
}

/** Mostly there is one who listens to a key: then no set is made. */
function createIndex<M>(): Index<M> {
  const kept = new Map<string, M | Set<M>>();
  return {
    get size() {
      return kept.size;
    },
    has: (key) => kept.has(key),
    put(key, member) {
      const there = kept.get(key);
      if (there === undefined) kept.set(key, member);
      else if (there instanceof Set) there.add(member);
      else kept.set(key, new Set([there, member]));
    },
    take(key, member) {
      const there = kept.get(key);
      if (there === member) kept.delete(key);
      if (!(there instanceof Set)) return;
      there.delete(member);
      if (there.size === 0) kept.delete(key);
    },
    at(key) {
      const there = kept.get(key);
      return there === undefined ? [] : there instanceof Set ? there : [there];
    },
  };
}
