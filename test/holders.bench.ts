/**
 * Pages of the holders of a jetton with a million wallets, made up, through a window: requests a second over eight
 * connections, client, service and ClickHouse on the same machine, the first two in this process. Run by
 * `npm run bench:holders`; BENCH_HOLDERS sets another number of wallets.
 */
import { rawAddress } from '../src/chain/address.ts';
import { type ApiServer, PATIENT_LIMITS, serveApi } from './api-server.ts';
import { closedLoop } from './closed-loop.ts';
import { insertWallets, PARENT } from './made-wallets.ts';
import { privateBlocks } from './shelf.ts';
import { projectFiles, windowFrom } from './windowed.ts';

const COUNT = Number(process.env.BENCH_HOLDERS ?? 1_000_000);
const DEEP = COUNT / 10;
/** Pages that are asked for in turn. */
const PAGES = 20;
/** The first requests of each case are not counted: orders are read then, and code gets compiled. */
const WARM_UP = 300;
const LOOP = { connections: 8, seconds: 5, minRequests: 200, maxRequests: 100_000 };

const print = (text: string): void => void process.stdout.write(`${text}\n`);

async function measure({ url }: ApiServer, offset: number, limit: number): Promise<void> {
  const list = `/api/v3/jetton/wallets?jetton_address=${rawAddress(PARENT)}&sort=desc&limit=${limit}`;
  const paths = Array.from({ length: PAGES }, (_, i) => `${list}&offset=${offset + i * limit}`);
  await closedLoop({ ...LOOP, url, paths, seconds: 0, minRequests: WARM_UP });
  const { requests, seconds, bytes, times } = await closedLoop({ ...LOOP, url, paths });
  const at = (share: number): string => times[Math.floor(times.length * share)].toFixed(1);
  const what = `${limit} holders behind ${offset.toLocaleString('en')}`.padEnd(32);
  const rate = (requests / seconds).toFixed(0).padStart(6);
  print(`${what}${rate} requests/s, p50 ${at(0.5)}, p99 ${at(0.99)} ms, ${(bytes / requests / 1024).toFixed(0)} KB`);
}

const projected = await projectFiles([privateBlocks()]);
try {
  print(`${COUNT.toLocaleString('en')} wallets of a jetton`);
  await insertWallets(projected.clickhouse, COUNT);
  const windowed = await windowFrom(projected, projected.steps.length >> 1);
  const server = await serveApi(windowed.source, { limits: PATIENT_LIMITS });
  try {
    for (const offset of [0, DEEP]) for (const limit of [10, 100]) await measure(server, offset, limit);
  } finally {
    await server.close();
    await windowed.remove();
  }
} finally {
  await projected.remove();
}
