/** Tables of contracts on a server of their own, for tests that make up the rows. */

import { addressOf } from '../../src/chain/address.ts';
import type { ContractSource } from '../../src/chain/contract-records.ts';
import type { Address } from '../../src/chain/model.ts';
import type { Page, QueryContext } from '../../src/chain/records.ts';
import { type ClickHouse, createClickHouse } from '../client.ts';
import { createQueryGate } from '../gate.ts';
import type { TableWith } from '../tables/table.ts';
import { MIGRATED, startMigratedServer } from '../test-schema.ts';
import { insertRows, silent } from '../test-server.ts';
import { contractQueries } from './contracts.ts';
import { createHead, type Head } from './head.ts';
import type { Keyset } from './keyset.ts';
import { createReading } from './reading.ts';

export const HEAD = 10;
export const context: QueryContext = { signal: new AbortController().signal, timeoutMs: 60_000 };
export const page = { limit: 100, offset: 0 };

export const address = (n: number): Address => addressOf(0, Buffer.alloc(32, n));
export const [ALICE, BOB, CAROL] = [address(0xa1), address(0xb0), address(0xc0)];
export const numberOf = ({ address: one }: { address: Address }): number => one[35];

/** What every detected contract has. */
export function detected(n: number, id = n, lt = 100 + n) {
  const [codeHash, dataHash] = [Buffer.alloc(32, 1), Buffer.alloc(32, n)];
  return { address: address(n), id: String(id), mcSeqno: 5, lastTransactionLt: String(lt), codeHash, dataHash };
}

export interface Contracts {
  clickhouse: ClickHouse;
  head: Head;
  source: ContractSource;
  insert<R extends object>(table: TableWith<R>, rows: readonly R[]): Promise<void>;
  close(): Promise<void>;
}

export async function openContracts(): Promise<Contracts> {
  const test = await startMigratedServer();
  const clickhouse = createClickHouse({ url: test.server.url, database: MIGRATED, logger: silent });
  const head = createHead(clickhouse);
  head.advance(HEAD);
  const gate = createQueryGate({ maxConcurrent: 4, maxQueued: 100 });
  return {
    clickhouse,
    head,
    source: contractQueries(createReading(clickhouse, gate, head), async () => []),
    insert: (table, rows) => insertRows(clickhouse, table, rows),
    async close() {
      await clickhouse.close();
      await test.remove();
    },
  };
}

/** All rows of a listing, each page of one behind the cursor of the page before. */
export async function walk<R, P>(
  order: Keyset<R, P>,
  ask: (more: { behind?: P; page: Page }) => Promise<R[]>,
): Promise<R[]> {
  const rows: R[] = [];
  for (let cursor: string | null = ''; cursor !== null && rows.length < 10; ) {
    const behind = order.read(cursor);
    const found = await ask({ ...(behind && { behind }), page: { limit: 1, offset: 0 } });
    rows.push(...found);
    cursor = order.next(found, 1);
  }
  return rows;
}
