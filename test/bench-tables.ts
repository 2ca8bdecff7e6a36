/** What the benchmarks of projection and API share: the load's folder, a server in it, the projection of its log. */
import { setMaxListeners } from 'node:events';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import type { ClickHouse } from '../clickhouse/client.ts';
import { migrate } from '../clickhouse/migrate.ts';
import { connect } from '../clickhouse/open.ts';
import { type EmbeddedClickHouse, startEmbeddedClickHouse } from '../clickhouse/server.ts';
import { type Config, readConfig } from '../src/config.ts';
import { openLog } from '../streams/open.ts';
import type { Progress } from '../streams/project/options.ts';
import { PROJECTIONS } from '../streams/project/projections.ts';
import { project } from '../streams/project/projector.ts';
import { topicNames } from '../streams/topics.ts';
import { type Load, prepareJettonLoad, prepareLoad } from './load.ts';

export const print = (line: string): void => void process.stdout.write(`${line}\n`);

export interface Bench {
  load: Load;
  config: Config;
  clickhouse: ClickHouse;
  server: EmbeddedClickHouse;
  serverPid: number;
  /** Requests to the server, by what they were for; milliseconds from the request to its answer. */
  requests: ReadonlyMap<string, { count: number; ms: number; bytes: number }>;
  close(): Promise<void>;
}

const TRANSACTIONS = Number(process.env.BENCH_TRANSACTIONS ?? 500_000);
/** `BENCH_LOAD=jettons`: half of the transactions are of jetton wallets. */
const OF_JETTONS = process.env.BENCH_LOAD === 'jettons';
/** Names of projections beside the chain itself; all of them without the variable. */
const NAMED = process.env.BENCH_PROJECTIONS?.split(',');
const MARK_CACHE_BYTES = 64 * 1024 * 1024;
const logger = pino({ level: 'warn' });

/** Opens the tables of the load; `fresh` drops what an earlier run has left. `users`: of the server, besides its own. */
export async function openBench(fresh: boolean, users?: string): Promise<Bench> {
  const load = await (OF_JETTONS ? prepareJettonLoad : prepareLoad)(TRANSACTIONS, print);
  const { config } = readConfig(['--data-dir', load.folder], process.env);
  const folder = join(load.folder, 'clickhouse');
  if (fresh) {
    rmSync(projectedFile(load), { force: true });
    rmSync(folder, { recursive: true, force: true });
    // Windows and archives are of those tables.
    for (const name of readdirSync(load.folder)) {
      if (/^(window|archive)/.test(name)) rmSync(join(load.folder, name), { recursive: true, force: true });
    }
  }
  const server = await startEmbeddedClickHouse({
    folder,
    maxMemoryBytes: config.clickhouseMemory,
    markCacheBytes: MARK_CACHE_BYTES,
    logger,
    ...(users === undefined ? {} : { users }),
  });
  if (server.pid === null) throw new Error('the server is not up');
  const requests = new Map<string, { count: number; ms: number; bytes: number }>();
  const clickhouse = connect(config, server.url, logger, {
    finished(_, label, _outcome, ms, bytes) {
      const sum = requests.get(label) ?? { count: 0, ms: 0, bytes: 0 };
      requests.set(label, { count: sum.count + 1, ms: sum.ms + ms, bytes: sum.bytes + bytes });
    },
  });
  await migrate({ clickhouse, logger });
  requests.clear();
  const close = async (): Promise<void> => {
    await clickhouse.close();
    await server.stop();
  };
  return { load, config, clickhouse, server, serverPid: server.pid, requests, close };
}

const projectedFile = (load: Load): string => join(load.folder, 'projected');

export const isProjected = (load: Load): boolean => existsSync(projectedFile(load));

/** Runs the projector to the end of the load's log. */
export async function projectLoad(bench: Bench, onProgress: (progress: Progress) => void): Promise<void> {
  const { config, clickhouse, load } = bench;
  const log = await openLog(config);
  const topics = topicNames(config.topicPrefix);
  const { signal } = new AbortController();
  // One for each table that is inserted into at the same time.
  setMaxListeners(0, signal);
  const projections = PROJECTIONS.filter(({ name }) => NAMED?.includes(name) ?? true);
  await project({ log, topics, clickhouse, config, logger, onProgress, stopAtEnd: true, projections }, signal);
  await log.close();
  writeFileSync(projectedFile(load), '');
}
