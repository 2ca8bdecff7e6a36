/** Milliseconds. */
export interface Lifetimes {
  /** Since it was last changed: a trace whose root is emulated, one that is real in part, one that is complete. */
  emulated: number;
  partial: number;
  complete: number;
  /** Since it was first told: the longest that an emulated trace is held which its account would still take. */
  held: number;
}

/** Those of TON Center; nodes keep a message that is in no block for ten minutes. */
export const LIFETIMES: Lifetimes = { emulated: 30_000, partial: 60_000, complete: 30_000, held: 600_000 };

/** Steps behind the head that are still gone through after a pause; what was pending before has expired. */
export const MOST_BEHIND = 128;

/** The time of a block says the second that it was made in. */
export const SECOND_MS = 1_000;
