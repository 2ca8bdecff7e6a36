/** What the benchmarks of lists over made-up rows share: tables in an embedded server, and how long a list takes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type ClickHouse, createClickHouse } from '../clickhouse/client.ts';
import { createQueryGate } from '../clickhouse/gate.ts';
import { migrate } from '../clickhouse/migrate.ts';
import { createHead } from '../clickhouse/queries/head.ts';
import { createReading, type FollowingReading } from '../clickhouse/queries/reading.ts';
import { silent, startTestServer } from '../clickhouse/test-server.ts';
import type { QueryContext } from '../src/chain/records.ts';
import { processUsage } from './process-usage.ts';

/** A million rows take a while. */
const TIMEOUT_MS = 600_000;
const NAME_WIDTH = 50;
const counted = z.object({ n: z.coerce.number() });

export const context: QueryContext = { signal: new AbortController().signal, timeoutMs: TIMEOUT_MS };
export const line = (text: string): void => void process.stdout.write(`${text}\n`);

export interface Listings {
  clickhouse: ClickHouse;
  /** Up to the last step. */
  reading: FollowingReading;
  /** Prints p50 of one client, and CPU time of the server and of this process. */
  tell(name: string, ask: () => Promise<unknown>): Promise<void>;
}

/**
 * @param fill makes the rows
 * @param rounds of each list
 */
export async function benchListings(
  { fill, lastStep, rounds }: { fill(clickhouse: ClickHouse): Promise<void>; lastStep: number; rounds: number },
  measure: (listings: Listings) => Promise<void>,
): Promise<void> {
  const test = await startTestServer();
  const clickhouse = createClickHouse({ url: test.server.url, database: 'listings', logger: silent });
  const cpuOf = (): number[] =>
    [test.server.pid ?? process.pid, process.pid].map((pid) => processUsage(pid).cpuMs / rounds);
  try {
    await migrate({ clickhouse, logger: silent });
    await fill(clickhouse);
    // Merges would count as CPU time of the lists.
    const isMerging = async () =>
      (await clickhouse.json('SELECT count() AS n FROM system.merges', counted))[0]?.n !== 0;
    for (let quiet = 0; quiet < 3; await sleep(500)) quiet = (await isMerging()) ? 0 : quiet + 1;
    const head = createHead(clickhouse);
    head.advance(lastStep);
    const reading = createReading(clickhouse, createQueryGate({ maxConcurrent: 4, maxQueued: 100 }), head);
    await measure({
      clickhouse,
      reading,
      async tell(name, ask) {
        const times: number[] = [];
        const before = cpuOf();
        for (let i = 0; i < rounds; i++) {
          const began = performance.now();
          await ask();
          times.push(performance.now() - began);
        }
        const [server, own] = cpuOf().map((ms, i) => (ms - before[i]).toFixed(1).padStart(6));
        const p50 = times
          .sort((a, b) => a - b)
          [rounds >> 1].toFixed(1)
          .padStart(7);
        line(`${name.padEnd(NAME_WIDTH)} p50 ${p50} ms   CPU of the server ${server} ms, own ${own} ms`);
      },
    });
  } finally {
    await clickhouse.close();
    await test.remove();
  }
}
