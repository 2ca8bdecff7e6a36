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

export interface Pauses {
  /** Resolves at once, but where such work has held the event loop for a while: then all else goes first. In order. */
  next(): Promise<void>;
}

/**
 * For work that need not wait for its turn, as most of it is done in no time.
 * @param mostMs how long all of it together holds the event loop, about
 */
export function createPauses(mostMs: number): Pauses {
  /** When the first of it was done since the event loop went on; null for none. */
  let began: number | null = null;
  let waiting = 0;
  let last = Promise.resolve();

  function isOver(): boolean {
    if (began === null) {
      began = performance.now();
      setImmediate(() => {
        began = null;
      });
    }
    return performance.now() - began >= mostMs;
  }

  async function afterOthers(before: Promise<void>): Promise<void> {
    await before;
    while (isOver()) await new Promise((resolve) => setImmediate(resolve));
    waiting--;
  }

  return {
    next() {
      if (waiting === 0 && !isOver()) return Promise.resolve();
      waiting++;
      last = afterOthers(last);
      return last;
    },
  };
}
