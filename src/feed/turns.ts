/** Work in turns: it holds the event loop for a while, then all else goes first, however many do such work. */

export interface Turns {
  /** Whether the work is to stop for now. */
  readonly isOver: boolean;
  /** Resolves at once while the turn lasts; else in a turn of its own, behind those who wait already. */
  next(): Promise<void>;
}

/** @param turnMs how long all work together holds the event loop, about */
export function createTurns(turnMs: number): Turns {
  let began = Number.NEGATIVE_INFINITY;
  let last = Promise.resolve();
  const isOver = (): boolean => performance.now() - began >= turnMs;

  async function afterOthers(before: Promise<void>): Promise<void> {
    await before;
    await new Promise((resolve) => setImmediate(resolve));
    began = performance.now();
  }

  return {
    get isOver() {
      return isOver();
    },
    next() {
      if (!isOver()) return Promise.resolve();
      last = afterOthers(last);
      return last;
    },
  };
}
