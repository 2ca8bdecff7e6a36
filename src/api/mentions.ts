/**
 * Accounts that answers mention and nothing is known of: gathered, to be asked of a liteserver by who follows the
 * chain.
 */
import { LRUCache } from 'lru-cache';
import { Counter, type Registry } from 'prom-client';
import { atMost } from '../at-most.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import { hashKey } from '../chain/hash.ts';
import type { Address } from '../chain/model.ts';
import type { BookRecord } from '../chain/records.ts';

export interface Mentions {
  /** What the book of an answer says of the accounts that it mentions. */
  note(records: readonly BookRecord[]): void;
  close(): void;
}

export interface MentionsOptions {
  source: Pick<ChainSource, 'accountStates'>;
  /** Most accounts a second that are named. */
  perSecond: number;
  /** Takes those of which nothing is known. */
  name(accounts: readonly Address[]): void;
  metrics: Registry;
  report(error: unknown): void;
}

/** For where nobody is to be asked. */
export const noMentions: Mentions = { note: () => undefined, close: () => undefined };

/** Accounts that wait to be named: what comes beyond is dropped, and comes with the next answer that mentions it. */
const MOST_WAITING = 1_000;
/** Those that were looked at are not looked at again for a while. */
const KNOWN = 50_000;
const KNOWN_MS = 3_600_000;
const EVERY_MS = 1_000;
const QUERY_MS = 10_000;

export function createMentions({ source, perSecond, name, metrics, report }: MentionsOptions): Mentions {
  const known = new LRUCache<string, true>({ ...atMost(KNOWN), ttl: KNOWN_MS });
  const waiting = new Map<string, Address>();
  const ended = new AbortController();
  let looking = false;
  const counter = new Counter({
    name: 'tonstream_mentioned_accounts_total',
    help: 'Accounts without a known code that answers mention: named (nothing is known of them), known, dropped (too many wait)',
    labelNames: ['outcome'],
    registers: [metrics],
  });
  for (const outcome of ['named', 'known', 'dropped']) counter.inc({ outcome }, 0);

  /** A second's part of those that wait; the tables are asked which of them they know without a code. */
  async function look(): Promise<void> {
    const some = [...waiting].slice(0, perSecond);
    const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(QUERY_MS)]);
    const accounts = some.map(([, account]) => account);
    const states = await source.accountStates(accounts, [], 'none', { signal, timeoutMs: QUERY_MS });
    for (const [key] of some) {
      waiting.delete(key);
      known.set(key, true);
    }
    const indexed = new Set(states.map(({ account }) => hashKey(account)));
    const unknown = some.flatMap(([key, account]) => (indexed.has(key) ? [] : [account]));
    counter.inc({ outcome: 'known' }, some.length - unknown.length);
    counter.inc({ outcome: 'named' }, unknown.length);
    if (unknown.length > 0) name(unknown);
  }

  const timer = setInterval(() => {
    if (looking || waiting.size === 0) return;
    looking = true;
    look()
      .catch((error: unknown) => {
        if (!ended.signal.aborted) report(error);
      })
      .finally(() => {
        looking = false;
      });
  }, EVERY_MS);
  timer.unref();

  return {
    note(records) {
      for (const { account, codeHash } of records) {
        if (codeHash !== null) continue;
        const key = hashKey(account);
        if (known.has(key) || waiting.has(key)) continue;
        // The bytes may be part of an answer's memory.
        if (waiting.size < MOST_WAITING) waiting.set(key, Buffer.from(account));
        else counter.inc({ outcome: 'dropped' });
      }
    },
    close() {
      clearInterval(timer);
      ended.abort();
    },
  };
}
