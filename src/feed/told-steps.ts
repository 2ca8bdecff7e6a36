/** In which of the steps that were told traces have transactions: what was said of a trace before such a step is old. */

export interface ToldSteps {
  /** A step is told now. @param traces normalised hashes of the messages that began the traces of its transactions */
  add(mcSeqno: number, traces: Iterable<string>): void;
  /** Nobody listened: steps up to this one were not looked at. */
  skip(mcSeqno: number): void;
  /** Whether a told step that is still remembered has a transaction of the trace. */
  has(trace: string): boolean;
  /**
   * Whether what was said of a trace by one who knew the steps up to `mcSeqno` is still so. False as well where that
   * cannot be known, because steps since were not looked at or are forgotten.
   */
  isCurrent(trace: string, mcSeqno: number): boolean;
  /** Whether a told step behind this one that is still remembered has a transaction of the trace. */
  hasBehind(trace: string, mcSeqno: number): boolean;
}

/** Pending traces live for a minute: a few hundred steps at the shortest block times. */
const KEPT_STEPS = 512;
const KEPT_TRACES = 200_000;

/** @param from the first step that will be told */
export function createToldSteps(from: number): ToldSteps {
  /** The newest step of each. */
  const steps = new Map<string, number>();
  const kept: { mcSeqno: number; traces: string[] }[] = [];
  let [first, last] = [from, from - 1];

  function dropOldest(): void {
    const oldest = kept.shift();
    if (oldest === undefined) return;
    first = oldest.mcSeqno + 1;
    for (const trace of oldest.traces) if (steps.get(trace) === oldest.mcSeqno) steps.delete(trace);
  }

  return {
    add(mcSeqno, traces) {
      const own = [...new Set(traces)].filter((trace) => trace !== '');
      for (const trace of own) steps.set(trace, mcSeqno);
      kept.push({ mcSeqno, traces: own });
      last = mcSeqno;
      while (kept.length > KEPT_STEPS || steps.size > KEPT_TRACES) dropOldest();
    },
    skip(mcSeqno) {
      if (mcSeqno <= last) return;
      steps.clear();
      kept.length = 0;
      [first, last] = [mcSeqno + 1, mcSeqno];
    },
    has: (trace) => steps.has(trace),
    hasBehind: (trace, mcSeqno) => (steps.get(trace) ?? 0) > mcSeqno,
    isCurrent(trace, mcSeqno) {
      if (mcSeqno >= last) return true;
      return mcSeqno >= first - 1 && (steps.get(trace) ?? 0) <= mcSeqno;
    },
  };
}
