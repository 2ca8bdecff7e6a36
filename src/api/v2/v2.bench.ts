/**
 * What clients of v2 ask most, beside the same questions to v3, on a devnet that has had traffic and stands still: by
 * eight connections, of a service with a window and without kept answers. Run by `npm run bench:v2`. In the environment:
 * BENCH_WORKERS (default 1), BENCH_CONNECTIONS (8), BENCH_SECONDS (2, each row), BENCH_ONLY (rows whose name has this),
 * BENCH_KEPT_RUNS (bytes; 0: each get-method is run).
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { closedLoop, type LoopRequest } from '../../../test/closed-loop.ts';
import { createPeopledDevnet } from '../../../test/peopled-devnet.ts';
import { childrenOf } from '../../../test/process-table.ts';
import { processUsage } from '../../../test/process-usage.ts';
import { startStack, temporaryFolder } from '../../../test/stack.ts';
import { openLiteserver } from '../../devnet/liteserver/open.ts';

const WORKERS = Number(process.env.BENCH_WORKERS ?? 1);
const CONNECTIONS = Number(process.env.BENCH_CONNECTIONS ?? 8);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 2);
const ONLY = process.env.BENCH_ONLY ?? '';
const STEPS = 24;
/** External messages a step. */
const RATE = 20;
const WARM_UP = 500;
const MIN_REQUESTS = 200;
const MAX_REQUESTS = 50_000;
const FULL = '-9223372036854775808';

interface Row {
  name: string;
  requests: readonly LoopRequest[];
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const folder = temporaryFolder();
const devnet = await createPeopledDevnet('bench of v2', RATE);
for (let at = 0; at < STEPS; at++) await devnet.step();
const server = await openLiteserver(devnet.chain, { host: '127.0.0.1', port: 0, seed: 'bench of v2' });
const config = join(folder.path, 'global.config.json');
writeFileSync(config, server.globalConfig);
const kept = ['--cached-answers-bytes', '0', '--kept-runs-bytes', process.env.BENCH_KEPT_RUNS ?? '0'];
const flags = ['--from', 'genesis', '--workers', String(WORKERS), ...kept];
const stack = await startStack({ network: config, flags });
try {
  await stack.caughtUp(STEPS);
  await stack.windowed();
  const pids = servicePids(stack.dataDir);
  const rows = (await rowsOf()).filter(({ name }) => name.includes(ONLY));
  for (const { requests } of rows) await loop(requests, WARM_UP);
  print(`${WORKERS} worker(s), ${CONNECTIONS} connections; CPU of the service`);
  print(
    `${'request'.padEnd(48)}${['requests/s', 'p50 ms', 'p99 ms', 'CPU ms', 'KB'].map((one) => one.padStart(11)).join('')}`,
  );
  for (const row of rows) await measure(row, pids);
} finally {
  await stack.remove();
  await server.close();
  devnet.close();
  folder.remove();
}

/** The main process and its workers, without ClickHouse. */
function servicePids(dataDir: string): number[] {
  const [main] = childrenOf(process.pid).filter(({ command }) => command.includes(dataDir));
  if (main === undefined) throw new Error('the service is not among the processes');
  return [main, ...childrenOf(main.pid).filter(({ command }) => command.includes('node'))].map(({ pid }) => pid);
}

async function get(path: string): Promise<unknown> {
  const response = await fetch(`${stack.url}${path}`);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

function walletData(address: string): object {
  return { address, method: 'get_wallet_data', stack: [] };
}

async function answersWalletData(address: string): Promise<boolean> {
  const body = JSON.stringify(walletData(address));
  const response = await fetch(`${stack.url}/api/v2/runGetMethod`, { method: 'POST', body });
  const ran = z.looseObject({ result: z.object({ exit_code: z.int(), stack: z.array(z.unknown()) }) });
  const { result } = ran.parse(await response.json());
  return result.exit_code === 0 && result.stack.length === 4;
}

async function rowsOf(): Promise<Row[]> {
  const shown = z.object({ transactions: z.array(z.object({ account: z.string() })) });
  const counts = new Map<string, number>();
  for (const { account } of shown.parse(await get('/api/v3/transactions?limit=1000')).transactions) {
    counts.set(account, (counts.get(account) ?? 0) + 1);
  }
  const accounts = [...counts.keys()].slice(0, 200);
  const jettonWallets: string[] = [];
  for (const address of accounts) if (await answersWalletData(address)) jettonWallets.push(address);
  const busy = [...counts].filter(([, count]) => count >= 10).map(([account]) => account);
  print(
    `${accounts.length} accounts, ${busy.length} of them with ten transactions, ${jettonWallets.length} jetton wallets`,
  );
  const seqnos = Array.from({ length: STEPS - 2 }, (_, at) => at + 2);
  const call = (method: string, params: object): LoopRequest => ({
    path: '/api/v2/jsonRPC',
    body: JSON.stringify({ id: '1', jsonrpc: '2.0', method, params }),
  });
  const method = (version: string) =>
    jettonWallets.map((address) => ({
      path: `/api/${version}/runGetMethod`,
      body: JSON.stringify(walletData(address)),
    }));
  return [
    { name: 'v3 masterchainInfo', requests: ['/api/v3/masterchainInfo'] },
    { name: 'getMasterchainInfo', requests: ['/api/v2/getMasterchainInfo'] },
    { name: 'getMasterchainInfo by name', requests: [call('getMasterchainInfo', {})] },
    { name: 'v3 accountStates of 1', requests: accounts.map((one) => `/api/v3/accountStates?address=${one}`) },
    { name: 'v3 addressInformation', requests: accounts.map((one) => `/api/v3/addressInformation?address=${one}`) },
    { name: 'getAddressInformation', requests: accounts.map((one) => `/api/v2/getAddressInformation?address=${one}`) },
    {
      name: 'getAddressInformation by name',
      requests: accounts.map((address) => call('getAddressInformation', { address })),
    },
    { name: 'v3 transactions, 10', requests: busy.map((one) => `/api/v3/transactions?account=${one}&limit=10`) },
    { name: 'getTransactions, 10', requests: busy.map((one) => `/api/v2/getTransactions?address=${one}&limit=10`) },
    { name: 'getTransactions, 10, by name', requests: busy.map((address) => call('getTransactions', { address })) },
    {
      name: 'v3 blocks by seqno',
      requests: seqnos.map((seqno) => `/api/v3/blocks?workchain=-1&shard=8000000000000000&seqno=${seqno}`),
    },
    {
      name: 'lookupBlock by seqno',
      requests: seqnos.map((seqno) => `/api/v2/lookupBlock?workchain=-1&shard=${FULL}&seqno=${seqno}`),
    },
    { name: 'v3 runGetMethod get_wallet_data', requests: method('v3') },
    { name: 'runGetMethod get_wallet_data', requests: method('v2') },
    {
      name: 'runGetMethod get_wallet_data by name',
      requests: jettonWallets.map((address) => call('runGetMethod', walletData(address))),
    },
  ];
}

function loop(paths: readonly LoopRequest[], maxRequests: number) {
  const minRequests = Math.min(MIN_REQUESTS, maxRequests);
  return closedLoop({ url: stack.url, paths, connections: CONNECTIONS, seconds: SECONDS, minRequests, maxRequests });
}

async function measure({ name, requests: paths }: Row, pids: readonly number[]): Promise<void> {
  const cpuMs = (): number => pids.reduce((sum, pid) => sum + processUsage(pid).cpuMs, 0);
  const before = cpuMs();
  const { requests, seconds, bytes, times } = await loop(paths, MAX_REQUESTS);
  const at = (share: number): string => times[Math.floor(requests * share)].toFixed(2);
  const figures = [(requests / seconds).toFixed(0), at(0.5), at(0.99), ((cpuMs() - before) / requests).toFixed(3)];
  print(
    `${name.padEnd(48)}${[...figures, (bytes / requests / 1024).toFixed(1)].map((one) => one.padStart(11)).join('')}`,
  );
}
