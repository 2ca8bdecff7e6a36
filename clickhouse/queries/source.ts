import type { ChainSource } from '../../src/chain/records.ts';
import type { ClickHouse } from '../client.ts';
import type { QueryGate } from '../gate.ts';
import { accountQueries } from './accounts.ts';
import { blockQueries } from './blocks.ts';
import type { Head } from './head.ts';
import { messageQueries } from './messages.ts';
import { createReading } from './reading.ts';
import { transactionQueries } from './transactions.ts';

/** Answers every question about the chain from ClickHouse, for the steps up to the head. */
export function createClickHouseSource(clickhouse: ClickHouse, gate: QueryGate, head: Head): ChainSource {
  const reading = createReading(clickhouse, gate, head);
  return {
    ...blockQueries(reading),
    ...transactionQueries(reading),
    ...messageQueries(reading),
    ...accountQueries(reading),
  };
}
