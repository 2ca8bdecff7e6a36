import { LRUCache } from 'lru-cache';
import type { ChainSource } from '../../src/chain/chain-source.ts';
import type { ClickHouse } from '../client.ts';
import type { QueryGate } from '../gate.ts';
import { type AccountQueries, accountQueries } from './accounts.ts';
import { actionQueries } from './actions.ts';
import { type BlockQueries, blockQueries } from './blocks.ts';
import { contractQueries } from './contracts.ts';
import type { NameFigures } from './domains.ts';
import { type EventQueries, eventQueries } from './events.ts';
import type { Head } from './head.ts';
import { messageQueries } from './messages.ts';
import { createReading, type Reading, readingBelow } from './reading.ts';
import { type StatisticsQueries, statisticsQueries } from './statistics.ts';
import { stepRecordQueries } from './step-records.ts';
import { createSteps } from './steps.ts';
import { traceQueries } from './traces.ts';
import { transactionQueries } from './transactions.ts';

/** The tables up to a step: the questions of the API, and those of one who knows the newer steps himself. */
export type BoundedSource = ChainSource &
  Pick<AccountQueries, 'cells' | 'accountCodes' | 'methodsOf'> &
  Pick<BlockQueries, 'newestBelow'> & {
    /** Transfers and burns, bounded as the rest. */
    events: EventQueries;
  };

export interface ClickHouseSource extends BoundedSource {
  head: Head;
  /** Of the names of accounts that are held. */
  names: NameFigures;
  /** Hours and days up to the head. */
  statistics: StatisticsQueries;
  /**
   * What the steps before `mcSeqno` hold. Newest states, balances, contracts and the address book are not bounded by
   * it.
   */
  below(mcSeqno: number): BoundedSource;
}

const RECENT_BOUNDS = 8;

export interface ClickHouseSourceOptions {
  /** Of the server, for each statement: for questions of strangers. Default: the server's own limits. */
  memoryBytes?: number;
  /** Told when the names of accounts cannot be looked for, which is tried again with the next step. */
  onNamesFailure?: (error: unknown) => void;
}

/** Answers every question about the chain from ClickHouse, for the steps up to the head. */
export function createClickHouseSource(
  clickhouse: ClickHouse,
  gate: QueryGate,
  head: Head,
  { memoryBytes, onNamesFailure }: ClickHouseSourceOptions = {},
): ClickHouseSource {
  const reading = createReading(clickhouse, gate, head, memoryBytes);
  // They remember codes, names and steps, so there is one of each.
  const accounts = accountQueries(reading);
  const steps = createSteps(reading);
  const transactions = transactionQueries(reading, steps);
  const { names, ...contracts } = contractQueries(reading, transactions.transactionsAt, onNamesFailure);
  const bounded = (bound: Reading): BoundedSource => {
    const own = transactionQueries(bound, steps);
    return {
      ...blockQueries(bound, steps),
      ...stepRecordQueries(bound),
      ...own,
      ...messageQueries(bound),
      ...traceQueries(bound),
      ...actionQueries(bound),
      ...accounts,
      contracts,
      events: eventQueries(bound, own.transactionsAt),
    };
  };
  // One request asks below the window's first step and below the step behind its head, the next one mostly the same.
  const recent = new LRUCache<number, BoundedSource>({ max: RECENT_BOUNDS });
  const below = (mcSeqno: number): BoundedSource => {
    const known = recent.get(mcSeqno);
    if (known !== undefined) return known;
    const made = bounded(readingBelow(reading, mcSeqno));
    recent.set(mcSeqno, made);
    return made;
  };
  return { ...bounded(reading), head, names, statistics: statisticsQueries(reading), below };
}
