/** What the projector counts: values that cannot be known, and what went wrong. */

/** Running totals since the start of the process. */
export interface Counters {
  brokenTraces: number;
  missingCode: number;
  missingData: number;
  missingExtraCurrencies: number;
  oversized: number;
  /** Records of the topic of cells that were taken over: code, data or libraries that a node was asked for. */
  learnedCells: number;
  /** Get-methods run to tell what contracts are; those that could not be run: garbage, a hanging or broken executor. */
  methodRuns: number;
  methodFailures: number;
  /** Contracts that were not asked what they are: their methods use much gas, and others of the step had used it up. */
  unaskedContracts: number;
  /** Contracts that cannot be told before the log shows a code or another contract. */
  waitingContracts: number;
  /** What they wait for, as far as it was named to whoever has liteservers, and what was left out of that. */
  missingNamed: number;
  missingDropped: number;
  droppedOpenMessages: number;
  duplicateRecords: number;
  gaps: number;
  /** Traces whose actions could not be told together, and such as are too large to be classified. */
  failedTraces: number;
  unclassifiedTraces: number;
  /** Traces told again because a contract was learned of, to another result; and such as are too many or too old for it. */
  retoldTraces: number;
  unretoldTraces: number;
  /** Transfers and burns told when their contract was confirmed, after them; what may be such and is too much. */
  lateEvents: number;
  omittedEvents: number;
  /** Transactions of traces that were in no memory when the trace was complete. */
  rereadTransactions: number;
  /** Reads and inserts that were tried again because ClickHouse was away or busy. */
  retries: number;
}

/** Told of while rows are assembled. */
export interface AssemblyMetrics {
  /** An internal message arrived whose sender is not in the tables: its trace begins in the middle. */
  brokenTrace(): void;
  /** Code or data of an account that no block has shown in full yet. */
  missingCells(kind: 'code' | 'data' | 'extra'): void;
  /** Code or data larger than is stored. */
  oversized(kind: 'code' | 'data'): void;
  /** Code, data or a library that a node was asked for. */
  learnedCells(): void;
}

export function newCounters(): Counters {
  return {
    brokenTraces: 0,
    missingCode: 0,
    missingData: 0,
    missingExtraCurrencies: 0,
    oversized: 0,
    learnedCells: 0,
    methodRuns: 0,
    methodFailures: 0,
    unaskedContracts: 0,
    waitingContracts: 0,
    missingNamed: 0,
    missingDropped: 0,
    droppedOpenMessages: 0,
    duplicateRecords: 0,
    gaps: 0,
    failedTraces: 0,
    unclassifiedTraces: 0,
    retoldTraces: 0,
    unretoldTraces: 0,
    lateEvents: 0,
    omittedEvents: 0,
    rereadTransactions: 0,
    retries: 0,
  };
}

const MISSING = { code: 'missingCode', data: 'missingData', extra: 'missingExtraCurrencies' } as const;

export function countInto(counters: Counters): AssemblyMetrics {
  return {
    brokenTrace: () => {
      counters.brokenTraces++;
    },
    missingCells: (kind) => {
      counters[MISSING[kind]]++;
    },
    oversized: () => {
      counters.oversized++;
    },
    learnedCells: () => {
      counters.learnedCells++;
    },
  };
}
