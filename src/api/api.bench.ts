/**
 * Asks the HTTP API, running in processes of its own over the tables of `npm run bench:project` (made when they are
 * not there), with one client: requests a second, times, and CPU time of the service and of ClickHouse for each kind
 * of request. Run by `npm run bench:api`; BENCH_SEED repeats a draw, BENCH_SECONDS sets the time of each case,
 * BENCH_ONLY takes the cases whose name has this text, BENCH_WORKERS sets the number of processes that answer.
 * Whole answers are not kept, as a case asks few things again and again, unless BENCH_ANSWERS says how many bytes of them.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { apiCases } from '../../test/bench-cases.ts';
import { type Bench, isProjected, openBench, print, projectLoad } from '../../test/bench-tables.ts';
import { childrenOf, processUsage } from '../../test/process-usage.ts';

const SECONDS = Number(process.env.BENCH_SECONDS ?? 3);
const SEED = Number(process.env.BENCH_SEED ?? Math.floor(Math.random() * 1_000_000));
/** Requests of each case in a round before the first is measured, and before each is: code gets compiled. */
const FIRST_ROUND = 300;
const WARM_UP = 20;
const MIN_REQUESTS = 30;
const MAX_REQUESTS = 2_000;
const MERGE_WAIT_MS = 60_000;

const WORKERS = process.env.BENCH_WORKERS ?? '1';
const ANSWERS = process.env.BENCH_ANSWERS ?? '0';

interface Service {
  url: string;
  /** The main process first. */
  pids: number[];
  stop(): Promise<void>;
}

const bench = await openBench(false);
try {
  if (!isProjected(bench.load)) {
    print('projecting the load first');
    await projectLoad(bench, () => undefined);
  }
  await settleMerges(bench);
  const service = await startService(bench);
  try {
    await measureAll(service);
  } finally {
    await service.stop();
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

async function startService({ config, server }: Bench): Promise<Service> {
  const binary = fileURLToPath(new URL('../../bin/tonstream.js', import.meta.url));
  const args = [binary, 'api', '--data-dir', config.dataDir, '--port', '0', '--log-level', 'warn'];
  const serving = ['--workers', WORKERS, '--cached-answers-bytes', ANSWERS, '--clickhouse-url', server.url];
  const child: ChildProcess = spawn(process.execPath, [...args, ...serving], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (child.stdout === null || child.pid === undefined) throw new Error('the service did not start');
  for await (const text of createInterface({ input: child.stdout })) {
    const url = /API\s+(http:\/\/[^/\s]+)\//.exec(text)?.[1];
    if (url === undefined) continue;
    child.stdout.resume();
    return { url, pids: [child.pid, ...childrenOf(child.pid)], stop: () => stop(child) };
  }
  throw new Error('the service ended before it listened');
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  await once(child, 'exit');
}

/** Milliseconds of CPU time of several processes. */
function cpuMsOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + processUsage(pid).cpuMs, 0);
}

async function measureAll(service: Service): Promise<void> {
  const names = ['requests/s', 'p50 ms', 'p99 ms', 'node ms', 'server ms', 'rows', 'KB', 'node us/row'];
  print(`${'request'.padEnd(40)}${names.map((name) => name.padStart(12)).join('')}`);
  const only = process.env.BENCH_ONLY;
  const cases = (await apiCases(bench.clickhouse, SEED)).filter(
    ({ name }) => only === undefined || name.includes(only),
  );
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (const { paths } of cases) {
    for (let i = 0; i < FIRST_ROUND; i++) await ask(`${service.url}${paths[i % paths.length]}`, agent);
  }
  agent.destroy();
  for (const { name, paths } of cases) await measure(service, name, paths);
  const megabytes = (pid: number): string => `${Math.round(processUsage(pid).peakBytes / 1024 / 1024)} MB`;
  print(`peak resident: service ${service.pids.map(megabytes).join(' + ')}, ClickHouse ${megabytes(bench.serverPid)}`);
  await printKept(service);
}

/** How many transactions were shown from memory, and how many answers were. */
async function printKept({ url }: Service): Promise<void> {
  const metrics = (await ask(`${url}/metrics`, new Agent())).toString();
  const count = (name: string): string =>
    ['kept', 'made'].map((outcome) => `${outcome} ${metricOf(metrics, `${name}{outcome="${outcome}"}`)}`).join(', ');
  print(`transactions shown: ${count('tonstream_api_rendered_transactions_total')}`);
  print(`answers: ${count('tonstream_api_answers_total')}`);
}

function metricOf(metrics: string, name: string): string {
  const line = metrics.split('\n').find((one) => one.startsWith(`${name} `));
  return line?.slice(name.length + 1) ?? '?';
}

async function measure(service: Service, name: string, paths: string[]): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const path = (i: number): string => `${service.url}${paths[i % paths.length]}`;
  for (let i = 0; i < WARM_UP; i++) await ask(path(i), agent);
  const before = { node: cpuMsOf(service.pids), server: processUsage(bench.serverPid).cpuMs };
  const times: number[] = [];
  let bytes = 0;
  let rows = 0;
  const began = performance.now();
  while (times.length < MAX_REQUESTS && (times.length < MIN_REQUESTS || performance.now() - began < SECONDS * 1000)) {
    const sent = performance.now();
    const body = await ask(path(WARM_UP + times.length), agent);
    times.push(performance.now() - sent);
    bytes += body.length;
    rows += countRows(body);
  }
  const elapsed = performance.now() - began;
  const n = times.length;
  const node = (cpuMsOf(service.pids) - before.node) / n;
  const server = (processUsage(bench.serverPid).cpuMs - before.server) / n;
  agent.destroy();
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string => sorted[Math.floor(n * share)].toFixed(1);
  const figures = [((n / elapsed) * 1000).toFixed(0), at(0.5), at(0.99), node.toFixed(2), server.toFixed(2)];
  const each = rows === 0 ? '-' : (((node * n) / rows) * 1000).toFixed(0);
  const sizes = [(rows / n).toFixed(1), (bytes / n / 1024).toFixed(1), each];
  print(`${name.padEnd(40)}${[...figures, ...sizes].map((figure) => figure.padStart(12)).join('')}`);
}

/** Elements of the first list of an answer, counted by a field that each has once at its own level. */
function countRows(body: Buffer): number {
  const kinds = ['"orig_status":', '"hash_norm":', '"account_state_hash":', '"balance":', '"root_hash":'];
  const head = body.toString('latin1', 0, 40);
  const marks: Record<string, string> = { '{"transactions"': kinds[0], '{"messages"': '"in_msg_tx_hash":' };
  const list = /^\{"\w+"/.exec(head)?.[0] ?? '[';
  const mark = marks[list] ?? (list === '{"accounts"' ? kinds[2] : list === '{"blocks"' ? kinds[4] : kinds[3]);
  let count = 0;
  for (let i = body.indexOf(mark); i >= 0; i = body.indexOf(mark, i + mark.length)) count++;
  return count;
}

function ask(url: string, agent: Agent): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const body = Buffer.concat(chunks);
        if (response.statusCode === 200) resolve(body);
        else reject(new Error(`${response.statusCode} for ${url.slice(0, 200)}: ${body.toString('utf8', 0, 300)}`));
      });
    });
    request.on('error', reject);
  });
}
