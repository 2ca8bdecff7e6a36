/**
 * Asks the HTTP API, running in processes of its own over the tables of `npm run bench:project` (made when they are not
 * there), as fast as it answers: requests a second, times, and CPU time of the service and of ClickHouse for each kind
 * of request, beside what is to be reached and what the reference service gave. With a window that holds all of the
 * steps, the newer half of them, the newest twentieth over an archive of the others (`archived`) or none; where a window
 * ends somewhere, also what lies below its first step, above it and across. Whole answers are not kept, as a case asks
 * few things again and again. Run by `npm run bench:api`. In the environment, lists with commas:
 *
 * - BENCH_WINDOW: all,half,archived,nothing
 * - BENCH_WORKERS: 1 and the number of cores, at most 4
 * - BENCH_CONNECTIONS: 1,8
 * - BENCH_CASES: `asked` for what is asked most, `every` for all kinds
 * - BENCH_ONLY: cases whose names begin so
 * - BENCH_SECONDS: each case
 * - BENCH_SEED: repeats a draw
 * - BENCH_ANSWERS: bytes of answers that are kept
 * - BENCH_RESULTS: a file to which each figure is added as a line of JSON
 */
import { appendFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type ApiCase, apiCases, askedMost, borderCases } from '../../test/bench-cases.ts';
import { type BenchService, startBenchService } from '../../test/bench-service.ts';
import { type Bench, isProjected, openBench, print, projectLoad } from '../../test/bench-tables.ts';
import { HELD, type Held, useWindow } from '../../test/bench-windows.ts';
import { closedLoop } from '../../test/closed-loop.ts';
import { metricOf } from '../../test/metrics.ts';
import { processUsage } from '../../test/process-usage.ts';

const list = (name: string, usual: readonly string[]): string[] => process.env[name]?.split(',') ?? [...usual];
const SECONDS = Number(process.env.BENCH_SECONDS ?? 2);
const SEED = Number(process.env.BENCH_SEED ?? Math.floor(Math.random() * 1_000_000));
const ANSWERS = Number(process.env.BENCH_ANSWERS ?? 0);
const EVERY = process.env.BENCH_CASES === 'every';
const ONLY = list('BENCH_ONLY', ['']);
const RESULTS = process.env.BENCH_RESULTS;
const CORES = Math.min(4, availableParallelism());
const WORKERS = list('BENCH_WORKERS', [...new Set(['1', String(CORES)])]).map(Number);
const CONNECTIONS = list('BENCH_CONNECTIONS', ['1', '8']).map(Number);
const WINDOWS = z.array(z.enum(HELD)).parse(list('BENCH_WINDOW', HELD));
/** Requests of each case before the first is measured, and before each is: code gets compiled. */
const FIRST_ROUND = 200;
const WARM_UP = 20;
const MIN_REQUESTS = 30;
const MAX_REQUESTS = 50_000;
const MERGE_WAIT_MS = 60_000;
const NAMES = ['requests/s', 'reach', 'reference', 'p50 ms', 'p99 ms', 'node ms', 'server ms', 'KB'];

const bench = await openBench(false);
try {
  if (!isProjected(bench.load)) {
    print('projecting the load first');
    await projectLoad(bench, () => undefined);
  }
  await settleMerges(bench);
  const drawn = EVERY ? await apiCases(bench.clickhouse, SEED) : await askedMost(bench.clickhouse, SEED);
  for (const held of WINDOWS) {
    const first = await useWindow(bench, held);
    const border = first === null || held === 'all' ? [] : await borderCases(bench.clickhouse, SEED, first);
    const wanted = [...drawn, ...border].filter(({ name }) => ONLY.some((text) => name.startsWith(text)));
    // A load need not have everything: steps of just so many transactions, say.
    const cases = wanted.filter(({ paths }) => paths.length > 0);
    for (const { name, paths } of wanted) if (paths.length === 0) print(`left out, the load has none: ${name}`);
    for (const workers of WORKERS) await measureService(held, workers, cases);
  }
} finally {
  await bench.close();
}

/** Merges would count as CPU time of the requests. */
async function settleMerges({ clickhouse }: Bench): Promise<void> {
  const counted = z.object({ n: z.coerce.number() });
  const giveUpAt = Date.now() + MERGE_WAIT_MS;
  for (let quiet = 0; quiet < 3 && Date.now() < giveUpAt; ) {
    const [merges] = await clickhouse.json('SELECT count() AS n FROM system.merges', counted);
    quiet = merges?.n === 0 ? quiet + 1 : 0;
    await sleep(500);
  }
  const [parts] = await clickhouse.json(
    "SELECT count() AS n FROM system.parts WHERE active AND database = currentDatabase() AND table = 'transactions'",
    counted,
  );
  print(`table transactions has ${parts?.n} parts; seed ${SEED}`);
}

async function measureService(held: Held, workers: number, cases: readonly ApiCase[]): Promise<void> {
  const service = await startBenchService(bench, {
    workers,
    window: held !== 'nothing',
    archive: held === 'archived',
    answersBytes: ANSWERS,
  });
  try {
    for (const { paths } of cases) await ask(service, paths, { connections: workers, requests: FIRST_ROUND });
    for (const connections of CONNECTIONS) {
      print(`\nwindow holds ${held}, ${workers} worker(s), ${connections} connection(s)`);
      print(`${'request'.padEnd(40)}${NAMES.map((name) => name.padStart(11)).join('')}`);
      for (const one of cases) await measure(service, one, { held, workers, connections });
    }
    const megabytes = (pid: number): string => `${Math.round(processUsage(pid).peakBytes / 1024 / 1024)} MB`;
    print(
      `peak resident: service ${service.pids.map(megabytes).join(' + ')}, ClickHouse ${megabytes(bench.serverPid)}`,
    );
    await printKept(service);
  } finally {
    await service.stop();
  }
}

/** Untimed. */
function ask(
  { url }: BenchService,
  paths: readonly string[],
  { connections, requests }: Record<'connections' | 'requests', number>,
) {
  return closedLoop({ url, paths, connections, seconds: SECONDS, minRequests: WARM_UP, maxRequests: requests });
}

interface Circumstances {
  held: Held;
  workers: number;
  connections: number;
}

async function measure(
  service: BenchService,
  { name, paths, reach, reference }: ApiCase,
  { held, workers, connections }: Circumstances,
): Promise<void> {
  await ask(service, paths, { connections, requests: WARM_UP });
  const before = { node: service.cpuMs(), server: processUsage(bench.serverPid).cpuMs };
  const { requests, seconds, bytes, times } = await closedLoop({
    url: service.url,
    paths,
    connections,
    seconds: SECONDS,
    minRequests: MIN_REQUESTS,
    maxRequests: MAX_REQUESTS,
  });
  const node = (service.cpuMs() - before.node) / requests;
  const server = (processUsage(bench.serverPid).cpuMs - before.server) / requests;
  const at = (share: number): string => times[Math.floor(requests * share)].toFixed(2);
  const told = [reach, reference].map((one) => (one === undefined ? '-' : String(one)));
  const rate = requests / seconds;
  const figures = [rate.toFixed(0), ...told, at(0.5), at(0.99)];
  if (RESULTS !== undefined) {
    appendFileSync(RESULTS, `${JSON.stringify({ name, held, workers, connections, rate, node, server })}\n`);
  }
  figures.push(node.toFixed(2), server.toFixed(2), (bytes / requests / 1024).toFixed(1));
  print(`${name.padEnd(40)}${figures.map((figure) => figure.padStart(11)).join('')}`);
}

/** How many transactions were shown from memory, and how many answers were. */
async function printKept({ url }: BenchService): Promise<void> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const count = (name: string, outcomes: readonly string[]): string =>
    outcomes.map((outcome) => `${outcome} ${metricOf(metrics, `${name}{outcome="${outcome}"}`)}`).join(', ');
  print(`transactions shown: ${count('tonstream_api_rendered_transactions_total', ['formed', 'kept', 'made'])}`);
  print(`answers: ${count('tonstream_api_answers_total', ['kept', 'shared', 'made'])}`);
}
