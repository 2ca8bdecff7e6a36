/**
 * What strangers' queries do to everybody else: the latency of v3 alone, and while SQL keeps all its places busy. Run by
 * `npm run bench:sql`: a load of BENCH_TRANSACTIONS (500,000), BENCH_SECONDS (20) each, alone and beside SQL in turn
 * BENCH_ROUNDS (2) times; v3 is asked by BENCH_CONNECTIONS (2) for what is asked most, of the window and of the tables.
 */
import { usersXml } from '../../../clickhouse/reader.ts';
import { makeViews } from '../../../clickhouse/views/all.ts';
import { askedMost } from '../../../test/bench-cases.ts';
import { startBenchService } from '../../../test/bench-service.ts';
import { isProjected, openBench, print, projectLoad } from '../../../test/bench-tables.ts';
import { useWindow } from '../../../test/bench-windows.ts';
import { closedLoop } from '../../../test/closed-loop.ts';
import { readConfig } from '../../config.ts';
import { readerLimits } from './limits.ts';

const SECONDS = Number(process.env.BENCH_SECONDS ?? 20);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 2);
const CONNECTIONS = Number(process.env.BENCH_CONNECTIONS ?? 2);
/** More than there are places, so that none is ever free. */
const CLIENTS = 6;
const WARM_UP = 400;

/** Dear ones: whole tables grouped, sorted and joined. */
const STATEMENTS = [
  'SELECT account, count() AS n, sum(total_fees) FROM ton.transactions GROUP BY account ORDER BY n DESC LIMIT 100',
  'SELECT source, destination, sum(value) AS v FROM ton.messages GROUP BY 1, 2 ORDER BY v DESC LIMIT 100',
  'SELECT toStartOfMinute(block_time) AS m, uniqExact(account), max(lt) FROM ton.transactions GROUP BY m ORDER BY m',
  'SELECT account, max(account_state_balance_after) AS b FROM ton.account_transactions GROUP BY account ORDER BY b DESC LIMIT 100',
  'SELECT count() FROM ton.transactions AS t JOIN ton.messages AS m ON m.tx_hash = t.hash WHERE t.aborted',
  'SELECT sum(a.x * b.y) FROM (SELECT arrayJoin(range(1000000)) AS x) AS a CROSS JOIN (SELECT arrayJoin(range(1000)) AS y) AS b',
];

const { config } = readConfig([], {});
const bench = await openBench(false, usersXml(readerLimits(config), config.sqlUser));
try {
  if (!isProjected(bench.load)) {
    print('projecting the load first');
    await projectLoad(bench, () => undefined);
  }
  await makeViews(bench.clickhouse, config.sqlDatabase, new AbortController().signal);
  const cases = await askedMost(bench.clickhouse, 1);
  const longest = Math.max(...cases.map(({ paths }) => paths.length));
  const paths = Array.from({ length: longest }, (_, at) => cases.map((one) => one.paths[at % one.paths.length])).flat();
  for (const held of ['all', 'nothing'] as const) {
    await useWindow(bench, held);
    await measure(held, paths);
  }
} finally {
  await bench.close();
}

async function measure(held: 'all' | 'nothing', paths: readonly string[]): Promise<void> {
  const service = await startBenchService(bench, { workers: 1, window: held !== 'nothing' });
  const loop = (seconds: number, requests: number) =>
    closedLoop({
      url: service.url,
      paths,
      connections: CONNECTIONS,
      seconds,
      minRequests: Math.min(requests, WARM_UP),
      maxRequests: requests,
    });
  try {
    await loop(1, WARM_UP);
    for (let round = 0; round < ROUNDS; round++) {
      const alone = await loop(SECONDS, 1_000_000);
      const queries = askSql(service.url);
      const beside = await loop(SECONDS, 1_000_000);
      const told = await queries.end();
      const [idle, loaded] = [alone, beside].map(({ times }) => [0.5, 0.99].map((share) => at(times, share)));
      print(
        `window holds ${held}: v3 alone p50 ${idle[0].toFixed(2)} ms, p99 ${idle[1].toFixed(2)} ms of ${alone.requests}; ` +
          `beside SQL p50 ${loaded[0].toFixed(2)} ms, p99 ${loaded[1].toFixed(2)} ms of ${beside.requests} ` +
          `(${(loaded[1] / idle[1]).toFixed(2)} times); SQL by status ${JSON.stringify(told)}`,
      );
    }
  } finally {
    await service.stop();
  }
}

function at(times: readonly number[], share: number): number {
  return times[Math.floor(times.length * share)] ?? Number.NaN;
}

/** Asks until it is ended; gives how many answers had each status. */
function askSql(url: string): { end(): Promise<Record<number, number>> } {
  const ended = new AbortController();
  const statuses: Record<number, number> = {};
  async function client(first: number): Promise<void> {
    for (let n = first; !ended.signal.aborted; n++) {
      const response = await fetch(`${url}/api/sql`, {
        method: 'POST',
        body: STATEMENTS[n % STATEMENTS.length],
        headers: { 'x-limiting-key': `bench-${n}` },
        signal: ended.signal,
      });
      await response.arrayBuffer();
      statuses[response.status] = (statuses[response.status] ?? 0) + 1;
    }
  }
  const clients = Array.from({ length: CLIENTS }, (_, n) => client(n));
  return {
    async end() {
      ended.abort();
      // What was under way was given up.
      await Promise.allSettled(clients);
      return statuses;
    },
  };
}
