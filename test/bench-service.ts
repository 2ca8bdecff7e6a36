/** The HTTP service of the benchmarks, in processes of its own over the load and its tables. */
import type { Bench } from './bench-tables.ts';
import { childrenOf } from './process-table.ts';
import { processUsage } from './process-usage.ts';
import { runTonstream, waitFor } from './processes.ts';

export interface BenchService {
  url: string;
  /** The main process first. */
  pids: number[];
  /** CPU time of all of them so far, milliseconds. */
  cpuMs(): number;
  stop(): Promise<void>;
}

export interface BenchServiceOptions {
  workers: number;
  /** Default: on, with the window in the folder of the load. */
  window?: boolean;
  /** Default: none; else the one in the folder of the load, of the whole history. */
  archive?: boolean;
  /** Bytes of answers that are kept. Default: none, as a case asks few things again and again. */
  answersBytes?: number;
}

export async function startBenchService(
  { config, server }: Pick<Bench, 'config' | 'server'>,
  { workers, window = true, archive = false, answersBytes = 0 }: BenchServiceOptions,
): Promise<BenchService> {
  const words = ['api', '--data-dir', config.dataDir, '--port', '0', '--clickhouse-url', server.url];
  words.push('--workers', String(workers), '--cached-answers-bytes', String(answersBytes));
  words.push('--archive-bytes', archive ? 'all' : '0', ...(window ? [] : ['--window-bytes', '0']));
  const run = runTonstream(...words);
  let url = '';
  await waitFor('the service', run, async () => {
    url = /^ +API +(http:\S+?)\/api\/v3\/$/m.exec(run.output())?.[1] ?? '';
    return url !== '';
  });
  const { pid } = run.child;
  const pids = [...(pid === undefined ? [] : [pid]), ...childrenOf(pid).map((child) => child.pid)];
  const cpuMs = (): number => pids.reduce((sum, one) => sum + processUsage(one).cpuMs, 0);
  return { url, pids, cpuMs, stop: () => run.kill('SIGTERM') };
}
