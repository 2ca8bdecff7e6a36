/** Runs a bounded number of works at a time; the one with the lowest rank starts first, equals in order of arrival. */
export interface Lanes {
  run<T>(rank: number, work: () => Promise<T>): Promise<T>;
}

export function createLanes(limit: number): Lanes {
  const waiting: { rank: number; start: () => void }[] = [];
  let running = 0;

  // The list is as long as requests wait: some hundreds, so a scan costs less than a heap's upkeep.
  const takeFirst = (): (() => void) | null => {
    if (waiting.length === 0) return null;
    let best = 0;
    for (let at = 1; at < waiting.length; at++) if (waiting[at].rank < waiting[best].rank) best = at;
    return waiting.splice(best, 1)[0].start;
  };

  return {
    async run(rank, work) {
      if (running >= limit) await new Promise<void>((start) => waiting.push({ rank, start }));
      else running++;
      try {
        return await work();
      } finally {
        // The lane is handed over: `running` stays when another starts in it.
        const start = takeFirst();
        if (start === null) running--;
        else start();
      }
    },
  };
}
