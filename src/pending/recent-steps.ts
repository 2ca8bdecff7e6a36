/**
 * What the newest steps had of messages from outside. What was emulated on the states of one step and is told behind a
 * later one still holds, unless a step between them had the message, or another one of its account.
 */
import { hashKey } from '../chain/hash.ts';
import type { Address, Hash } from '../chain/model.ts';
import type { TransactionRecord } from '../chain/records.ts';
import { hashNormOf } from './merge.ts';

/** `unknown`: steps since were not looked at, or are forgotten. */
export type Since = 'nothing' | 'moved' | 'received' | 'unknown';

interface Noted {
  mcSeqno: number;
  genUtime: number;
  /** Normalised hashes of the messages. */
  messages: Set<string>;
  accounts: Map<string, Address>;
}

/** Emulating takes less time than so many steps, or is done again. */
const KEPT_STEPS = 64;

export function createRecentSteps(mcSeqno: number) {
  const kept: Noted[] = [];
  /** All steps behind this one, up to the newest, are kept. */
  let [from, newest] = [mcSeqno, mcSeqno];

  return {
    /** A step is looked at. Gives the accounts that took messages from outside in it. */
    note(step: number, genUtime: number, records: readonly TransactionRecord[]): ReadonlyMap<string, Address> {
      const noted: Noted = { mcSeqno: step, genUtime, messages: new Set(), accounts: new Map() };
      for (const { transaction } of records) {
        const { inMsg, account } = transaction;
        if (inMsg?.kind !== 'external_in') continue;
        noted.messages.add(hashKey(hashNormOf(inMsg)));
        noted.accounts.set(hashKey(account), account);
      }
      if (step > newest + 1) {
        kept.length = 0;
        from = step - 1;
      }
      // One that failed is gone through again.
      if (step <= newest) return noted.accounts;
      kept.push(noted);
      newest = step;
      if (kept.length > KEPT_STEPS) from = kept.shift()?.mcSeqno ?? from;
      return noted.accounts;
    },
    /** A step was passed by, because nobody waited for what is in it. */
    pass(step: number): void {
      kept.length = 0;
      [from, newest] = [step, step];
    },
    /** Whether all steps are kept, up to this one, that were made since a time: what is sent then is in none before. */
    cover(sinceMs: number, step: number): boolean {
      return step <= newest && kept.length > 0 && sinceMs >= (kept[0].genUtime + 1) * 1000;
    },
    /** Whether one of them has a message. */
    has: (hashNorm: Hash): boolean => kept.some(({ messages }) => messages.has(hashKey(hashNorm))),
    /** What happened behind a step to a message for an account. */
    since(step: number, hashNorm: Hash, account: Address): Since {
      if (step < from) return 'unknown';
      const later = kept.filter(({ mcSeqno }) => mcSeqno > step);
      if (later.some(({ messages }) => messages.has(hashKey(hashNorm)))) return 'received';
      return later.some(({ accounts }) => accounts.has(hashKey(account))) ? 'moved' : 'nothing';
    },
  };
}

export type RecentSteps = ReturnType<typeof createRecentSteps>;
