/** What one subscriber hears of traces before they are final: each has one end, and what was final stays so. */
import type { Journal } from './journal.ts';

type Json = Record<string, unknown>;

export interface LevelsHeard {
  /** Of every notification, in order. */
  hear(event: Json): void;
  /** Normalised hashes of traces that were told of, and of whom neither an end was heard nor anything final. */
  open(): string[];
}

/** @param name of the subscriber, for what is wrong */
export function createLevelsHeard(name: string, journal: Journal): LevelsHeard {
  const open = new Set<string>();
  const final = new Set<string>();
  const invalidated = new Set<string>();
  const finalTransactions = new Set<string>();

  function hearTransactions({ finality, transactions }: Json, trace: string): void {
    if (!Array.isArray(transactions)) return;
    for (const { hash } of transactions) {
      if (finality === 'finalized') finalTransactions.add(hash);
      else if (finalTransactions.has(hash)) {
        journal.wrong(`${name}: transaction ${hash} of trace ${trace} was final and is told as ${finality}`);
      }
    }
  }

  return {
    hear(event) {
      const { type, finality, trace_external_hash_norm: trace } = event;
      if (typeof trace !== 'string' || trace === '') return;
      if (type === 'trace_invalidated') {
        journal.count('traces told to be invalidated');
        if (final.has(trace)) journal.wrong(`${name}: trace ${trace} was final and is told to be invalidated`);
        invalidated.add(trace);
        open.delete(trace);
        return;
      }
      if (type === 'transactions') hearTransactions(event, trace);
      if (finality === 'finalized') {
        if (invalidated.has(trace) && !open.has(trace)) {
          journal.wrong(`${name}: trace ${trace} was told to be invalidated and is final`);
        }
        if (open.delete(trace)) journal.count('traces told of before they were final, and final');
        final.add(trace);
        return;
      }
      journal.count(`events told as ${finality}`);
      if (!final.has(trace)) open.add(trace);
    },
    open: () => [...open],
  };
}
