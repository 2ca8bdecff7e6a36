import type { StoredPendingMessage } from '../../streams/pending-record.ts';
import { hashKey } from '../chain/hash.ts';

/** Attempts at a message. */
const TRIES = 3;
/** Messages whose time is over that are looked at together. */
const OVERDUE = 100;

/** Messages above the limit of traces whose end is waited for. */
const MOST_ABOVE = 65_536;

/**
 * Its account did not accept it; something failed; nodes did not show the states of the newest step; it came to be known
 * too late; others of its account were told of, and its turn comes.
 */
export type Hindrance = 'refused' | 'failed' | 'early' | 'late' | 'rate';

/** What is needed to tell the end of a message. */
export type Waiting = Pick<StoredPendingMessage, 'hashNorm' | 'destination' | 'time'>;

export interface Untold {
  message: StoredPendingMessage;
  tries: number;
  hindrance: Hindrance;
  /** Newest step that was gone through when it was tried last; 0 when it never was. */
  tried: number;
}

/**
 * Messages that have no trace, for now or for good: their accounts do not accept them, something failed, or they came to
 * be known too late. A block may have them all the same; until their time is over nobody knows.
 */
export function createUntold() {
  const untold = new Map<string, Untold>();
  /** Never tried, as there were too many traces: only their end is told. */
  const above = new Map<string, Waiting>();
  return {
    /** But for those above the limit of traces. */
    get size() {
      return untold.size;
    },
    get isEmpty() {
      return untold.size + above.size === 0;
    },
    has: ({ hashNorm }: StoredPendingMessage): boolean => untold.has(hashKey(hashNorm)) || above.has(hashKey(hashNorm)),
    /** An attempt at it came to nothing. */
    note(message: StoredPendingMessage, hindrance: 'refused' | 'failed' | 'early', tried: number): void {
      const key = hashKey(message.hashNorm);
      const tries = (untold.get(key)?.tries ?? 0) + (hindrance === 'early' ? 0 : 1);
      untold.set(key, { message, tries, hindrance, tried });
    },
    /** It was not tried: it has to wait. */
    hold: (message: StoredPendingMessage): void =>
      void untold.set(hashKey(message.hashNorm), { message, tries: 0, hindrance: 'rate', tried: 0 }),
    /** It is not tried any more. */
    giveUp: (message: StoredPendingMessage): void =>
      void untold.set(hashKey(message.hashNorm), { message, tries: TRIES, hindrance: 'late', tried: 0 }),
    /** There are too many traces. False when there are too many of these, too: then nothing at all is told of it. */
    leave({ hashNorm, destination, time }: StoredPendingMessage): boolean {
      if (above.size >= MOST_ABOVE) return false;
      above.set(hashKey(hashNorm), { hashNorm, destination, time });
      return true;
    },
    /** It has a trace, or has had its end. */
    forget({ hashNorm }: Waiting): void {
      untold.delete(hashKey(hashNorm));
      above.delete(hashKey(hashNorm));
    },
    /** Those that may be tried again. */
    waiting: (): Untold[] => [...untold.values()].filter(({ tries }) => tries < TRIES),
    /** Some that were sent before this time, in Unix milliseconds; of those that were not refused, before the other. */
    sentBefore(time: number, untried: number): Waiting[] {
      const isRefused = ({ hindrance }: Untold): boolean => hindrance === 'refused';
      const past = [...untold.values()].filter((one) => one.message.time < (isRefused(one) ? time : untried));
      const left = [...above.values()].filter((one) => one.time < untried);
      return [...past.map(({ message }) => message), ...left].slice(0, OVERDUE);
    },
  };
}
